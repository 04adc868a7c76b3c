import { expect, test } from "vitest";
import type { SupervisorEvent } from "../../../src/machines/supervisor/events.ts";
import { createAlarm, createDeadlines } from "../../../src/services/runtime/chart-index.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const HOUR = 3_600_000;

const setUp = () => {
  const clock = createVirtualClock(0);
  let timers = 0;
  let offset = 0;
  const counting = {
    ...clock,
    now: () => clock.now() + offset,
    after: (ms: number, fire: () => void) => {
      timers += 1;
      return clock.after(ms, fire);
    },
  };
  const deadlines = { tasks: createDeadlines(), outboxes: createDeadlines(), launches: createDeadlines() };
  const rung: SupervisorEvent[][] = [];
  const alarm = createAlarm(counting, deadlines, (ticks) => {
    rung.push(ticks);
    for (const tick of ticks) {
      if (tick.type === "TASK") deadlines.tasks.set(tick.id, undefined);
      if (tick.type === "OUTBOX") deadlines.outboxes.set(tick.id, undefined);
    }
    alarm.set();
  });
  return { clock, ...deadlines, alarm, rung, timers: () => timers, setClock: (ms: number) => (offset += ms) };
};

test("it rings at the earliest deadline, for all charts that are due, and then at the next", async () => {
  const { clock, tasks, outboxes, alarm, rung } = setUp();
  tasks.set("ses_late", 50);
  tasks.set("ses_1", 20);
  outboxes.set("ses_parent", 20);
  alarm.set();
  await clock.advance(19);
  expect(rung).toEqual([]);
  await clock.advance(1);
  const event = { type: "TICK", at: 20 };
  expect(rung).toEqual([
    [
      { type: "TASK", id: "ses_1", event },
      { type: "OUTBOX", id: "ses_parent", event },
    ],
  ]);
  await clock.advance(30);
  expect(rung.at(-1)).toEqual([{ type: "TASK", id: "ses_late", event: { type: "TICK", at: 50 } }]);
  expect(clock.pending()).toBe(0);
});

test("the timer is touched only when the earliest deadline has changed", async () => {
  const { clock, tasks, alarm, rung, timers } = setUp();
  tasks.set("ses_1", 20);
  alarm.set();
  for (let step = 0; step < 100; step += 1) {
    tasks.set(`ses_later_${step}`, 30 + step);
    alarm.set();
  }
  expect(timers()).toBe(1);
  tasks.set("ses_1", 10);
  alarm.set();
  expect(timers()).toBe(2);
  expect(clock.pending()).toBe(1);
  await clock.advance(10);
  expect(rung).toHaveLength(1);
});

test("without a deadline there is no timer", () => {
  const { clock, tasks, alarm } = setUp();
  tasks.set("ses_1", 20);
  alarm.set();
  tasks.set("ses_1", undefined);
  alarm.set();
  expect(clock.pending()).toBe(0);
});

test("once stopped it never rings", async () => {
  const { clock, tasks, alarm, rung } = setUp();
  tasks.set("ses_1", 20);
  alarm.set();
  alarm.stop();
  tasks.set("ses_2", 10);
  alarm.set();
  await clock.advance(100);
  expect(rung).toEqual([]);
});

test("a clock that is set back holds nothing up: what was to come in a second comes in a second, at the time it waited for", async () => {
  const { clock, tasks, outboxes, alarm, rung, setClock } = setUp();
  await clock.advance(10_000);
  tasks.set("ses_1", 11_000);
  outboxes.set("ses_parent", 12_000);
  alarm.set();
  setClock(-HOUR);
  await clock.advance(1_000);
  expect(rung).toEqual([[{ type: "TASK", id: "ses_1", event: { type: "TICK", at: 11_000 } }]]);
  await clock.advance(1_000);
  expect(rung.slice(1)).toEqual([[{ type: "OUTBOX", id: "ses_parent", event: { type: "TICK", at: 12_000 } }]]);
});

test("nor where another deadline is set after that: none waits longer than it was to", async () => {
  const { clock, tasks, alarm, rung, setClock } = setUp();
  await clock.advance(10_000);
  tasks.set("ses_1", 70_000);
  alarm.set();
  setClock(-HOUR);
  await clock.advance(1_000);
  tasks.set("ses_2", 11_500 - HOUR);
  alarm.set();
  await clock.advance(500);
  await clock.advance(60_000);
  expect(rung.flat().map((tick) => "id" in tick && tick.id)).toEqual(["ses_2", "ses_1"]);
  expect(clock.pending()).toBe(0);
});
