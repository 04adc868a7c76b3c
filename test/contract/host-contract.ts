import { expect, test } from "vitest";
import type { Prompt } from "../../src/machines/task/events.ts";
import type { Host, HostResult } from "../../src/services/host/host.ts";
import { systemClock } from "../../src/services/platform/clock.ts";
import { createIds } from "../../src/services/platform/ids.ts";
import type { ModelRef } from "../../src/task.ts";

/** A host under test, and how to control its model. */
export interface Subject {
  host: Host;
  model: ModelRef;
  /** A session that a user created. */
  parent: string;
  /** Makes the model hold prompts with this text. The returned function answers them. */
  hold(text: string): (answer: string) => void;
  /** Makes the model refuse prompts with this text. */
  refuse(text: string): void;
  /** The user takes back a message and all after it. */
  revert(sessionID: string, messageID: string): Promise<void>;
  /** The user takes back nothing any more. */
  unrevert(sessionID: string): Promise<void>;
  /** The user archives a session, or takes it out of the archive. */
  archive(sessionID: string, archived: boolean): Promise<void>;
  /** Resolves once the condition holds. */
  until(condition: () => Promise<boolean>): Promise<void>;
}

/** Creates the ids of the prompts. A fake host takes its own ids from here, so that an answer's id sorts after its prompt's. */
export const ids = createIds(systemClock);

const orThrow = <T>(result: HostResult<T>): T => {
  if (result.ok) return result.value;
  throw new Error(`${result.failure.name}: ${result.failure.message}`);
};

/** Tests what the engine requires of a host. Run against the real host and against the fake. */
export const describeHost = (subject: () => Subject): void => {
  const child = async (): Promise<string> => {
    const { host, parent, model } = subject();
    const created = await host.createSession({
      parentID: parent,
      title: "a child",
      agent: "general",
      model,
      permission: [{ permission: "question", pattern: "*", action: "deny" }],
      metadata: { mark: { of: "ours" } },
    });
    return orThrow(created).id;
  };

  const promptFor = (sessionID: string, text: string): Prompt => ({
    sessionID,
    messageID: ids.message(),
    parts: ids.parts(2).map((id, index) => ({ id, text: index === 0 ? text : "and this", synthetic: index === 1 })),
    agent: "general",
    model: subject().model,
  });

  const isBusy = async (sessionID: string) => orThrow(await subject().host.busy()).has(sessionID);

  const answerOf = async (sessionID: string) =>
    orThrow(await subject().host.messages(sessionID, 10)).findLast(
      ({ role, completedAt }) => role === "assistant" && completedAt !== undefined,
    );

  test("agents are listed, the host's own helpers marked as hidden", async () => {
    const agents = orThrow(await subject().host.agents());
    expect(agents).toContainEqual({ name: "general", hidden: false, model: undefined });
    expect(agents.find(({ name }) => name === "title")).toMatchObject({ hidden: true, isPrimary: true });
  });

  test("models are listed by their provider and their name, which may have slashes, with their variants", async () => {
    const models = orThrow(await subject().host.models());
    const { providerID, modelID } = subject().model;
    expect(models).toContainEqual(expect.objectContaining({ providerID, modelID, variants: [] }));
    const variants = ["low", "high"];
    expect(models).toContainEqual(expect.objectContaining({ providerID, modelID: "vendor/m3", variants }));
  });

  test("a session keeps its parent, agent, model and permissions", async () => {
    const { host, parent, model } = subject();
    const id = await child();
    expect(orThrow(await host.session(id))).toMatchObject({
      id,
      parentID: parent,
      agent: "general",
      model,
      permission: [{ permission: "question", pattern: "*", action: "deny" }],
      title: "a child",
    });
    expect(orThrow(await host.children(parent))).toContain(id);
  });

  test("new sessions are listed with their marks, older ones are not", async () => {
    const { host } = subject();
    const before = Date.now();
    const id = await child();
    const listed = orThrow(await host.sessionsSince(before));
    expect(listed.find((session) => session.id === id)).toMatchObject({
      title: "a child",
      metadata: { mark: { of: "ours" } },
    });
    expect(orThrow(await host.sessionsSince(before + 3_600_000))).toEqual([]);
  });

  test("all sessions are listed, below others too, until they are deleted", async () => {
    const { host, parent } = subject();
    const id = await child();
    expect([...orThrow(await host.allSessions())]).toEqual(expect.arrayContaining([parent, id]));
    orThrow(await host.deleteSession(id));
    expect([...orThrow(await host.allSessions())]).not.toContain(id);
    expect(await host.session(id)).toMatchObject({ ok: false, failure: { kind: "notFound" } });
  });

  test("what does not exist is not found", async () => {
    const { host } = subject();
    const nowhere = "ses_0000000000000000000000nowhere";
    const id = await child();
    const prompt = { ...promptFor(nowhere, "anybody there?") };
    const permission = { id: "per_000000000000nowhere", kind: "permission", what: "", since: 0 } as const;
    const question = { id: "que_000000000000nowhere", kind: "question", what: "", since: 0 } as const;
    for (const result of [
      await host.session(nowhere),
      await host.messages(nowhere, 1),
      await host.message(id, "msg_000000000000nowhere"),
      await host.prompt(prompt),
      await host.toolCall(id, "call_nowhere"),
      await host.answerUserRequest(permission, { reply: "once" }),
      await host.rejectUserRequest(permission, "no"),
      await host.answerUserRequest(question, { answers: [["a"]] }),
      await host.rejectUserRequest(question, "no"),
    ]) {
      expect(result).toMatchObject({ ok: false, failure: { kind: "notFound" } });
    }
  });

  test("a prompt that is sent five times is stored once and answered once", async () => {
    const { host, hold, until } = subject();
    const id = await child();
    const release = hold("count the files");
    const prompt = promptFor(id, "count the files");
    for (let sent = 0; sent < 3; sent += 1) orThrow(await host.prompt(prompt));
    await until(() => isBusy(id));
    orThrow(await host.prompt(prompt));
    release("There are 12.");
    await until(async () => (await answerOf(id)) !== undefined && !(await isBusy(id)));
    orThrow(await host.prompt(prompt));
    await until(async () => !(await isBusy(id)));
    const messages = orThrow(await host.messages(id, 10));
    expect(messages.map(({ role, text }) => ({ role, text }))).toEqual([
      { role: "user", text: "count the files" },
      { role: "assistant", text: "There are 12." },
    ]);
    expect(messages[0]?.id).toBe(prompt.messageID);
    expect(messages[1]).toMatchObject({ promptID: prompt.messageID, finish: "stop", error: undefined });
    expect((messages[1]?.id ?? "") > prompt.messageID).toBe(true);
    expect(orThrow(await host.message(id, prompt.messageID)).text).toBe("count the files");
  });

  test("a message that nobody is to answer is there with its parts when the host says so, once", async () => {
    const { host } = subject();
    const id = await child();
    const { messageID, parts, ...message } = promptFor(id, "for later");
    for (let sent = 0; sent < 2; sent += 1) {
      orThrow(await host.storeMessage({ ...message, messageID, parts }));
      const stored = orThrow(await host.message(id, messageID));
      expect(stored).toMatchObject({ text: "for later", partIDs: parts.map((part) => part.id) });
    }
    expect(await isBusy(id)).toBe(false);
    expect(orThrow(await host.messages(id, 10)).map(({ role }) => role)).toEqual(["user"]);
  });

  test("a message that is stored while a session works is seen before its turn ends", async () => {
    const { host, hold, until } = subject();
    const id = await child();
    const release = hold("count the red files");
    orThrow(await host.prompt(promptFor(id, "count the red files")));
    await until(() => isBusy(id));
    const added = promptFor(id, "only the tests");
    orThrow(await host.storeMessage(added));
    expect(await isBusy(id)).toBe(true);
    release("There are 12.");
    await until(async () => !(await isBusy(id)));
    const messages = orThrow(await host.messages(id, 10));
    expect(messages.at(-1)).toMatchObject({ role: "assistant", promptID: added.messageID, finish: "stop" });
    expect(messages.filter((message) => message.id === added.messageID)).toHaveLength(1);
  });

  test("a stored message that nobody answers is answered once it is sent as a prompt with the same ids", async () => {
    const { host, until } = subject();
    const id = await child();
    const message = promptFor(id, "for now, after all");
    orThrow(await host.storeMessage(message));
    orThrow(await host.prompt(message));
    await until(async () => (await answerOf(id)) !== undefined && !(await isBusy(id)));
    const messages = orThrow(await host.messages(id, 10));
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(messages.at(-1)).toMatchObject({ promptID: message.messageID, finish: "stop" });
  });

  test("a fork is a root session with the messages before the given one, or all, and their times", async () => {
    const { host, until } = subject();
    const id = await child();
    orThrow(await host.prompt(promptFor(id, "say something")));
    await until(async () => (await answerOf(id)) !== undefined && !(await isBusy(id)));
    const before = Date.now();
    const messages = orThrow(await host.messages(id, 10));
    const asCopied = messages.map(({ role, createdAt }) => ({ role, createdAt }));
    for (const [end, copied] of [
      [messages[1]?.id ?? "", asCopied.slice(0, 1)],
      ["msg_0000000000000000000nowhere", asCopied],
    ] as const) {
      const fork = orThrow(await host.fork(id, end));
      const copies = orThrow(await host.messages(fork.id, 10));
      expect(copies.map(({ role, createdAt }) => ({ role, createdAt }))).toEqual(copied);
      const listed = orThrow(await host.sessionsSince(before)).find((session) => session.id === fork.id);
      expect(listed).toMatchObject({ parentID: undefined, title: expect.stringMatching(/ \(fork #1\)$/) });
      expect(listed?.createdAt).toBeGreaterThanOrEqual(before);
    }
  });

  test("the newest messages come last, and no more than asked for", async () => {
    const { host, until } = subject();
    const id = await child();
    const prompt = promptFor(id, "say something");
    orThrow(await host.prompt(prompt));
    await until(async () => (await answerOf(id)) !== undefined && !(await isBusy(id)));
    const newest = orThrow(await host.messages(id, 1));
    expect(newest.map(({ role }) => role)).toEqual(["assistant"]);
  });

  test("a session is busy while its model works, and an abort ends that", async () => {
    const { host, hold, until } = subject();
    const id = await child();
    hold("never end");
    orThrow(await host.prompt(promptFor(id, "never end")));
    await until(() => isBusy(id));
    orThrow(await host.abort(id));
    await until(async () => !(await isBusy(id)) && (await answerOf(id)) !== undefined);
    expect((await answerOf(id))?.error?.name).toBe("MessageAbortedError");
    // Aborting an idle session is not an error.
    orThrow(await host.abort(id));
  });

  test("a prompt whose run was cut off goes on when it is sent again, and is stored once", async () => {
    const { host, hold, until } = subject();
    const id = await child();
    const release = hold("be cut off");
    const prompt = promptFor(id, "be cut off");
    orThrow(await host.prompt(prompt));
    await until(() => isBusy(id));
    orThrow(await host.abort(id));
    await until(async () => !(await isBusy(id)) && (await answerOf(id)) !== undefined);
    release("Here I am again.");
    await until(async () => {
      orThrow(await host.prompt(prompt));
      return (await answerOf(id))?.text === "Here I am again.";
    });
    const messages = orThrow(await host.messages(id, 10));
    expect(messages.filter(({ role }) => role === "user")).toHaveLength(1);
  });

  test("a model that fails leaves a finished message with the error", async () => {
    const { host, refuse, until } = subject();
    const id = await child();
    refuse("meet a 401");
    orThrow(await host.prompt(promptFor(id, "meet a 401")));
    await until(async () => (await answerOf(id)) !== undefined);
    expect((await answerOf(id))?.error).toMatchObject({ name: "APIError", message: expect.any(String) });
  });

  /** A session in which the user has asked something, and taken it back. */
  const reverted = async () => {
    const { host, until, revert } = subject();
    const id = await child();
    const prompt = promptFor(id, "say something");
    orThrow(await host.prompt(prompt));
    await until(async () => (await answerOf(id)) !== undefined && !(await isBusy(id)));
    await revert(id, prompt.messageID);
    expect(orThrow(await host.session(id)).isReverted).toBe(true);
    return id;
  };

  test("what a user took back is stored until it is wanted again", async () => {
    const { host, unrevert } = subject();
    const id = await reverted();
    expect(orThrow(await host.messages(id, 10))).toHaveLength(2);
    await unrevert(id);
    expect(orThrow(await host.session(id)).isReverted).toBeUndefined();
    expect(orThrow(await host.messages(id, 10))).toHaveLength(2);
  });

  test("what a user took back is deleted for good by the next message, though that starts no turn", async () => {
    const { host } = subject();
    const id = await reverted();
    const note = promptFor(id, "by the way");
    orThrow(await host.storeMessage(note));
    expect(orThrow(await host.session(id)).isReverted).toBeUndefined();
    expect(orThrow(await host.messages(id, 10)).map((message) => message.id)).toEqual([note.messageID]);
  });

  test("a session says when it was archived, and is archived all the same once it was prompted", async () => {
    const { host, until, archive } = subject();
    const id = await child();
    expect(orThrow(await host.session(id)).archivedAt).toBeUndefined();
    await archive(id, true);
    const { archivedAt } = orThrow(await host.session(id));
    expect(Math.abs((archivedAt ?? 0) - Date.now())).toBeLessThan(60_000);
    orThrow(await host.prompt(promptFor(id, "still there?")));
    await until(async () => (await answerOf(id)) !== undefined && !(await isBusy(id)));
    expect(orThrow(await host.session(id)).archivedAt).toBe(archivedAt);
    await archive(id, false);
    expect(orThrow(await host.session(id)).archivedAt).toBeUndefined();
  });

  test("a toast can always be shown", async () => {
    orThrow(await subject().host.toast({ message: "hello", variant: "info" }));
  });
};
