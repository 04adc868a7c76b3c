import { initialTransition, transition } from "xstate";
import { statePath } from "../../../src/machines/chart.ts";
import type {
  LaunchAnswer,
  LaunchEffect,
  LaunchEvent,
  LaunchInput,
  LaunchRefusal,
  PendingLaunch,
} from "../../../src/machines/launch/events.ts";
import { type LaunchSnapshot, launchMachine } from "../../../src/machines/launch/machine.ts";
import { START } from "../../fakes/task-input.ts";
import { type Driven, drive } from "../drive.ts";

/** The worktree that is made for a task. */
export const WORKTREE = { id: "w1", directory: "/worktrees/w1", isShared: false };

const usual: { [Type in LaunchEvent["type"]]?: Partial<Extract<LaunchEvent, { type: Type }>> } = {
  WORKTREE_MADE: { worktree: WORKTREE },
  WORKTREE_REFUSED: { reason: "No worktree could be made." },
  SESSION_CREATED: { sessionID: "ses_1" },
  CREATION_REFUSED: { reason: "BadRequest: no" },
  CREATION_UNCONFIRMED: { reason: "Timeout: no answer" },
  SESSION_FOUND: { sessionID: "ses_1" },
  PREPARATION_FAILED: { reason: "BadRequest: not this" },
  CONVERSATION_READ: { messageID: "msg_2" },
  CONVERSATION_NOT_READ: { reason: "NotFound: no session" },
  FAULT: { reason: "a fault of ours" },
};

/** A launch's chart, and what it requested when it began. */
export type DrivenLaunch = Driven<LaunchEvent, LaunchSnapshot, LaunchEffect> & { readonly began: LaunchEffect[] };

/** Returns what the actions request, those among them that request anything. */
const effectsOf = (actions: readonly { type: string; params: unknown }[]): LaunchEffect[] =>
  actions.flatMap(({ type, params }) => (type === "emitEffect" ? [params as LaunchEffect] : []));

/** A launch that has just begun. Its first prompt is `msg_1`, and unless said otherwise it is a plain one. */
export const begun = (input: Partial<LaunchInput> = {}): DrivenLaunch => {
  const [begin, first] = initialTransition(launchMachine, { id: "msg_1", parentSessionID: "ses_parent", ...input });
  const driven = drive<LaunchEvent, LaunchSnapshot, LaunchEffect>({
    begin,
    step: (before, event) => {
      const [after, actions] = transition(launchMachine, before, event);
      return { after, effects: effectsOf(actions) };
    },
    usual: (type) => usual[type as LaunchEvent["type"]] ?? {},
  });
  return Object.assign(driven, { began: effectsOf(first) });
};

/** Has these events happen one after the other, each as usual. */
export const afterEvents = (launch: DrivenLaunch, ...types: LaunchEvent["type"][]): DrivenLaunch => {
  for (const type of types) launch.take(type);
  return launch;
};

/** The state of a launch, such as `preparing.creating.cutting`. */
export const stateOf = ({ snapshot }: DrivenLaunch): string => statePath(snapshot.value);

const fork = { isFork: true };

/** How launches come to each state in which they rest: what they begin with, and what then happens. */
const WAYS = {
  makingWorktree: [{ needsWorktree: true }],
  askingFleet: [{ asksFleet: true }],
  waiting: [{}],
  requesting: [{}, "TURN_TAKEN"],
  requestingCopy: [fork, "TURN_TAKEN"],
  requestingText: [fork, "TURN_TAKEN", "CREATION_REFUSED", "CONVERSATION_READ"],
  looking: [{}, "TURN_TAKEN", "CREATION_UNCONFIRMED"],
  lookingAgain: [{}, "TURN_TAKEN", "CREATION_UNCONFIRMED", "SESSION_NOT_FOUND"],
  lookingForText: [fork, "TURN_TAKEN", "CREATION_REFUSED", "CONVERSATION_READ", "CREATION_UNCONFIRMED"],
  cutting: [fork, "TURN_TAKEN", "SESSION_CREATED"],
  informing: [fork, "TURN_TAKEN", "SESSION_CREATED", "COPY_CUT"],
  informingAgain: [fork, "TURN_TAKEN", "SESSION_CREATED", "COPY_CUT", "PREAMBLE_NOT_STORED"],
  informingOfText: [fork, "TURN_TAKEN", "CREATION_REFUSED", "CONVERSATION_READ", "SESSION_CREATED"],
  removingCopy: [fork, "TURN_TAKEN", "SESSION_CREATED", "PREPARATION_FAILED"],
  findingCopy: [fork, "TURN_TAKEN", "CREATION_UNCONFIRMED"],
  readingConversation: [fork, "TURN_TAKEN", "CREATION_REFUSED"],
  starting: [{}, "TURN_TAKEN", "SESSION_CREATED"],
  awaitingAnswer: [{}, "TURN_TAKEN", "CANCEL"],
  removingSession: [{}, "TURN_TAKEN", "SESSION_CREATED", "FAULT"],
  removingWorktree: [{ needsWorktree: true }, "WORKTREE_MADE", "FAULT"],
  leftPausing: [{}, "TURN_TAKEN", "SESSION_CREATED", "FAULT", "SESSIONS_LEFT"],
  leftRemoving: [{}, "TURN_TAKEN", "SESSION_CREATED", "FAULT", "SESSIONS_LEFT", "TICK"],
  started: [{}, "TURN_TAKEN", "SESSION_CREATED", "TASK_STARTED"],
  refused: [{}, "CANCEL"],
  closed: [{}, "CLOSE"],
} as const satisfies Record<string, readonly [Partial<LaunchInput>, ...LaunchEvent["type"][]]>;

/** A place that a launch may come to. */
export type Place = keyof typeof WAYS;

/** A launch in that place. In a worktree of its own, it has one by then. */
export const launchIn = (place: Place, more: Partial<LaunchInput> = {}): DrivenLaunch => {
  const [input, ...events] = WAYS[place];
  const launch = begun({ ...input, ...more });
  return afterEvents(launch, ...(more.needsWorktree ? (["WORKTREE_MADE"] as const) : []), ...events);
};

/** What is stored of the first session that is created for it. */
export const pendingOf = (more: Partial<PendingLaunch> = {}): PendingLaunch => ({
  ...{ messageID: "msg_1", parentSessionID: "ses_parent", at: START, fork: false },
  ...more,
});

/** What is stored of the session that has the conversation as a text. */
export const pendingText = pendingOf({ messageID: "msg_2" });

const answer = (said: LaunchAnswer): LaunchEffect => ({ type: "answerCall", launchId: "msg_1", answer: said });

/** The answer to the call when there is a task. */
export const started = (more: Partial<LaunchAnswer> = {}): LaunchEffect =>
  answer({ is: "started", sessionID: "ses_1", messageID: "msg_1", ...more } as LaunchAnswer);

/** The answer to the call when there is none. */
export const refusedFor = (refusal: LaunchRefusal): LaunchEffect => answer({ is: "refused", ...refusal });

/** The request that these sessions be deleted, or looked for where none is known. */
export const removal = (sessions: string[] | undefined, pending = pendingOf()): LaunchEffect => ({
  ...{ type: "removeSessions", launchId: "msg_1", isFinal: false },
  ...{ pending, sessions },
});

/** The request that the worktree be removed that was made. */
export const worktreeRemoval: LaunchEffect = { type: "removeWorktree", launchId: "msg_1", worktreeId: "w1" };
