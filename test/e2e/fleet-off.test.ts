import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { newHome, removeHome } from "./lab/home.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { text } from "./lab/reply.ts";
import { inChild, launchFrom, notified } from "./tasks-and-notices.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Stands only in the client of NATS. */
const CLIENT = "$JS.API";

/** What listens where a broker would be, and counts who connects. */
const listen = async () => {
  let connected = 0;
  const server = createServer((socket) => {
    connected += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { url: `nats://127.0.0.1:${port}`, connections: () => connected };
};

/** The package without the code of fleets. */
const packageWithoutFleet = async () => {
  const folder = await newHome();
  onTestFinished(() => removeHome(folder));
  cpSync(join(repository, "dist"), join(folder, "dist"), { recursive: true });
  cpSync(join(repository, "package.json"), join(folder, "package.json"));
  rmSync(join(folder, "dist", "fleet.js"));
  const left = readdirSync(join(folder, "dist")).filter((file) => !file.startsWith("cli"));
  return {
    url: pathToFileURL(folder).href,
    hasClient: left.some((file) => readFileSync(join(folder, "dist", file), "utf8").includes(CLIENT)),
  };
};

const expectOneTask = async (lab: Lab, prompt: string) => {
  const parent = await lab.session();
  lab.model.when(inChild(prompt), text("Found."));
  const notices = await notified(lab, parent, await launchFrom(lab, parent, [prompt]));
  expect(notices).toHaveLength(1);
  expect(notices[0]?.hidden).toContain("> Found.");
};

test("without the option the code of fleets is not read, and no broker is asked; with it and without the code, tasks run at home", async () => {
  const { url, hasClient } = await packageWithoutFleet();
  expect(hasClient).toBe(false);
  const broker = await listen();
  const lab = await startLab({ plugin: url, env: { NATS_URL: broker.url } });
  onTestFinished(() => lab.stop());
  await expectOneTask(lab, "find it");
  expect(lab.opencode.log()).not.toContain("fleet");

  await lab.restart({ plugin: [url, { fleet: { url: broker.url, pool: "any", offer: ["general"] } }] });
  await expectOneTask(lab, "find it too");
  // What a plugin logs is written in OpenCode's own time.
  await lab.until(() => lab.opencode.log().includes("the fleet cannot be entered"), { what: "the log says so" });
  expect(broker.connections()).toBe(0);
});
