import { expect, test } from "vitest";
import { type ActionArgs, type AnyStateNode, and, assign, createMachine, emit, not, or, raise, stateIn } from "xstate";
import { actionName, chartAsJson, chartsAsJson, guardName } from "../../src/machines/chart-json.ts";
import { launchMachine } from "../../src/machines/launch/machine.ts";
import { outboxMachine } from "../../src/machines/outbox/machine.ts";
import { supervisorMachine } from "../../src/machines/supervisor/machine.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";

interface TimedEvent {
  type: string;
  at: number;
}

type Args = ActionArgs<{ run: { startedAt: number } }, TimedEvent, TimedEvent>;

const statesIn = ({ states }: AnyStateNode): string[] =>
  Object.values(states).flatMap((state) => [state.id, ...statesIn(state)]);

test("a guard has its own name, or that of what it is composed of", () => {
  expect(guardName("due")).toBe("due");
  expect(guardName({ type: "due" })).toBe("due");
  expect(guardName(stateIn("#idle"))).toBe("in #idle");
  expect(guardName(not("due"))).toBe("not due");
  expect(guardName(and(["live", "due"]))).toBe("live and due");
  expect(guardName(or(["live", "due"]))).toBe("live or due");
  expect(guardName(and([stateIn("#idle"), not("waitedFor")]))).toBe("in #idle and not waitedFor");
  expect(guardName(or([and(["live", "due"]), "late"]))).toBe("live and due or late");
  expect(guardName(and(["live", or(["due", "late"])]))).toBe("live and (due or late)");
  expect(guardName(or([or(["live", "due"]), "late"]))).toBe("live or due or late");
  expect(guardName(not(and(["live", "due"])))).toBe("not (live and due)");
  expect(guardName(not(or(["live", "due"])))).toBe("not (live or due)");
});

test("an action has its own name, or says what it does", () => {
  expect(actionName("acknowledge")).toBe("acknowledge");
  expect(actionName({ type: "emitEffect" })).toBe("emitEffect");
  expect(actionName(assign({ result: 1, error: undefined } as never))).toBe("assign result, error");
  expect(actionName(assign(() => ({})))).toBe("assign");
  expect(actionName(emit({ type: "NEWS" }))).toBe("emit");
  // Each computes its event from an event and from the context, as those of the charts do.
  const began = ({ event }: Args) => ({ type: "RUN_BEGAN", at: event.at });
  const ended = ({ context }: Args) => ({
    type: "RUN_ENDED",
    outcome: "completed",
    at: context.run.startedAt,
  });
  expect(actionName(raise(began))).toBe("raise RUN_BEGAN");
  expect(actionName(raise(ended))).toBe("raise RUN_ENDED (completed)");
  expect(actionName(raise({ type: "DONE" }))).toBe("raise DONE");
  expect(actionName({ type: "@xstate.raise", event: { type: "DONE" } })).toBe("raise DONE");
});

test("the charts are JSON by their names, with all states of theirs, guards and actions by name, and events that are raised", () => {
  const machines = { launch: launchMachine, task: taskMachine, outbox: outboxMachine, supervisor: supervisorMachine };
  const charts = chartsAsJson();
  expect(Object.keys(charts)).toEqual(Object.keys(machines));
  for (const [name, machine] of Object.entries(machines)) {
    expect(charts[name]).toMatchObject({ id: name });
    expect(statesIn(createMachine(charts[name] as object).root)).toEqual(statesIn(machine.root));
  }
  const { outbox } = charts as {
    outbox: { states: Record<string, { states: Record<string, { states?: Record<string, object> }> }> };
  };
  expect(outbox.states.parent?.states.coolingDown).toMatchObject({
    entry: { type: "assign parentReadyAt" },
    on: { TICK: { guard: { type: "parentReady" }, target: "open" } },
  });
  expect(outbox.states.delivery?.states.waiting?.states?.gathering).toMatchObject({
    always: ["hasAdopted", "not hasQueued", "not wakesParent", "isOpen"].map((type) => ({ guard: { type } })),
  });
  // What is computed only while a chart runs is left out of the events that it raises.
  expect(charts.task).toMatchObject({
    states: { lifecycle: { states: { running: { entry: { type: "@xstate.raise", event: { type: "RUN_BEGAN" } } } } } },
  });
  expect(JSON.stringify(charts.task)).toContain(
    '{"type":"@xstate.raise","event":{"type":"RUN_ENDED","outcome":"cancelled"}}',
  );
  // What computes the first context is no part of the JSON.
  expect(outbox).not.toHaveProperty("context");
});

test("guards and actions are objects in JSON, with the parameters that are known", () => {
  const machine = createMachine({
    id: "lamp",
    context: () => ({ count: 0 }),
    entry: ["light", { type: "wait", params: 5 }, { type: "count", params: ({ context }) => context.count }],
    exit: "darken",
    on: { PUSHED: { guard: { type: "atLeast", params: { count: 2 } }, actions: raise({ type: "ON" }) } },
  });
  expect(chartAsJson(machine)).toEqual({
    id: "lamp",
    entry: [{ type: "light" }, { type: "wait", params: 5 }, { type: "count" }],
    exit: { type: "darken" },
    on: {
      PUSHED: {
        guard: { type: "atLeast", params: { count: 2 } },
        actions: { type: "@xstate.raise", event: { type: "ON" } },
      },
    },
  });
});
