import { expect, test } from "vitest";
import { EVERYBODY } from "../../../src/services/fleet/questions.ts";
import { away, createFleet } from "./servers.ts";

const PRESENT = { v: 1, type: "present" } as const;

const idle = (id: string) => ({
  ...{ v: 1, type: "present", server: { id, label: id }, pool: "project", project: "project" },
  ...{ slots: 2, atWork: 0, version: "0.1.0" },
});

test("a server that works for others says that it is there, and how much it works on", async () => {
  const { engine, add } = await away(1, 2);
  const asking = engine.connect();
  expect(await asking.ask("srv_1", PRESENT)).toEqual({ is: "answered", answer: { ...idle("srv_1"), atWork: 1 } });
  add("srv_2", { work: 2 });
  expect(await asking.ask("srv_2", PRESENT)).toEqual({ is: "answered", answer: idle("srv_2") });
});

test("a server that works for nobody, or has left, says nothing", async () => {
  const { engine, add } = createFleet();
  const asking = engine.connect();
  add("srv_home");
  expect(await asking.ask("srv_home", PRESENT)).toEqual({ is: "silent" });
  const worker = add("srv_1", { work: 2 });
  expect(await asking.ask(EVERYBODY, PRESENT)).toEqual({ is: "answered", answer: idle("srv_1") });
  worker.engine.stop();
  expect(await asking.ask(EVERYBODY, PRESENT)).toEqual({ is: "silent" });
});
