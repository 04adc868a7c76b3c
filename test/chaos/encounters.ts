import fc from "fast-check";
import type { CallFault } from "./calls.ts";
import { answered, launched, MOMENT, NEWEST, pass, SECOND_NEWEST, WHILE } from "./scene-words.ts";
import type { Step } from "./steps.ts";

/*
 * Scenes in which something happens to a run, or to the delivery of its result, that is in a certain state: each thing in each
 * state. By chance alone, most of these meet too seldom for a promise about them to be tried.
 */

/** The parent of all tasks here, among people's sessions. */
const PARENT = 0;

/** Milliseconds for which a call is under way, so that something can happen meanwhile. */
const LONG_CALL = 3_000;

const struck = (call: CallFault["call"], is: CallFault["is"], times = 1): Step => ({
  do: "strike",
  call,
  is,
  ms: LONG_CALL,
  times,
});

const begun: readonly Step[] = [launched({ parent: PARENT }), pass(MOMENT)];
const ofBatch: readonly Step[] = [
  launched({ parent: PARENT, wake: "all" }),
  launched({ parent: PARENT, wake: "all" }),
  pass(MOMENT),
];
const steered: Step = { do: "steer", task: NEWEST };
const cancelled: Step = { do: "cancel", task: NEWEST };
const ended: Step = { do: "crash", down: 0 };
const refused: Step = { do: "refuseModel", session: NEWEST };
const askedForPermission: Step = { do: "ask", task: NEWEST, kind: "permission", lasts: 0 };
const read: Step = { do: "read", task: NEWEST, whole: "task", timeout: 30_000, answer: "stored", storedAfter: 0 };

/** What brings the newest task's run into a state. */
const RUNS: readonly (readonly Step[])[] = [
  // It waits for a slot.
  [launched(), launched(), launched(), pass(60)],
  // Its prompt is on its way; it was refused, and is sent again after a pause; the host does not find the session.
  [struck("prompt", "lateBack"), launched(), pass(60)],
  [struck("prompt", "unavailable", 3), launched(), pass(MOMENT)],
  [struck("prompt", "missing", 2), launched(), pass(MOMENT)],
  // It is at work, or its provider refuses for now.
  begun,
  [...begun, { do: "refuseForNow", session: NEWEST, ms: 20_000 }, pass(60)],
  // The host is asked how it stands, answers late, or not at all.
  [...begun, struck("messages", "lateBack"), struck("busy", "lateBack"), answered(NEWEST), pass(60)],
  [...begun, struck("messages", "unavailable", 3), { do: "hint", session: NEWEST, says: "idle" }, pass(60)],
  [...begun, struck("messages", "missing", 3), struck("session", "missing", 3), answered(NEWEST), pass(60)],
  // Its prompt is lost again and again.
  [{ do: "behaveChildren", habit: "lose" }, launched(), pass(30_000)],
  // Its answer is checked.
  [...begun, answered(NEWEST), pass(60)],
  // Another model is to go on; the host does not stop the turn of the first one.
  [...begun, struck("abort", "lateBack"), refused, pass(60)],
  [...begun, struck("abort", "unavailable", 3), refused, pass(60)],
  [...begun, struck("abort", "unavailable", 12), refused, pass(WHILE)],
  [...begun, refused, pass(60)],
  // It is being stopped, and cannot be.
  [...begun, struck("abort", "lateBack"), cancelled, pass(60)],
  [...begun, struck("abort", "unavailable", 3), cancelled, pass(60)],
  // A person has stopped it, and the host does not say so yet.
  [...begun, struck("messages", "lateBack"), { do: "abort", session: NEWEST }, pass(60)],
  // Its process has ended; the next one asks how it stands, and gets its answer late, or none.
  [...begun, struck("messages", "lateBack"), ended, pass(60)],
  [...begun, struck("messages", "unavailable", 3), ended, pass(MOMENT)],
  // An instruction is on its way, was refused, or waits.
  [...begun, struck("message", "lateBack"), steered, pass(60)],
  [...begun, struck("storeMessage", "refused"), steered, pass(MOMENT)],
  [struck("prompt", "lateBack"), launched(), pass(60), steered],
  // It asks a person; it has been silent for long.
  [...begun, askedForPermission],
  [...begun, { do: "ask", task: NEWEST, kind: "question", lasts: 0 }],
  [...begun, pass(700_000)],
  // It was resumed.
  [...begun, answered(NEWEST), pass(WHILE), { do: "resume", task: NEWEST }, pass(MOMENT)],
  // A call waits for its end.
  [...begun, read, pass(60)],
];

const faulted: Step = { do: "hostFault", session: NEWEST };

/** What may happen to a run. */
const TO_RUNS: readonly (readonly Step[])[] = [
  [answered(NEWEST)],
  [{ do: "answer", session: NEWEST, idles: 2, unwritten: true, unseen: false }],
  [{ do: "answer", session: NEWEST, idles: 1, unwritten: false, unseen: true }],
  [{ do: "fail", session: NEWEST }],
  [faulted],
  [faulted, pass(WHILE), faulted, pass(WHILE), faulted, pass(WHILE), faulted],
  [{ do: "goOnAfterError", session: NEWEST, idle: false }],
  [{ do: "goOnAfterError", session: NEWEST, idle: true }],
  [{ do: "breakOff", session: NEWEST }],
  [{ do: "stepsWithoutEnd", session: NEWEST }],
  [refused],
  [{ do: "refuseForNow", session: NEWEST, ms: 600 }],
  [{ do: "refuseForNow", session: NEWEST, ms: 20_000 }],
  [{ do: "hint", session: NEWEST, says: "idle" }],
  [{ do: "hint", session: NEWEST, says: "busy" }],
  [{ do: "hint", session: NEWEST, says: "error" }],
  [{ do: "abort", session: NEWEST }],
  [steered],
  [steered, steered],
  [struck("storeMessage", "refused", 2), steered],
  [struck("storeMessage", "unavailable", 2), steered],
  [cancelled],
  [{ do: "deleteChild", task: NEWEST }],
  [{ do: "clear", task: NEWEST }],
  [{ do: "overspend", task: NEWEST }],
  [{ do: "circle", task: NEWEST }],
  [askedForPermission],
  [askedForPermission, askedForPermission, { do: "reply", task: NEWEST }, { do: "reply", task: NEWEST }],
  [{ do: "reply", task: NEWEST }],
  [read],
  [{ do: "resume", task: NEWEST }],
  [answered(NEWEST), pass(WHILE), { do: "resume", task: NEWEST }, pass(MOMENT), answered(NEWEST)],
  [ended],
  [struck("busy", "unavailable", 3)],
  [struck("messages", "unavailable", 12)],
  [pass(WHILE)],
];

/** What brings a run that has launched another one into a state: it is the second newest. */
const LEADS: readonly (readonly Step[])[] = [
  [...begun, { do: "launchBelow", task: NEWEST }, pass(MOMENT), answered(SECOND_NEWEST), pass(MOMENT)],
  [
    ...[...begun, { do: "launchBelow", task: NEWEST } as const, pass(MOMENT)],
    ...[{ do: "hint", session: SECOND_NEWEST, says: "idle" } as const, pass(MOMENT)],
  ],
];

/** What may happen to it. */
const TO_LEADS: readonly (readonly Step[])[] = [
  [{ do: "steer", task: SECOND_NEWEST }],
  [struck("storeMessage", "refused", 2), { do: "steer", task: SECOND_NEWEST }],
  [struck("message", "lateBack"), { do: "steer", task: SECOND_NEWEST }],
  [{ do: "hint", session: SECOND_NEWEST, says: "idle" }],
  [{ do: "hint", session: SECOND_NEWEST, says: "busy" }],
  [{ do: "hint", session: SECOND_NEWEST, says: "error" }],
  [{ do: "refuseForNow", session: SECOND_NEWEST, ms: 3_000 }],
  [{ do: "cancel", task: SECOND_NEWEST }],
  [{ do: "deleteChild", task: SECOND_NEWEST }],
  [answered(NEWEST)],
  [ended],
  [pass(WHILE)],
];

const withTwo = [...begun, ...begun];

/** What brings the delivery of the newest task's result into a state. */
const DELIVERIES: readonly (readonly Step[])[] = [
  // The result waits for others of the batch.
  [...ofBatch, answered(SECOND_NEWEST), pass(60)],
  // The parent is read, late or in vain; the host does not find it.
  [...withTwo, struck("session", "lateBack"), answered(NEWEST), pass(60)],
  [...withTwo, struck("session", "unavailable"), answered(NEWEST), pass(60)],
  [...withTwo, struck("session", "missing", 2), answered(NEWEST), pass(60)],
  [...withTwo, struck("session", "missing", 2), struck("allSessions", "lateBack"), answered(NEWEST), pass(3_100)],
  [...withTwo, struck("session", "missing", 2), struck("allSessions", "unavailable", 2), answered(NEWEST), pass(3_100)],
  // The notice is on its way, late, refused, or for nothing.
  [...withTwo, struck("prompt", "lateThere"), answered(NEWEST), pass(60)],
  [...withTwo, struck("prompt", "lateBack"), answered(NEWEST), pass(60)],
  [...withTwo, struck("prompt", "unavailable"), answered(NEWEST), pass(60)],
  [...withTwo, struck("prompt", "refused", 3), answered(NEWEST), pass(60)],
  [...withTwo, struck("prompt", "missing"), answered(NEWEST), pass(60)],
  // It is stored, and the parent has not begun to answer it; the host is asked about that.
  [...withTwo, { do: "behave", session: PARENT, habit: "mute" }, answered(NEWEST), pass(60)],
  [...withTwo, { do: "behave", session: PARENT, habit: "lose" }, answered(NEWEST), pass(60)],
  [
    ...withTwo,
    { do: "behave", session: PARENT, habit: "mute" },
    answered(NEWEST),
    pass(60),
    struck("messages", "lateBack"),
    struck("message", "lateBack"),
    pass(WHILE),
  ],
  // The parent's turn has failed a moment ago.
  [...withTwo, { do: "parentFails", parent: PARENT }, answered(NEWEST)],
  // A person has stopped the turn in which it was to be read.
  [
    ...withTwo,
    { do: "beginTurn", parent: PARENT },
    answered(NEWEST),
    pass(MOMENT),
    { do: "stopParent", parent: PARENT },
  ],
  // A person has taken back messages, or archived the conversation.
  [...withTwo, { do: "converse", parent: PARENT }, { do: "takeBack", parent: PARENT }, answered(NEWEST), pass(60)],
  [...withTwo, { do: "archive", parent: PARENT, isArchived: true }, pass(60), answered(NEWEST), pass(60)],
  // The session is deleted.
  [...withTwo, answered(NEWEST), { do: "deleteParent", parent: PARENT }],
];

/** What may happen to a delivery. */
const TO_DELIVERIES: readonly (readonly Step[])[] = [
  [{ do: "answerParent", parent: PARENT }],
  [{ do: "stopParent", parent: PARENT }],
  [{ do: "parentFails", parent: PARENT }],
  [{ do: "beginTurn", parent: PARENT }],
  [{ do: "converse", parent: PARENT }],
  [{ do: "takeBack", parent: PARENT }],
  [{ do: "redo", parent: PARENT }],
  [{ do: "archive", parent: PARENT, isArchived: false }],
  [{ do: "deleteParent", parent: PARENT }],
  [{ do: "hint", session: PARENT, says: "idle" }],
  [{ do: "hint", session: PARENT, says: "busy" }],
  [{ do: "showParent", parent: PARENT }],
  [answered(NEWEST)],
  [answered(SECOND_NEWEST)],
  [{ do: "clear", task: NEWEST }],
  [{ do: "cancelAll", parent: PARENT }],
  [read],
  [ended],
  [struck("session", "missing", 2)],
  [struck("prompt", "refused", 2)],
  [struck("message", "unavailable")],
  [pass(WHILE)],
  [pass(70_000)],
];

/** Draws something that may happen to a run or to a delivery. */
export const happening: fc.Arbitrary<Step[]> = fc
  .constantFrom(...TO_RUNS, ...TO_LEADS, ...TO_DELIVERIES)
  .map((steps) => [...steps]);

/** Draws what brings something into a state, and one to three things that happen then, each at once or a moment later. */
const encounter = (
  states: readonly (readonly Step[])[],
  happenings: readonly (readonly Step[])[],
): fc.Arbitrary<Step[]> =>
  fc
    .record({
      state: fc.constantFrom(...states),
      happens: fc.array(fc.tuple(fc.constantFrom(...happenings), fc.constantFrom(0, 0, 60, MOMENT)), {
        minLength: 1,
        maxLength: 3,
      }),
    })
    .map(({ state, happens }) => [
      ...state,
      ...happens.flatMap(([steps, ms]) => (ms === 0 ? steps : [...steps, pass(ms)])),
      pass(WHILE),
    ]);

/** The process is stopped, another one takes its work over, and the first one wakes. */
const takenOver: readonly Step[] = [
  { do: "freeze" },
  { do: "goTo", process: 1 },
  pass(400_000),
  { do: "goTo", process: 0 },
  { do: "wake" },
];

/** The process ends, and another one takes its work over. */
const inherited: readonly Step[] = [{ do: "dieSoon", points: 1 }, { do: "goTo", process: 1 }, pass(30_000)];

const inFirst = (scene: Step[]): Step[] => [{ do: "goTo", process: 0 }, ...scene];

/** Draws a scene in which another process takes over a run, or the delivery of a result, that is in a certain state. */
export const encounterOfSeveral: fc.Arbitrary<Step[]> = fc.oneof(
  encounter(RUNS, [takenOver, inherited, ...TO_RUNS.slice(0, 8)]).map(inFirst),
  encounter(DELIVERIES, [takenOver, takenOver, inherited, ...TO_DELIVERIES]).map(inFirst),
);

/** Draws one to four of these scenes, one after the other. */
export const encounters: fc.Arbitrary<Step[]> = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: encounter(RUNS, TO_RUNS) },
      { weight: 1, arbitrary: encounter(LEADS, TO_LEADS) },
      { weight: 5, arbitrary: encounter(DELIVERIES, TO_DELIVERIES) },
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((scenes) => scenes.flat());
