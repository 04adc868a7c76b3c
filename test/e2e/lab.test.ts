import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { setUp } from "./lab/set-up.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

test("a wait that is given up says what was seen instead", async () => {
  const session = await lab.session();
  await lab.ask(session, "something else");
  await expect(lab.model.waitFor("never asked", { timeoutMs: 20 })).rejects.toThrow(
    new RegExp(`no matching model request within 20 ms.*${session}, 0 tool results, user: something else`, "s"),
  );
});
