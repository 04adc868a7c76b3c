import type { Step } from "./steps.ts";

/*
 * The words in which scenes are told.
 */

type Fields<Do extends Step["do"]> = Omit<Extract<Step, { do: Do }>, "do">;

/** Of tasks and sessions, what a scene has begun last. */
export const NEWEST = -1;
export const SECOND_NEWEST = -2;

export const launched = (fields: Partial<Fields<"launch">> = {}): Step => ({
  ...{
    do: "launch",
    parent: 0,
    turn: 0,
    from: "message",
    wake: "each",
    priority: 0,
    agent: "general",
    model: undefined,
    waits: false,
    answer: "stored",
  },
  ...fields,
});

export const answered = (session: number): Step => ({
  do: "answer",
  session,
  idles: 1,
  unwritten: false,
  unseen: false,
});

export const pass = (ms: number): Step => ({ do: "time", ms });

export const summedUp: Step = { do: "compact", session: NEWEST, ms: 0, overflow: false };

/** Milliseconds in which the host's calls and events have come and gone. */
export const MOMENT = 400;

/** Milliseconds in which what was late has come. */
export const WHILE = 6_000;
