import { isDeepStrictEqual } from "node:util";
import { initialTransition, transition } from "xstate";
import { type StoredSnapshot, taskMachine } from "../../src/machines/task/machine.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import { unrest } from "./healing.ts";
import type { World } from "./world.ts";

/** A run is told at most once by a notice, and by none when a tool call waited for its end and told it. */
const toldTwice = ({ tellings, tracks }: World): string[] =>
  tracks.all().flatMap((task) =>
    Array.from({ length: task.resumeCount + 1 }, (_, run) => {
      const { notices, byWaiting } = tellings.of(task, run);
      if (notices > 1) return `run ${run} of ${task.sessionID} is told by ${notices} notices`;
      return notices > 0 && byWaiting > 0
        ? `run ${run} of ${task.sessionID} is told by a notice, and by the answer of a call that waited for it`
        : [];
    }).flat(),
  );

/** A call that waits comes back in its time. */
const overdue = ({ agents, clock }: World): string[] =>
  agents
    .open()
    .filter(({ until }) => until !== undefined && clock.now() > until)
    .map(({ callID }) => `${callID} still waits after its time`);

/** What must hold at any moment. */
export const checkMoment = (world: World): void => {
  world.look();
  for (const words of [...toldTwice(world), ...overdue(world)]) world.fault(words);
};

/** False for a session that was deleted, and for a task that was stopped or failed: nobody is there to be told. */
const isListening = ({ host, tracks }: World, sessionID: string): boolean => {
  if (!host.sessionIDs().includes(sessionID)) return false;
  const task = tracks.of(sessionID);
  return task === undefined || task.status === "completed";
};

const untold = (world: World, stored: Task[]): string[] =>
  stored
    .filter(({ parentSessionID }) => isListening(world, parentSessionID))
    .flatMap((task) =>
      Array.from({ length: task.resumeCount + 1 }, (_, run) => {
        const { notices, byWaiting, byReading, isGivenUp } = world.tellings.of(task, run);
        return notices + byWaiting + byReading === 0 && !isGivenUp
          ? `${task.parentSessionID} was never told of run ${run} of ${task.sessionID} (${task.status})`
          : [];
      }).flat(),
    );

/** A notice that the host stored and no model was shown tells nobody. */
const unread = (world: World): string[] => {
  const { host, tellings } = world;
  return host.sessionIDs().flatMap((id) => {
    if (!isListening(world, id)) return [];
    const { messages } = host.at(id);
    return tellings.to(id).flatMap((messageID) => {
      const place = messages.findIndex((message) => message.id === messageID);
      const stored = messages[place];
      if (!stored) return [];
      // Whatever is answered behind it: a step of a model is shown all messages that are there when it begins.
      const wasShown = messages.some(
        ({ role, createdAt }, at) => role === "assistant" && at > place && createdAt >= stored.createdAt,
      );
      return wasShown ? [] : `${messageID} lies unread in ${id}`;
    });
  });
};

/** What is called completed was answered; and nothing was answered twice. */
const misjudged = ({ host }: World, stored: Task[]): string[] =>
  stored
    .filter(({ sessionID }) => host.sessionIDs().includes(sessionID))
    .flatMap(({ sessionID, status, result }) => {
      const spoken = host.at(sessionID).messages.filter(({ role }) => role === "assistant");
      const answers = spoken.filter(({ finish }) => finish === "stop");
      const isTrue = status !== "completed" || answers.some(({ text }) => text === result);
      // After an answer to something else a prompt that is sent again is answered again: it wakes a session that was cut off.
      const isOnce = spoken.every(
        ({ finish, promptID }, at) => finish !== "stop" || spoken[at + 1]?.promptID !== promptID,
      );
      return [
        ...(isTrue ? [] : [`${sessionID} is completed with "${result}", which nobody answered`]),
        ...(isOnce ? [] : [`a prompt of ${sessionID} was answered twice`]),
      ];
    });

const asStored = ({ value, context }: StoredSnapshot): unknown => JSON.parse(JSON.stringify({ value, context }));

/** The journal leads from the launch to the stored snapshot. */
const unreplayable = ({ storage, stage }: World, stored: Task[]): string[] =>
  stored.flatMap(({ sessionID }) => {
    const origin = storage.origin(sessionID);
    const record = stage.store.get(sessionID);
    if (!origin || !record) return `${sessionID} has no beginning`;
    let [replayed] = initialTransition(taskMachine, origin);
    for (const event of stage.store.journal(sessionID)) [replayed] = transition(taskMachine, replayed, event);
    return isDeepStrictEqual(asStored(replayed), asStored(record.snapshot))
      ? []
      : `the journal of ${sessionID} does not replay to its snapshot`;
  });

/** What is over belongs to no process any more. */
const leaks = ({ clock, storage }: World): string[] => {
  const { tasks, prompts } = storage.boot(clock).adopt(clock.now() + 60_000, () => true);
  return [
    ...tasks.map(({ task }) => `${task.sessionID} still belongs to a process`),
    ...prompts.map(({ parentSessionID }) => `a prompt to ${parentSessionID} is still stored as under way`),
  ];
};

/** Sessions that somebody has to miss: those of tasks, and the copies that people made. */
const removed = ({ host, tracks, copies }: World, stored: Task[]): string[] =>
  [...stored.map(({ sessionID }) => sessionID), ...copies]
    .filter((id) => !host.sessionIDs().includes(id) && !tracks.wasDeleted(id))
    .map((id) => `${id} was deleted though nobody asked for it`);

/** A forked task's agent knows that it sees a copy, before it is asked anything. */
const uninformed = ({ host }: World, stored: Task[]): string[] =>
  stored
    .filter(({ sessionID, isForked }) => isForked && host.sessionIDs().includes(sessionID))
    .flatMap(({ sessionID }) => {
      const [first] = host.at(sessionID).parts.values();
      return first?.some(({ text }) => text.includes("context may be truncated"))
        ? []
        : `${sessionID} is forked, and was not told so before its first prompt`;
    });

/** What runs for a parent that is deleted. */
const unsupervised = ({ host }: World, stored: Task[]): string[] =>
  stored
    .filter((task) => !hasEnded(task) && !host.sessionIDs().includes(task.parentSessionID))
    .map(({ sessionID }) => `${sessionID} runs though its parent is deleted`);

/** What a child asked, and its task heard of, is not open any more in the host, and holds nothing up. */
const unanswered = ({ host, stage }: World, stored: Task[]): string[] =>
  stored.flatMap(({ sessionID, attention }) => {
    const heard = stage.store
      .journal(sessionID)
      .flatMap((event) =>
        event.type === "REQUEST_ASKED" && host.openRequests.has(event.request.id) ? event.request.id : [],
      );
    return [
      ...heard.map((id) => `${id}, which ${sessionID} asked, is open for ever`),
      ...(attention ? [`${sessionID} has ended, and is held up by ${attention.kind}`] : []),
    ];
  });

/** What must hold when all is over. */
export const checkEnd = (world: World): void => {
  checkMoment(world);
  const restless = unrest(world);
  if (restless) world.fault(`no rest: ${restless}`);
  const stored = world.stage.store.list({});
  const found = [
    ...unsupervised(world, stored),
    ...untold(world, stored),
    ...unread(world),
    ...misjudged(world, stored),
    ...unreplayable(world, stored),
    ...unanswered(world, stored),
    ...removed(world, stored),
    ...uninformed(world, stored),
    ...leaks(world),
  ];
  for (const words of found) world.fault(words);
};
