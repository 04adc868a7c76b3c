import { expect, test } from "vitest";
import { createActor, type InspectionEvent, initialTransition, setup, transition } from "xstate";
import manifest from "xstate/package.json" with { type: "json" };
import { taskActor } from "../../src/machines/supervisor/actors.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";
import { replay } from "../../src/machines/task/replay.ts";
import { taskInput } from "../fakes/task-input.ts";

/** The version of XState whose inner calls these overrides were checked with. */
const CHECKED = "5.33.3";

const ADVICE = `Three machines are overridden by Object.create, where XState ${CHECKED} calls them: getInitialSnapshot in machines/task/replay.ts and machines/supervisor/actors.ts, transition in services/runtime/actor-system.ts. Where the other tests of this file pass with the new version, name it here; where they fail, change those places first. The supervisor's actors are created with the option \`parent\` instead of spawned, in machines/supervisor/actors.ts.`;

test(`the overrides of XState's machines were checked with the version that is installed`, () => {
  expect(manifest.version, ADVICE).toBe(CHECKED);
});

const input = () => taskInput("ses_1", {}, 0);

/** A machine made of another as the three are: what is not overridden works on the new object. */
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
  expect(steps[0], ADVICE).toMatchObject({ refused: undefined, to: { lifecycle: "running", run: "sending" } });
});

test("an actor begins with the snapshot that the machine itself gives, from its input", () => {
  const [launched] = initialTransition(taskMachine, input());
  const [stored] = transition(taskMachine, launched, { type: "SLOT_GRANTED", at: 1 });
  const { value, context } = stored;
  const actor = createActor(taskActor, { input: { ...input(), value, context } as ReturnType<typeof input> });
  expect(actor.getSnapshot().value, ADVICE).toEqual(value);
  expect(actor.getSnapshot().context, ADVICE).toEqual(context);
});

test("an actor takes each event by the machine's own transition, and a refused one leaves the very same snapshot", () => {
  const taken: string[] = [];
  const machine = overriding(taskMachine, {
    transition: (...[before, event, scope]: Parameters<typeof taskMachine.transition>) => {
      const after = taskMachine.transition(before, event, scope);
      taken.push(`${event.type} ${after === before ? "refused" : "taken"}`);
      return after;
    },
  });
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
  const child = createActor(taskActor, { parent: root, id: "ses_1", src: "task", input: input() });
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
