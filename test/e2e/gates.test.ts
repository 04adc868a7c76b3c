import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newRepository } from "../fakes/repository.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { inChild, launchFrom, launching, notified } from "./tasks-and-notices.ts";

const built = new URL("../../", import.meta.url).href;

/** Passes once there is a file `done` in the folder that the task's prompt names. */
const COMMAND = 'echo ran >> runs; echo "no file done"; test -e done';

let lab: Lab;

setUp(async () => {
  lab = await startLab({ plugin: [built, { gate: { agents: { general: COMMAND }, tries: 1 } }] });
  return () => lab.stop();
});

const inProject = (name: string) => join(lab.options.home, "project", name);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const taskOf = async (id: string) => {
  await served(lab);
  return (await statusApi(lab).get(`/v1/tasks/${id}`)).body;
};

/** The request of a child that was given the gate's output. */
const afterGate = (id: string) => (request: { sessionID: string; messages: unknown }) =>
  request.sessionID === id &&
  JSON.stringify(request.messages).includes("A command of the project's configuration checked");

const untilEnded = (id: string) => lab.until(async () => (await taskOf(id)).completedAt, { what: `${id} has ended` });

test("a gate that fails once gives the agent its output, and then passes: one notice, of the second answer", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  lab.model.when(inChild("make the file"), text("I made it."));
  lab.model.when(
    (request) => afterGate(request.sessionID)(request) && request.parentSessionID === parent,
    [calls([{ name: "bash", args: { command: "touch done", description: "make it" } }]), text("Now I did.")],
  );
  const [id = ""] = await launchFrom(lab, parent, ["make the file"]);
  const notices = await notified(lab, parent, [id]);
  expect(notices).toHaveLength(1);
  expect(notices[0]?.hidden).toContain("> Now I did.");
  expect(notices[0]?.hidden).toContain("gate passed at run 2");
  const task = await taskOf(id);
  expect(task).toMatchObject({ status: "completed", result: "Now I did.", receipt: { gate: { runs: 2, exit: 0 } } });
  expect(await readFile(inProject("runs"), "utf8")).toBe("ran\nran\n");
  const given = (await lab.messages(id)).filter(({ info }) => info.role === "user");
  expect(JSON.stringify(given.at(-1))).toContain("> no file done");
});

test("after a crash while the gate runs the answer is checked again, and the end delivered once", async () => {
  const parent = await lab.session();
  await writeFile(inProject("slow.sh"), "echo $$ > gate.pid; test -e release || sleep 300\n");
  const slow = { gate: { agents: { general: "sh slow.sh" } } };
  await lab.restart({ plugin: [built, slow] });
  lab.model.when(inChild("work slowly"), text("It works."));
  const [id = ""] = await launchFrom(lab, parent, ["work slowly"]);
  await lab.until(() => existsSync(inProject("gate.pid")), { what: "the gate runs" });
  await served(lab);
  expect(await taskOf(id)).toMatchObject({ state: "running.active.checking.gating", waiting: { for: "gate" } });
  const pid = Number(await readFile(inProject("gate.pid"), "utf8"));
  await writeFile(inProject("release"), "");
  await lab.opencode.kill();
  await lab.until(() => !isAlive(pid), { what: "the command has ended with OpenCode" });
  await lab.restart({ plugin: [built, slow] });
  const notices = await notified(lab, parent, [id]);
  expect(notices).toHaveLength(1);
  expect(await taskOf(id)).toMatchObject({ status: "completed", result: "It works.", receipt: { gate: { exit: 0 } } });
});

test("a cancelled task ends its gate's command", async () => {
  const parent = await lab.session();
  await lab.restart({ plugin: [built, { gate: { agents: { general: "echo $$ > cancelled.pid; sleep 300" } } }] });
  lab.model.when(inChild("be cancelled"), [text("It works."), hang()]);
  const [id = ""] = await launchFrom(lab, parent, ["be cancelled"]);
  await lab.until(() => existsSync(inProject("cancelled.pid")), { what: "the gate runs" });
  const pid = Number(await readFile(inProject("cancelled.pid"), "utf8"));
  await served(lab);
  await statusApi(lab).post(`/v1/tasks/${id}/cancel`);
  await untilEnded(id);
  await lab.until(() => !isAlive(pid), { what: "the command has ended" });
  expect((await taskOf(id)).status).toBe("cancelled");
});

/** A process in a session of its own, which holds the outputs of the command that starts it open. It writes its id to a file. */
const strayIn = (file: string) => `setsid sh -c 'echo $$ > ${file}; exec sleep 600'`;

test("a gate that leaves a process in a session of its own passes as soon as it has ended, and the process is ended", async () => {
  const parent = await lab.session();
  const gate = `${strayIn("stray.pid")} & while [ ! -s stray.pid ]; do sleep 0.05; done`;
  await lab.restart({ plugin: [built, { gate: { agents: { general: gate } } }] });
  lab.model.when(inChild("leave something behind"), text("It works."));
  const [id = ""] = await launchFrom(lab, parent, ["leave something behind"]);
  await untilEnded(id);
  expect(await taskOf(id)).toMatchObject({ status: "completed", receipt: { gate: { exit: 0 } } });
  const pid = Number(await readFile(inProject("stray.pid"), "utf8"));
  await lab.until(() => !isAlive(pid), { what: "the process has ended" });
});

test("gate.timeout ends a command that works in a session of its own", async () => {
  const parent = await lab.session();
  const gate = { agents: { general: `${strayIn("slow.pid")}; exit 0` }, tries: 0, timeout: 2_000 };
  await lab.restart({ plugin: [built, { gate }] });
  lab.model.when(inChild("be checked for long"), text("It works."));
  const [id = ""] = await launchFrom(lab, parent, ["be checked for long"]);
  await untilEnded(id);
  expect(await taskOf(id)).toMatchObject({ status: "error", error: { kind: "gate" }, result: "It works." });
  const pid = Number(await readFile(inProject("slow.pid"), "utf8"));
  await lab.until(() => !isAlive(pid), { what: "the process has ended" });
});

test("a receipt says that the gate failed before the agent began, and whether files have changed since it passed", {
  tags: "gate",
}, async () => {
  const gate = { agents: { general: { command: "test -e made", before: true } } };
  const project = newRepository(undefined, inProject(""));
  project.commit();
  await lab.restart({ plugin: [built, { gate }] });
  const parent = await lab.session();
  lab.model.when(inChild("make it"), [
    calls([{ name: "bash", args: { command: "touch made", description: "make it" } }]),
    text("I made it."),
  ]);
  const [id = ""] = await launchFrom(lab, parent, ["make it"]);
  const notices = await notified(lab, parent, [id]);
  expect(notices[0]?.hidden).toContain(
    'gate passed: "test -e made" (before the task began it failed, with exit code 1)',
  );
  expect((await taskOf(id)).receipt.gate).toEqual({
    ...{ command: "test -e made", runs: 1, exit: 0, end: "exited", before: { exit: 1, end: "exited" } },
    files: { fingerprint: expect.stringMatching(/^[0-9a-f]{40}$/), changedMeanwhile: false, haveChanged: false },
  });
  project.commit();
  project.write({ "other.txt": "by a person" });
  await lab.until(async () => (await taskOf(id)).receipt.gate.files.haveChanged, { what: "the change is seen" });
  lab.model.when(
    (request) => request.sessionID === parent && JSON.stringify(request.messages).includes("does it still pass?"),
    [calls([{ name: "asyncagents_output", args: { task_id: id } }]), text("I looked.")],
  );
  await lab.ask(parent, "does it still pass?");
  expect(JSON.stringify(await lab.messages(parent))).toContain("files where it ran have changed since");
});

test("after a crash while the gate runs before the agent begins it is run again, and the agent asked once", async () => {
  await writeFile(inProject("first.sh"), "echo $$ >> first.pid; test -e go || sleep 300; exit 3\n");
  const first = { gate: { agents: { general: { command: "sh first.sh", before: true } }, tries: 0 } };
  await lab.restart({ plugin: [built, first] });
  const parent = await lab.session();
  lab.model.when(inChild("begin late"), text("I began."));
  lab.model.when("launch it", [calls([launching("begin late")]), text("launched")]);
  await lab.ask(parent, "launch it");
  await lab.until(() => existsSync(inProject("first.pid")), { what: "the gate runs" });
  await served(lab);
  const id: string = (await statusApi(lab).get(`/v1/tasks?parent=${parent}`)).body.tasks[0].sessionID;
  expect(await taskOf(id)).toMatchObject({
    state: "running.active.prompting.gatingBefore",
    waiting: { for: "gateBefore" },
  });
  const pid = Number(await readFile(inProject("first.pid"), "utf8"));
  await writeFile(inProject("go"), "");
  await lab.opencode.kill();
  await lab.until(() => !isAlive(pid), { what: "the command has ended with OpenCode" });
  await lab.restart({ plugin: [built, first] });
  await untilEnded(id);
  expect(await taskOf(id)).toMatchObject({
    ...{ status: "error", error: { kind: "gate" }, result: "I began." },
    receipt: { gate: { runs: 1, exit: 3, before: { exit: 3, end: "exited" } } },
  });
  const asked = (await lab.messages(id)).filter(({ info }) => info.role === "user");
  expect(asked).toHaveLength(1);
  expect((await readFile(inProject("first.pid"), "utf8")).trim().split("\n")).toHaveLength(3);
});
