import { expect, test } from "vitest";
import { type ActionArgs, type AnyStateNode, and, assign, createMachine, emit, not, or, raise, stateIn } from "xstate";
import { actionName, chartsAsJson, guardName } from "../../src/machines/chart-json.ts";
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
});

test("an action has its own name, or says what it does", () => {
  expect(actionName("acknowledge")).toBe("acknowledge");
  expect(actionName({ type: "emitEffect" })).toBe("emitEffect");
  expect(actionName(assign({ result: 1, error: undefined } as never))).toBe("assign result, error");
  expect(actionName(assign(() => ({})))).toBe("assign");
  expect(actionName(emit({ type: "NEWS" }))).toBe("emit");
  expect(actionName({ type: "xstate.raise" })).toBe("raise");
  // Each computes its event from an event and from the context, as those of the charts do.
  const began = ({ event }: Args) => ({ type: "RUN_BEGAN", at: event.at });
  const ended = ({ context }: Args) => ({
    type: "RUN_ENDED",
    outcome: "completed",
    at: context.run.startedAt,
  });
  expect(actionName(raise(began))).toBe("raise RUN_BEGAN");
  expect(actionName(raise(ended))).toBe("raise RUN_ENDED (completed)");
});

test("the charts are JSON by their names, with all states of theirs, guards and actions by name", () => {
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
    entry: "assign parentReadyAt",
    on: { TICK: { guard: "parentReady", target: "open" } },
  });
  expect(outbox.states.delivery?.states.waiting?.states?.gathering).toMatchObject({
    always: [{ guard: "hasAdopted" }, { guard: "not hasQueued" }, { guard: "not wakesParent" }, { guard: "in #open" }],
  });
  // What computes the first context is no part of the JSON.
  expect(outbox).not.toHaveProperty("context");
});
