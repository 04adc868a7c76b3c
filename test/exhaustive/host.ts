import type { OutboxEvent } from "../../src/machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import { AT, NONE } from "./charts.ts";
import type { Move } from "./explore.ts";
import { callId, givenUp, ofOutbox, type Turn } from "./process.ts";
import { answerOf, nameOf, type Parts, type Turns } from "./turns.ts";
import { ANSWERED, type Message, type World } from "./world.ts";

const NOT_FOUND: OutboxEvent = { type: "PARENT_NOT_FOUND", at: AT, message: "" };

/** Creates what the host does with what it is asked: all the ways in which a request may go. */
export const createHost = (
  { family, numbers: { messages, prompts }, processes: { hasEnded, indexOf, ofTask } }: Parts,
  { answered, atHost, remove }: Turns,
) => {
  const messageID = (prompt: number): string => prompts.at(prompt).messageID;

  /** Stores a notice in the parent's conversation, whose model is then about to read it in that process. */
  const storeNotice = ({ world, post }: Turn, p: number, prompt: number) => {
    const isStored = world.conversation.some((stored) => messageID(stored.prompt) === messageID(prompt));
    if (!isStored) world.conversation.push({ prompt, isRead: false });
    if (!isStored && family.reportsStored) {
      const createdAt = world.conversation.length - 1;
      post(answerOf({ type: "PARENT_STORED", at: AT, messageID: messageID(prompt), createdAt }, true));
    }
    if (!world.conversation.some(({ isRead }) => !isRead)) return;
    world.isParentBusy[p] = true;
    world.isStopped = false;
  };

  const sendings = (before: World, p: number, number: number, message: Message & { kind: "effect" }): Move<World>[] => {
    const { effect, isGivenUp = false } = message;
    if (effect.type !== "sendNotice") return [];
    const prompt = prompts.numberOf(effect.prompt);
    const id = effect.prompt.messageID;
    const sent = answerOf({ type: "SENT", at: AT, messageID: id });
    const refused = (retryable: boolean) =>
      answerOf({ type: "SEND_REFUSED", at: AT, messageID: id, message: "", retryable });
    const way = (name: string, work: (now: Turn) => void, isExpected = false): Move<World> =>
      atHost(
        before,
        p,
        `${id}, sent by ${nameOf(p)}, ${name}`,
        (now) => {
          remove(now, number);
          work(now);
        },
        isExpected,
      );
    if (before.isDeleted) {
      return [
        way(
          "finds no parent",
          (now) => {
            if (!isGivenUp) now.post(answerOf(NOT_FOUND));
          },
          true,
        ),
      ];
    }
    const arrives = (now: Turn) => storeNotice(now, p, prompt);
    const comesLater = (now: Turn) => now.post(givenUp(effect));
    if (isGivenUp) return [way("arrives late", arrives, true)];
    const normal = way(
      "arrives",
      (now) => {
        arrives(now);
        now.post(sent);
      },
      true,
    );
    const unreliable = [
      way("arrives, and the answer is lost", (now) => {
        arrives(now);
        now.post(refused(true));
      }),
      way("is lost", (now) => now.post(refused(true))),
      way("takes longer than it is waited for", (now) => {
        comesLater(now);
        now.post(refused(true));
      }),
      way("arrives, and will once more", (now) => {
        comesLater(now);
        arrives(now);
        now.post(sent);
      }),
    ];
    return [
      normal,
      ...(family.isUnreliable ? unreliable : []),
      ...(family.refuses ? [way("is refused for good", (now) => now.post(refused(false)))] : []),
      ...(family.misses ? [way("does not find the parent", (now) => now.post(answerOf(NOT_FOUND)))] : []),
    ];
  };

  /** How a notice stands, as the host says. */
  const standingOf = (world: World, p: number, id: string): OutboxEvent => {
    const place = world.conversation.findIndex(({ prompt }) => messageID(prompt) === id);
    const isRead = world.conversation[place]?.isRead === true;
    const storedAt = place < 0 ? undefined : place;
    const checked = { type: "CHECKED", at: AT, messageID: id, storedAt } as const;
    if (isRead) return { ...checked, standing: "answered" };
    if (place >= 0 && world.isParentBusy[p]) return { ...checked, standing: "pending" };
    return place >= 0 && world.isStopped
      ? { ...checked, standing: "stopped", stoppedAt: AT }
      : { ...checked, standing: "unanswered" };
  };

  /** The ways in which a request to the host goes. */
  const requests = (before: World, p: number, number: number): Move<World>[] => {
    const message = messages.at(number);
    const taken = (name: string, event: (now: Turn) => SupervisorEvent | undefined, isExpected = true) =>
      answered(before, p, number, name, event, isExpected);
    const failing = (name: string, event: OutboxEvent) =>
      family.isUnreliable ? taken(name, () => ofOutbox(event), false) : [];
    const missing = (name: string) => (family.misses ? taken(name, () => ofOutbox(NOT_FOUND), false) : []);
    if (message.kind === "look") {
      const looks = taken("looks for the parent", () => (before.isDeleted ? ofOutbox(NOT_FOUND) : undefined));
      return [...looks, ...missing("looks for the parent, which is not found")];
    }
    if (message.kind === "ask") {
      const { task, call } = message;
      const isBelieved = family.mistake !== "who takes over does not ask whether a call returned";
      const type = isBelieved && before.calls[call]?.stage === "returned" ? "WAIT_DELIVERED" : "WAIT_ABANDONED";
      return taken(`asks whether call ${call} returned`, () => ofTask(task, { type, at: AT, call: callId(call) }));
    }
    if (message.kind !== "effect") return [];
    const { effect } = message;
    switch (effect.type) {
      case "sendNotice":
        return sendings(before, p, number, message);
      case "readParent": {
        if (before.isDeleted) return taken("finds no parent to read", () => ofOutbox(NOT_FOUND));
        const sender = { agent: "build", model: undefined };
        const read =
          (gather: { gatherUntil?: number }) =>
          ({ process }: Turn) => {
            const othersRun = process.charts.tasks.some((task) => task !== NONE && !hasEnded(task));
            const setAside = before.isSetAside ? { setAside: "reverted" as const } : {};
            return ofOutbox({ type: "PARENT_READ", at: AT, sender, othersRun, ...setAside, ...gather });
          };
        const mayGather =
          family.caches && !before.isParentBusy[p] && before.store.tasks.some(({ snapshot }) => !hasEnded(snapshot));
        return [
          ...taken("reads the parent", read({})),
          ...(mayGather
            ? taken("reads the parent, whose conversation is in the cache", read({ gatherUntil: AT + 1 }))
            : []),
          ...failing("cannot read the parent", { type: "READ_FAILED", at: AT, message: "" }),
          ...missing("does not find the parent to read"),
        ];
      }
      case "checkNotice": {
        const { messageID: id } = effect;
        if (before.isDeleted) return taken("finds no parent to ask", () => ofOutbox(NOT_FOUND));
        // The answer may be an old one when it is taken.
        const asks = atHost(before, p, `${nameOf(p)} asks how ${id} stands`, (now) => {
          remove(now, number);
          now.post(answerOf(standingOf(before, p, id)));
        });
        return [
          asks,
          ...failing(`does not hear how ${id} stands`, { type: "CHECK_FAILED", at: AT, messageID: id, message: "" }),
          ...missing("does not find the parent to ask"),
        ];
      }
      case "findParent": {
        const found: OutboxEvent = { type: before.isDeleted ? "PARENT_CLOSED" : "PARENT_FOUND", at: AT };
        return [
          ...taken("searches for the parent", () => ofOutbox(found)),
          ...failing("cannot search for the parent", { type: "SEARCH_FAILED", at: AT, message: "" }),
        ];
      }
      case "checkRun":
        return checks(before, p, effect).flatMap((event) =>
          taken(`hears of ${effect.taskId}: ${event.type}`, () => ofTask(indexOf(effect.taskId), event)),
        );
      case "sendPrompt": {
        const { taskId } = effect;
        return taken(`has ${taskId} go on`, ({ world, isLive }) => {
          const task = indexOf(taskId);
          // What another process goes on with is stopped there, and what was lost is stopped here.
          if (isLive(task)) world.agents[task] = p + 1;
          return ofTask(task, { type: "PROMPT_ACCEPTED", at: AT });
        });
      }
      case "stopSession":
        return taken(`stops ${effect.taskId}`, () => undefined);
      default:
        throw new Error(`the host is asked for what is not known here: ${effect.type}`);
    }
  };

  /** What the host may say of a run. */
  const checks = (world: World, p: number, { taskId }: Effect & { type: "checkRun" }): TaskEvent[] => {
    const same = { at: AT, checkId: 0 };
    const hasAnswered: TaskEvent = { type: "CHECKED_ANSWERED", ...same, completedAt: AT, result: "12" };
    const hasFailed: TaskEvent = {
      ...{ type: "CHECKED_FAILED", ...same, completedAt: AT },
      error: { name: "APIError", kind: "provider", message: "401" },
    };
    // Whether a run was answered or failed only matters where an error wakes the parent.
    if (!family.followsRuns) return family.wake === "all" ? [hasAnswered, hasFailed] : [hasAnswered];
    const agent = world.agents[indexOf(taskId)];
    if (agent === ANSWERED) return [hasAnswered];
    return [agent === p + 1 ? { type: "CHECKED_BUSY", ...same } : { type: "CHECKED_UNANSWERED", ...same }];
  };

  return { requests, checks };
};
