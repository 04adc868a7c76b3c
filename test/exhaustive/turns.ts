import type { OutboxEvent } from "../../src/machines/outbox/events.ts";
import type { SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import type { ChartSteps } from "./charts.ts";
import type { Move } from "./explore.ts";
import type { Family } from "./family.ts";
import { ofOutbox, type Processes, type Turn } from "./process.ts";
import type { Message, Numbers, World } from "./world.ts";

/** What all moves of a space are made with. */
export interface Parts {
  family: Family;
  taskIds: readonly string[];
  charts: ChartSteps;
  numbers: Numbers;
  processes: Processes;
}

/** An event that tells a process how its request went. */
export const answerOf = (event: OutboxEvent, mayBeLost = false): Message => ({
  kind: "event",
  event: ofOutbox(event),
  ...(mayBeLost ? { mayBeLost } : {}),
});

export const nameOf = (p: number): string => "AB"[p] ?? "";

export type Turns = ReturnType<typeof createTurns>;

/** Creates the kinds of moves: what a process does, and what happens at the host. */
export const createTurns = ({ family, processes: { createTurn } }: Parts) => {
  /** Something that a process does, which looks first what it has lost, and may die on the way. */
  const turn = (
    before: World,
    p: number,
    name: string,
    work: (now: Turn) => void,
    { isExpected = true, needsLease = false } = {},
  ): Move<World>[] => {
    const isStale = before.processes[p]?.isStale === true;
    const play = (what: string, renews: boolean, isExpected: boolean): Move<World>[] => {
      const now = createTurn(before, p);
      if (renews) now.renewLease();
      work(now);
      const deaths = now.deaths().map((after) => ({ name: `${what}, and dies meanwhile`, after, isExpected: false }));
      return [{ name: what, after: now.world, isExpected }, ...deaths];
    };
    const what = `${nameOf(p)} ${name}`;
    if (!isStale) return play(what, false, isExpected);
    const failing =
      family.heartbeatFails && !needsLease ? play(`${what}, though its heartbeat fails`, false, false) : [];
    return [...play(what, true, isExpected), ...failing];
  };

  /** Something that happens at the host, in one of its processes. */
  const atHost = (
    before: World,
    p: number,
    name: string,
    work: (now: Turn) => void,
    isExpected = true,
  ): Move<World> => {
    const now = createTurn(before, p);
    work(now);
    return { name, after: now.world, isExpected };
  };

  const remove = ({ process }: Turn, number: number) => {
    process.messages = process.messages.filter((other) => other !== number);
  };

  /** A request has an answer, which is taken as soon as it is given: what comes between them comes as well before or after. */
  const answered = (
    before: World,
    p: number,
    number: number,
    name: string,
    event: (now: Turn) => SupervisorEvent | undefined,
    isExpected = true,
  ): Move<World>[] =>
    turn(
      before,
      p,
      name,
      (now) => {
        remove(now, number);
        const given = event(now);
        if (given) now.dispatch(given);
      },
      { isExpected },
    );

  return { turn, atHost, remove, answered };
};
