import { expect, test } from "vitest";
import { createActor, type InspectionEvent, initialTransition, sendParent, setup, transition } from "xstate";
import manifest from "xstate/package.json" with { type: "json" };
import { taskMachine } from "../../src/machines/task/machine.ts";
import { replay } from "../../src/machines/task/replay.ts";
import { taskInput } from "../fakes/task-input.ts";

/** The version of XState whose inner calls these overrides were checked with. */
const CHECKED = "5.33.3";

const ADVICE = `XState ${CHECKED} is relied on for more than it documents: machines/task/replay.ts makes a machine by Object.create, and overrides its getInitialSnapshot; services/runtime/actor-system.ts overrides the transition of its machines, restores actors from the snapshots of resolveState, and creates its actors with the option \`parent\` instead of spawning them. machines/moves.ts and services/inspection/recorders.ts read the transitions that an actor took (\`_transitions\`), and machines/transition-names.ts finds them in their states by identity. Where the other tests of this file pass with the new version, name it here; where they fail, change those places first.`;

test(`the overrides of XState's machines were checked with the version that is installed`, () => {
  expect(manifest.version, ADVICE).toBe(CHECKED);
});

const input = () => taskInput("ses_1", {}, 0);

/** A machine made of another as that of a replay is: what is not overridden works on the new object. */
const overriding = <Machine extends object>(machine: Machine, change: object): Machine =>
  Object.assign(Object.create(machine) as Machine, change);

test("a machine made by Object.create works as the one that it is made of: none of its fields are private", () => {
  const copy = overriding(taskMachine, {});
  const [snapshot] = initialTransition(copy, input());
  const [next, actions] = transition(copy, snapshot, { type: "SLOT_GRANTED", at: 1 });
  expect(next.value, ADVICE).toEqual(
    transition(taskMachine, initialTransition(taskMachine, input())[0], { type: "SLOT_GRANTED", at: 1 })[0].value,
  );
  expect(actions.map(({ type }) => type)).toContain("emitEffect");
  expect(next.can({ type: "PROMPT_ACCEPTED", at: 2 }), ADVICE).toBe(true);
});

test("transition asks the machine itself for its initial snapshot, so a replay needs no input for it", () => {
  const [snapshot] = initialTransition(taskMachine, input());
  let asked = 0;
  const machine = overriding(taskMachine, {
    getInitialSnapshot: () => {
      asked += 1;
      return snapshot;
    },
  });
  transition(machine, snapshot, { type: "SLOT_GRANTED", at: 1 });
  expect(asked, ADVICE).toBeGreaterThan(0);
  const { steps } = replay(input(), [{ type: "SLOT_GRANTED", at: 1 }]);
  expect(steps[0], ADVICE).toMatchObject({
    refused: undefined,
    to: { lifecycle: "running", run: "active.prompting.sending" },
  });
});

test("an actor that is given a snapshot begins with it, and asks for nothing", () => {
  const [launched] = initialTransition(taskMachine, input());
  const [stored] = transition(taskMachine, launched, { type: "SLOT_GRANTED", at: 1 });
  const { value, context } = stored;
  const asked: string[] = [];
  const machine = taskMachine.provide({ actions: { emitEffect: (_, { type }) => void asked.push(type) } });
  const snapshot = machine.resolveState({ value, context });
  const actor = createActor(machine, { input: input(), snapshot }).start();
  expect(asked, ADVICE).toEqual([]);
  expect(actor.getSnapshot().value, ADVICE).toEqual(value);
  expect(actor.getSnapshot().context, ADVICE).toEqual(context);
});

test("an actor takes each event by the machine's own transition, and a refused one leaves the very same snapshot", () => {
  const taken: string[] = [];
  const machine = taskMachine.provide({});
  const take = machine.transition.bind(machine);
  machine.transition = (before, event, scope) => {
    const after = take(before, event, scope);
    taken.push(`${event.type} ${after === before ? "refused" : "taken"}`);
    return after;
  };
  const actor = createActor(machine, { input: input() });
  actor.start();
  actor.send({ type: "SLOT_GRANTED", at: 1 });
  actor.send({ type: "STOPPED", at: 2 });
  expect(taken, ADVICE).toEqual(["SLOT_GRANTED taken", "STOPPED refused"]);
});

/** A root that creates its children as the supervisor does. */
const rootWith = (inspect: (observation: InspectionEvent) => void) => {
  const heard: string[] = [];
  const root = createActor(
    setup({}).createMachine({ on: { "*": { actions: ({ event }) => void heard.push(event.type) } } }),
    { inspect },
  ).start();
  const task = taskMachine.provide({ actions: { emitEffect: sendParent({ type: "EFFECT" }) } });
  const child = createActor(task, { parent: root, id: "ses_1", src: "task", input: input() });
  return { root, child, heard };
};

test("an actor that is created with a parent is its child, but for the parent's snapshot", () => {
  const observed: InspectionEvent[] = [];
  const { root, child, heard } = rootWith((observation) => void observed.push(observation));
  child.start();
  child.send({ type: "SLOT_GRANTED", at: 1 });
  expect(heard, ADVICE).toEqual(["EFFECT", "EFFECT"]);
  child.send({ type: "REQUEST_ASKED", at: 2, request: null as never });
  expect(heard, ADVICE).toEqual(["EFFECT", "EFFECT", "xstate.error.actor.ses_1"]);
  expect(root.getSnapshot().children, ADVICE).toEqual({});
  const its = observed.filter(({ actorRef }) => actorRef.sessionId === child.sessionId);
  expect(
    its.map(({ type, rootId }) => [type, rootId === root.sessionId]),
    ADVICE,
  ).toContainEqual(["@xstate.actor", true]);
});

test("a root that has ended hears nothing from such a child, which does not end with it", () => {
  const { root, child, heard } = rootWith(() => undefined);
  child.start();
  root.stop();
  expect(child.getSnapshot().status, ADVICE).toBe("active");
  expect(heard, ADVICE).toEqual(["EFFECT"]);
});
