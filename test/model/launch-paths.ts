import { initialTransition, transition } from "xstate";
import { statePath } from "../../src/machines/chart.ts";
import type { LaunchEvent, LaunchInput } from "../../src/machines/launch/events.ts";
import { type LaunchSnapshot, launchMachine } from "../../src/machines/launch/machine.ts";
import { LAUNCH_LIMITS } from "../../src/machines/launch/setup.ts";
import { START } from "../fakes/task-input.ts";

/** A way through a launch's chart: each event, with the snapshot that it comes in. */
export interface LaunchPath {
  input: LaunchInput;
  steps: { event: LaunchEvent; before: LaunchSnapshot; after: LaunchSnapshot }[];
}

const plain = {
  ...{ id: "msg_1", parentSessionID: "ses_parent" },
  ...{ isFork: false, needsWorktree: false, asksFleet: false },
};

/** What launches begin with. */
export const LAUNCHES: Record<string, LaunchInput> = {
  plain,
  "in a worktree": { ...plain, needsWorktree: true },
  "for the fleet": { ...plain, asksFleet: true },
  "in a worktree, for the fleet": { ...plain, needsWorktree: true, asksFleet: true },
  "of a fork": { ...plain, isFork: true },
  "of a fork in a worktree": { ...plain, isFork: true, needsWorktree: true },
};

const at = START;
const reason = "BadRequest: no";
const worktree = { id: "w1", directory: "/worktrees/w1", isShared: false };

/** What may be answered in a state, by its path. Where nothing is listed, nothing is asked. */
const ANSWERS: Record<string, readonly LaunchEvent[]> = {
  "preparing.makingWorktree": [
    { type: "WORKTREE_MADE", at, worktree },
    { type: "WORKTREE_REFUSED", at, reason: "No worktree could be made." },
    { type: "FAULT", at, reason: "a fault of ours" },
  ],
  "preparing.askingFleet": [
    { type: "FLEET_ANSWERED", at, offer: { pool: "p", commit: "c", attempts: 1, patience: 0 } },
    { type: "FLEET_ANSWERED", at, notOffered: "it was not pushed" },
  ],
  "preparing.waiting": [{ type: "TURN_TAKEN", at }],
  "preparing.creating.requesting": [
    { type: "SESSION_CREATED", at, sessionID: "ses_1" },
    { type: "CREATION_REFUSED", at, reason },
    { type: "CREATION_UNCONFIRMED", at, reason },
  ],
  "preparing.creating.searching.looking": [
    { type: "SESSION_FOUND", at, sessionID: "ses_1" },
    { type: "SESSION_NOT_FOUND", at },
    { type: "FAULT", at, reason: "a fault of ours" },
  ],
  "preparing.creating.cutting": [
    { type: "COPY_CUT", at },
    { type: "PREPARATION_FAILED", at, reason },
  ],
  "preparing.creating.informing.storing": [
    { type: "PREAMBLE_STORED", at },
    { type: "PREAMBLE_NOT_STORED", at },
    { type: "PREPARATION_FAILED", at, reason },
  ],
  "preparing.creating.removingCopy": [
    { type: "SESSIONS_REMOVED", at },
    { type: "SESSIONS_LEFT", at },
  ],
  "preparing.creating.readingConversation": [
    { type: "CONVERSATION_READ", at, messageID: "msg_2" },
    { type: "CONVERSATION_NOT_READ", at, reason },
    { type: "FAULT", at, reason: "a fault of ours" },
  ],
  starting: [
    { type: "TASK_STARTED", at },
    { type: "NOT_SERVED", at },
    { type: "FAULT", at, reason: "a fault of ours" },
  ],
  "givingUp.removingSession": [
    { type: "SESSIONS_REMOVED", at },
    { type: "SESSIONS_LEFT", at },
  ],
  "givingUp.removingWorktree": [
    { type: "WORKTREE_REMOVED", at },
    { type: "FAULT", at, reason: "a fault of ours" },
  ],
  "leftBehind.removing": [
    { type: "SESSIONS_REMOVED", at },
    { type: "SESSIONS_LEFT", at },
    { type: "SESSIONS_LEFT", at: at + LAUNCH_LIMITS.searchFor + 1 },
  ],
};

export const stateOf = ({ value }: Pick<LaunchSnapshot, "value">): string => statePath(value);

/** A launch on its way: in which state its caller cancelled it, and whether its copy is left to another actor. */
interface Place {
  snapshot: LaunchSnapshot;
  cancelledIn: string | undefined;
  hasLeftCopy: boolean;
}

/** What may come in a place. */
const possibleIn = ({ snapshot, cancelledIn, hasLeftCopy }: Place): LaunchEvent[] => {
  const state = stateOf(snapshot);
  const { tries, nextDeadline = at, worktree: own, sessionID } = snapshot.context;
  const asked = state === "givingUp.awaitingAnswer" ? cancelledIn : state;
  const known = sessionID === undefined ? {} : { sessions: [sessionID] };
  const answers = (ANSWERS[asked ?? ""] ?? [])
    // Only a worktree may not be served, and only what is done for one can throw where a task starts.
    .filter((event) => state !== "starting" || event.type === "TASK_STARTED" || own !== undefined)
    .map((event): LaunchEvent => (event.type === "SESSIONS_LEFT" ? { ...event, ...known } : event));
  const isPausing = state.endsWith("pausing");
  const ticks: LaunchEvent[] = isPausing ? [{ type: "TICK", at: nextDeadline }] : [];
  // After the first try the next ones differ in nothing but their number.
  const isRepeated = tries > 1 && (state.includes("searching") || state.includes("informing"));
  const again = answers.filter(({ type }) => type === "SESSION_NOT_FOUND" || type === "PREAMBLE_NOT_STORED");
  if (isRepeated) return [...again, ...ticks];
  // Its time must not pass, or the other actor would ask for the same.
  if (hasLeftCopy)
    return answers.filter(({ type }) => /READ$|CREATED$|STORED$|STARTED$/.test(type) && !type.includes("NOT"));
  // A turn is there at once, and a task starts at once: nothing can come between. Nothing cancels what nobody waits for.
  const isMoment = state === "starting" || state === "preparing.waiting";
  const mayCancel = !isMoment && /^(?:preparing|givingUp)/.test(state) && cancelledIn === undefined;
  return [
    ...answers,
    ...ticks,
    ...(mayCancel ? [{ type: "CANCEL", at } as const] : []),
    ...(isMoment ? [] : [{ type: "CLOSE", at } as const]),
  ];
};

/** How far a count has come, where that makes a difference: sessions that are left are looked for without end. */
const countIn = (state: string, tries: number): number => {
  if (state.includes("searching") || state.includes("informing")) return tries;
  return state.startsWith("leftBehind") ? Math.min(tries, 2) : 0;
};

const keyOf = ({ snapshot, cancelledIn, hasLeftCopy }: Place): string => {
  const { value, context } = snapshot;
  const { source, pending, sessionID, worktree: own, refusal, forkRefusal, sessions, tries } = context;
  const known = [source, pending?.messageID, sessionID, own?.id, refusal?.why, forkRefusal !== undefined];
  return JSON.stringify([value, known, sessions, countIn(stateOf(snapshot), tries), cancelledIn, hasLeftCopy]);
};

/** Of the paths of all launches, those in which a step is that no path before has: from one state by an event to another. */
export const pathsToEachStep = (): [string, LaunchPath][] => {
  const seen = new Set<string>();
  return Object.entries(LAUNCHES).flatMap(([name, input]) =>
    launchPaths(input).flatMap((path): [string, LaunchPath][] => {
      const before = seen.size;
      for (const { before: from, event, after } of path.steps) {
        seen.add(`${stateOf(from)} ${event.type} ${stateOf(after)}`);
      }
      return seen.size > before ? [[name, path]] : [];
    }),
  );
};

/** A shortest way to each place that a launch may come to, with each thing that may happen there. */
export const launchPaths = (input: LaunchInput): LaunchPath[] => {
  const [first] = initialTransition(launchMachine, input);
  const queue: (Place & Pick<LaunchPath, "steps">)[] = [
    { snapshot: first, cancelledIn: undefined, hasLeftCopy: false, steps: [] },
  ];
  const seen = new Set<string>();
  const paths: LaunchPath[] = [];
  for (let place = queue.shift(); place; place = queue.shift()) {
    const { snapshot: before, steps } = place;
    for (const event of possibleIn(place)) {
      const [after] = transition(launchMachine, before, event);
      const way = [...steps, { event, before, after }];
      const state = stateOf(before);
      const next = {
        snapshot: after,
        cancelledIn: event.type === "CANCEL" ? state : place.cancelledIn,
        hasLeftCopy: place.hasLeftCopy || (state.endsWith("removingCopy") && event.type === "SESSIONS_LEFT"),
        steps: way,
      };
      const key = keyOf(next);
      const isNew = !seen.has(key);
      seen.add(key);
      if (isNew && after.status === "active") queue.push(next);
      else paths.push({ input, steps: way });
    }
  }
  return paths;
};
