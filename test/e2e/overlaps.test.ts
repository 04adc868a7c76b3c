import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, hang, type ScriptedCall, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { childOf, inChild, launching, notified } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

const inProject = (name: string) => join(lab.options.home, "project", name);
const read = (name: string): ScriptedCall => ({ name: "read", args: { filePath: inProject(name) } });
const edit = (name: string, oldString: string, newString: string): ScriptedCall => ({
  name: "edit",
  args: { filePath: inProject(name), oldString, newString },
});

const WARNING = "[opencode-taskchart] More than one agent uses these files";

/** The warnings in the outputs of a session's tool calls. */
const warningsOf = async (id: string): Promise<string[]> =>
  (await lab.messages(id)).flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type === "tool" && part.state.status === "completed" && part.state.output.includes(WARNING)
        ? part.state.output.slice(part.state.output.indexOf(WARNING))
        : [],
    ),
  );

const overlapsOf = async (id: string) => {
  await served(lab);
  return (await statusApi(lab).get(`/v1/tasks/${id}`)).body.progress.overlaps;
};

/** Launches a task that reads a file and then stays until it is told to go on. */
const launchReader = async (parent: string, prompt: string, file: string) => {
  const goesOn = hang();
  lab.model.when(inChild(prompt), [calls([read(file)]), goesOn, text("done")]);
  lab.model.when(`launch ${prompt}`, [calls([launching(prompt)]), text("launched")]);
  await lab.ask(parent, `launch ${prompt}`);
  const id = await childOf(lab, prompt);
  await lab.until(
    async () => (await lab.messages(id)).some(({ parts }) => parts.some((part) => part.type === "step-finish")),
    { what: `${prompt} has read ${file}` },
  );
  return { id, goOn: (...toolCalls: ScriptedCall[]) => goesOn.release(calls(toolCalls)) };
};

test("three tasks that write one file in a shared folder are each warned once of each other", async () => {
  const parent = await lab.session();
  await writeFile(inProject("shared.txt"), "one\ntwo\nthree\n");
  const first = await launchReader(parent, "change one", "shared.txt");
  const second = await launchReader(parent, "change two", "shared.txt");
  const third = await launchReader(parent, "change three", "shared.txt");
  const ids = [first.id, second.id, third.id];
  first.goOn(edit("shared.txt", "one", "1"));
  const [notice] = await notified(lab, parent, [first.id]);
  expect(notice?.hidden).toContain(`Files shared with other agents: "${inProject("shared.txt")}"`);
  second.goOn(edit("shared.txt", "two", "2"));
  await notified(lab, parent, [second.id]);
  third.goOn(edit("shared.txt", "three", "3"));
  const notices = await notified(lab, parent, ids);

  expect(notices.map(({ taskId }) => taskId)).toEqual(ids);
  const warnings = await Promise.all(ids.map(warningsOf));
  expect(warnings.map((of) => of.length)).toEqual([1, 1, 1]);
  expect(warnings[0]?.[0]).toContain(`you have written it, task ${second.id} "about change two" has read it.`);
  expect(warnings[0]?.[0]).toContain(`you have written it, task ${third.id} "about change three" has read it.`);
  expect(warnings[1]?.[0]).toContain(`you have read it, task ${first.id} "about change one" has written it.`);
  expect((await overlapsOf(second.id)).map(({ other }: { other: { sessionID: string } }) => other.sessionID)).toEqual([
    first.id,
    third.id,
  ]);
});

test("what a task read before OpenCode was killed counts afterwards, and its agent is warned once", async () => {
  const parent = await lab.session();
  await writeFile(inProject("kept.txt"), "one\n");
  const reader = await launchReader(parent, "read it early", "kept.txt");
  await lab.opencode.kill();
  const before = lab.model.requests.length;
  await lab.restart();
  const goesOn = hang();
  const isReaders = ({ sessionID }: { sessionID: string }) => sessionID === reader.id;
  lab.model.when(isReaders, [goesOn, text("done")]);
  await lab.until(() => lab.model.requests.slice(before).some(isReaders), { what: "the reader has gone on" });
  lab.model.when(inChild("write it late"), [calls([read("kept.txt"), edit("kept.txt", "one", "1")]), text("done")]);
  lab.model.when("launch it late", [calls([launching("write it late")]), text("launched")]);
  await lab.ask(parent, "launch it late");
  const writer = await childOf(lab, "write it late");
  await notified(lab, parent, [writer]);
  goesOn.release(calls([read("kept.txt")]));
  const notices = await notified(lab, parent, [writer, reader.id]);
  expect(notices.map(({ taskId }) => taskId)).toEqual([writer, reader.id]);
  expect(await warningsOf(reader.id)).toHaveLength(1);
  expect(await warningsOf(writer)).toHaveLength(1);
  expect((await warningsOf(writer))[0]).toContain(`task ${reader.id} "about read it early" has read it.`);
});
