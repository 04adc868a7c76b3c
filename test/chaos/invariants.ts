import { isDeepStrictEqual } from "node:util";
import { initialTransition, transition } from "xstate";
import type { TaskEvent, TaskInput } from "../../src/machines/task/events.ts";
import { type StoredSnapshot, statusOf, taskMachine } from "../../src/machines/task/machine.ts";
import { instructionText } from "../../src/services/text/child-prompts.ts";
import { entryOf, hasEnded, type Task } from "../../src/task.ts";
import { brokenPromises } from "../fakes/broken-promises.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { wrongFates } from "./fates.ts";
import { unpromised } from "./histories.ts";
import { tooMany, wronglyChanged, wronglyStopped } from "./limit-invariants.ts";
import { worksWhilePaused } from "./pause-watch.ts";
import { INSTRUCTION } from "./people.ts";
import { whyNotIdle } from "./settle-down.ts";
import type { Simulation } from "./simulation.ts";
import { isListening, undelivered } from "./undelivered.ts";
import { isOwedForNothing } from "./waking.ts";

/**
 * Every run that has ended has a receipt of its own, which tells of no more than there was; one that is completed has passed
 * its gate and fits its schema.
 */
const wrongReceipts = ({ host }: Simulation, stored: readonly Task[]): string[] =>
  stored.filter(hasEnded).flatMap(({ sessionID, resumeCount, receipt, gate, schema, status, result = "" }) => {
    if (schema && status === "completed" && !result.startsWith('"')) return `${sessionID} is completed with ${result}`;
    if (!receipt) return `${sessionID} has ended, and has no receipt`;
    if (receipt.run !== resumeCount) return `${sessionID} has the receipt of run ${receipt.run}, not ${resumeCount}`;
    if (gate && status === "completed" && receipt.gate?.exit !== 0) return `${sessionID} is completed without its gate`;
    if (receipt.gate && (receipt.gate.before !== undefined) !== (gate?.before === true))
      return `${sessionID} has a receipt that says of its gate before it: ${JSON.stringify(receipt.gate.before)}`;
    if (!host.sessionIDs().includes(sessionID)) return [];
    const calls = receipt.tools.reduce((sum, tool) => sum + tool.calls, 0);
    const there = new Set(
      host.at(sessionID).reported.flatMap(({ event }) => (event.type === "toolCall" ? event.callID : [])),
    );
    return calls > there.size ? `the receipt of ${sessionID} has ${calls} tool calls of ${there.size}` : [];
  });

/** A result is delivered by at most one notice, and by none if a waiting tool call has returned it. */
const deliveredTwice = ({ deliveries, tracks }: Simulation): string[] =>
  tracks.all().flatMap((task) =>
    Array.from({ length: task.resumeCount + 1 }, (_, run) => {
      const { notices, byWaiting } = deliveries.of(task, run);
      if (notices > 1) return `run ${run} of ${task.sessionID} is delivered by ${notices} notices`;
      return notices > 0 && byWaiting > 0
        ? `run ${run} of ${task.sessionID} is delivered by a notice, and by the answer of a call that waited for it`
        : [];
    }).flat(),
  );

/** What every request to a model costs. */
export const REQUEST_COST = { tokens: 10, cachedTokens: 7, cost: 0.001 };

/**
 * Each run of a task has woken its parent once at most, by one request. Of two processes that sent one notice, each may have made a
 * request of its own.
 */
const wakesMiscounted = ({ ownership }: Simulation, stored: Task[]): string[] =>
  stored.flatMap(({ sessionID, resumeCount, progress: { wakeCosts } }) => {
    const { wakes = 0, tokens = 0 } = wakeCosts ?? {};
    const runs = resumeCount + 1;
    return !ownership && (wakes > runs || tokens > runs * REQUEST_COST.tokens)
      ? `${sessionID} has ${wakes} wakes with ${tokens} tokens, of ${runs} runs`
      : [];
  });

/** A waiting call returns before its deadline. */
const overdue = ({ agents, clock }: Simulation): string[] =>
  agents
    .open()
    .filter(({ until }) => until !== undefined && clock.now() > until)
    .map(({ callID }) => `${callID} still waits after its time`);

/** Lists are read from columns of their own: they say what the records say. */
const mislisted = ({ stage: { store } }: Simulation): string[] =>
  store.list({}).flatMap((entry) => {
    const task = store.get(entry.sessionID)?.task;
    return task && isDeepStrictEqual(entryOf(task), entry)
      ? []
      : `${entry.sessionID} is listed as ${JSON.stringify(entry)}, and its record says otherwise`;
  });

/** Milliseconds after which a process that woke has stopped what it has lost meanwhile. */
const STOPPED_AFTER_WAKING = 5_000;

/** A process that has lost a task while it was stopped does not go on with it. */
const doneTwice = ({
  ownership,
  host,
  calls,
  clock,
  awakeSince,
  atWorkOnWaking,
  owner,
  storage,
}: Simulation): string[] => {
  const wokeAt = awakeSince();
  // While the file cannot be used, nothing says what was lost.
  if (storage.trouble?.isUnderWay()) return [];
  if (!ownership || wokeAt === undefined || clock.now() - wokeAt < STOPPED_AFTER_WAKING) return [];
  if (calls.struck.has("abort")) return [];
  return [...atWorkOnWaking()].flatMap(([id, messageID]) => {
    const isThere = host.sessionIDs().includes(id) && host.at(id).busy;
    const message = isThere ? host.at(id).messages.find((each) => each.id === messageID) : undefined;
    const isLost = message && message.completedAt === undefined && (ownership.supervisorOf(id) ?? owner()) !== owner();
    return isLost ? `${id} goes on in ${owner()}, which has lost it` : [];
  });
};

/** Checks the invariants that hold at any moment. */
export const checkMoment = (worlds: readonly Simulation[]): void => {
  const awake = worlds.filter((world) => world.awakeSince() !== undefined);
  const [first] = awake;
  if (!first) return;
  for (const world of awake) {
    world.look();
    world.slotWatch.checkNoneIdle();
    for (const words of [...overdue(world), ...doneTwice(world), ...worksWhilePaused(world)]) world.fault(words);
  }
  first.abandonedRuns.check(first.stage);
  for (const words of deliveredTwice(first)) first.fault(words);
  first.ownership?.checkNoneAbandoned(Math.min(...awake.flatMap((world) => world.awakeSince() ?? [])));
};

/** Every delivered notice was also shown to a model. */
const unread = (world: Simulation): string[] => {
  const { host, deliveries, tracks, ownership, clocks } = world;
  return host.sessionIDs().flatMap((id) => {
    if (!isListening(world, id)) return [];
    const { messages } = host.at(id);
    return deliveries.to(id).flatMap((messageID) => {
      const place = messages.findIndex((message) => message.id === messageID);
      const stored = messages[place];
      // What a process clears while another one delivers its end is not delivered on.
      if (!stored || (ownership && deliveries.tasksIn(messageID).every(tracks.isGone))) return [];
      // By the clock of its machine, a step that was under way began after the message: nobody can know that it was not shown it.
      const isLater = ({ role, createdAt }: (typeof messages)[number], at: number) =>
        role === "assistant" && at < place && createdAt >= stored.createdAt;
      if (clocks.areOff() && messages.some(isLater)) return [];
      // A model step is shown all messages that exist when it begins, whichever message it answers. One that was cut off does
      // not count where the message was sent again after that, as its time shows.
      const wasShown = messages.some(
        ({ role, createdAt, finish, isSummary }, at) =>
          role === "assistant" &&
          !isSummary &&
          at > place &&
          (clocks.areOff() || finish === "stop" || createdAt >= stored.createdAt),
      );
      return wasShown ? [] : `${messageID} lies unread in ${id}`;
    });
  });
};

/** A completed task was answered, and no prompt was answered twice. */
const misjudged = (worlds: readonly [Simulation, ...Simulation[]], stored: Task[]): string[] => {
  const [{ host, ownership, clocks }] = worlds;
  // A process that has lost a task may fail to stop it.
  const mayBeTwoAnswers = ownership !== undefined && worlds.some(({ calls }) => calls.struck.has("abort"));
  return stored
    .filter(({ sessionID }) => host.sessionIDs().includes(sessionID))
    .flatMap(({ sessionID, status, result }) => {
      const { messages, madeAt } = host.at(sessionID);
      // A fork begins with copies of older messages. Where clocks are wrong, times do not show which they are.
      const spoken = messages.filter(
        ({ role, isSummary, createdAt }) =>
          role === "assistant" && !isSummary && (clocks.areOff() || createdAt >= madeAt),
      );
      // A provider that never says why it stops has answered when its turn was ended for that.
      const answers = spoken.filter(({ finish }) => finish === "stop" || finish === "unknown");
      const isTrue = status !== "completed" || answers.some(({ text }) => text === result);
      // A prompt that is sent again after the answer to another one is answered again: it wakes an interrupted session.
      const isOnce = spoken.every(({ finish, promptID, completedAt = 0 }, at) => {
        const next = spoken[at + 1];
        // Of two processes that worked on the session, the one that had lost the task was stopped, or ended.
        const isStopped = next?.finish === undefined && (next?.createdAt ?? 0) < completedAt;
        return finish !== "stop" || next?.promptID !== promptID || isStopped || clocks.areOff();
      });
      return [
        ...(isTrue ? [] : [`${sessionID} is completed with "${result}", which nobody answered`]),
        ...(isOnce || mayBeTwoAnswers ? [] : [`a prompt of ${sessionID} was answered twice`]),
      ];
    });
};

/** The instructions that were given to a task, by run, and whether that run was answered. */
const instructionsOf = (events: TaskEvent[], origin: TaskInput): { given: string[]; isAnswered: boolean }[] => {
  let [snapshot] = initialTransition(taskMachine, origin);
  const runs = [{ given: [] as string[], isAnswered: false }];
  for (const event of events) {
    [snapshot] = transition(taskMachine, snapshot, event);
    if (event.type === "RESUME" || event.type === "RETRY") runs.push({ given: [], isAnswered: false });
    const run = runs.at(-1);
    if (!run) continue;
    if (event.type === "STEER") run.given.push(event.messageID);
    run.isAnswered = statusOf(snapshot) === "completed";
  }
  return runs;
};

/**
 * An instruction that a task took is in the conversation once, after the ones before it, and a model has seen it; unless
 * the run was cancelled or failed before: then it is there at most once.
 */
const unsteered = ({ host, stage, storage }: Simulation, stored: Task[]): string[] =>
  stored.flatMap(({ sessionID }) => {
    const origin = storage.origin(sessionID);
    if (!origin || !host.sessionIDs().includes(sessionID)) return [];
    const { messages } = host.at(sessionID);
    return instructionsOf(stage.store.journal(sessionID), origin).flatMap(({ given, isAnswered }) => {
      const places = given.map((id) => messages.flatMap((message, place) => (message.id === id ? place : [])));
      const first = places.map(([place]) => place ?? -1);
      const last = first.at(-1) ?? -1;
      // Which came first in one millisecond, nothing that OpenCode stores can say.
      const isSeen = messages.some(
        ({ role, finish = "", isSummary, createdAt }, place) =>
          role === "assistant" &&
          !isSummary &&
          (place > last || createdAt === messages[last]?.createdAt) &&
          ["stop", "unknown"].includes(finish),
      );
      return [
        ...given.filter((_, index) => (places[index]?.length ?? 0) > 1).map((id) => `${id} is in ${sessionID} twice`),
        ...(isAnswered && first.includes(-1)
          ? [`${sessionID} was answered, and lacks an instruction that it took`]
          : []),
        ...(isAnswered && first.some((place, index) => place < (first[index - 1] ?? -1))
          ? [`the instructions in ${sessionID} are not in the order in which they were given`]
          : []),
        ...(isAnswered && given.length > 0 && !isSeen ? [`the model of ${sessionID} has not seen an instruction`] : []),
      ];
    });
  });

const asStored = ({ value, context }: StoredSnapshot): unknown => JSON.parse(JSON.stringify({ value, context }));

/** Replaying the journal from the launch gives the stored snapshot. */
const unreplayable = ({ storage, stage }: Simulation, stored: Task[]): string[] =>
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

/** How the instructions begin that agents and people give. A notice quotes them, and so may a copy of its conversation. */
const instructionTexts = (["agent", "user"] as const).map((from) => instructionText(INSTRUCTION, from));

/** Every instruction that was stored in a conversation is one that the task took. */
const steeredTwice = ({ host, stage }: Simulation, stored: Task[]): string[] =>
  stored
    .filter(({ sessionID }) => host.sessionIDs().includes(sessionID))
    .flatMap(({ sessionID }) => {
      const given = stage.store.journal(sessionID).flatMap((event) => (event.type === "STEER" ? event.messageID : []));
      const there = [...host.at(sessionID).parts].flatMap(([id, parts]) =>
        parts.some(({ text }) => instructionTexts.some((given) => text.startsWith(given))) ? id : [],
      );
      return there
        .filter((id) => !given.includes(id))
        .map((id) => `${sessionID} has the instruction ${id}, which it was not given`);
    });

/** Tasks that were launched in one turn of an agent, in whichever of its steps, are one batch; those of other turns are not. */
const misbatched = ({ host, calls }: Simulation, stored: Task[]): string[] =>
  stored
    .filter(({ parentSessionID }) => host.sessionIDs().includes(parentSessionID))
    .flatMap(({ sessionID, parentSessionID, parentMessageID, batchId }) => {
      const step = host.at(parentSessionID).messages.find(({ id }) => id === parentMessageID);
      // A person has taken the step back since: nothing says any more of which turn it was.
      if (!step && parentMessageID.startsWith("msg_step")) return [];
      // Where the host does not say which turn it is, the message counts as one.
      const turns = [step?.promptID ?? parentMessageID, ...(calls.struck.has("message") ? [parentMessageID] : [])];
      return turns.some((turn) => batchId === turn.replace("msg_", "batch_"))
        ? []
        : `${sessionID} is of ${batchId}, and was launched in ${turns.join(" or ")}`;
    });

/** Nothing that has ended is still owned by a process. */
const leaks = (worlds: readonly [Simulation, ...Simulation[]]): string[] => {
  const [{ clock, storage }] = worlds;
  // What other living processes own is no concern of a new one.
  for (const { life } of worlds.slice(1)) life().die();
  const { tasks, prompts } = storage.boot(clock).adopt(clock.now() + 60_000, () => true);
  return [
    ...tasks.map(({ task }) => `${task.sessionID} still belongs to a process`),
    ...prompts.map(({ parentSessionID }) => `a prompt to ${parentSessionID} is still stored as under way`),
  ];
};

/** No end is owed when all of its batch have ended, whether each end wakes the parent's agent or all together. */
const owedForNothing = ({ stage: { store } }: Simulation, stored: Task[]): string[] =>
  stored.flatMap((task) =>
    store.get(task.sessionID)?.snapshot.value.notice === "due" && isOwedForNothing(task, stored)
      ? `the end of ${task.sessionID} is owed though all of its batch have ended`
      : [],
  );

/** Every journal keeps what is promised of journals. */
const broken = ({ storage, stage, clocks }: Simulation, stored: Task[]): string[] =>
  stored.flatMap(({ sessionID: taskId }) => {
    const origin = storage.origin(taskId);
    const record = stage.store.get(taskId);
    if (!origin || !record) return [];
    const journal = { taskId, origin, events: stage.store.journal(taskId), snapshot: record.snapshot };
    return brokenPromises(journal, clocks.areOff() ? ["time-goes-on"] : []);
  });

/** A run that has ended holds no slot, and waits for none. */
const slotsLeft = ({ storage, slotWatch }: Simulation): string[] => [
  ...slotWatch.open().map((id) => `${id} still holds a slot, or waits for one`),
  ...storage.slots().map((id) => `a slot of ${id} is still stored`),
];

/** No session of a task, and no copy that a user made, has disappeared. */
const removed = ({ host, tracks, copies }: Simulation, stored: Task[]): string[] =>
  [...stored.map(({ sessionID }) => sessionID), ...copies]
    .filter((id) => !host.sessionIDs().includes(id) && !tracks.wasDeleted(id))
    .map((id) => `${id} was deleted though nobody asked for it`);

/** The agent of a forked task is told that it sees a copy before it gets its prompt. */
const uninformed = ({ host }: Simulation, stored: Task[]): string[] =>
  stored
    .filter(({ sessionID, isForked }) => isForked && host.sessionIDs().includes(sessionID))
    .flatMap(({ sessionID }) => {
      const [first] = host.at(sessionID).parts.values();
      return first?.some(({ text }) => text.includes("context may be truncated"))
        ? []
        : `${sessionID} is forked, and was not told so before its first prompt`;
    });

/** No task runs for a deleted parent. */
const unsupervised = ({ host }: Simulation, stored: Task[]): string[] =>
  stored
    .filter((task) => !hasEnded(task) && !host.sessionIDs().includes(task.parentSessionID))
    .map(({ sessionID }) => `${sessionID} runs though its parent is deleted`);

/** No request that a task knew of is still open in the host or holds a task up. */
const unanswered = ({ host, stage }: Simulation, stored: Task[]): string[] =>
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

/** Checks the invariants that hold once everything has ended. */
export const checkEnd = (worlds: readonly [Simulation, ...Simulation[]]): void => {
  checkMoment(worlds);
  const [world] = worlds;
  const restless = whyNotIdle(worlds);
  if (restless) world.fault(`no rest: ${restless}`);
  const stored = wholeTasks(world.stage.store);
  const found = [
    ...unsupervised(world, stored),
    ...undelivered(world, stored),
    ...wakesMiscounted(world, stored),
    ...owedForNothing(world, stored),
    ...unread(world),
    ...misjudged(worlds, stored),
    ...mislisted(world),
    ...unreplayable(world, stored),
    ...unpromised(world, stored),
    ...unsteered(world, stored),
    ...steeredTwice(world, stored),
    ...wrongFates(world, stored),
    ...misbatched(world, stored),
    ...worlds.flatMap((each) => unanswered(each, stored)),
    ...world.apiRequests.violations(
      world.stage,
      worlds.map(({ host }) => host),
    ),
    ...removed(world, stored),
    ...uninformed(world, stored),
    ...broken(world, stored),
    ...wrongReceipts(world, stored),
    ...tooMany(world, stored),
    ...wronglyStopped(world, stored),
    ...wronglyChanged(world, stored),
    ...worlds.flatMap(slotsLeft),
    ...worlds.flatMap((each) => each.unreminded()),
    ...leaks(worlds),
  ];
  for (const words of found) world.fault(words);
};
