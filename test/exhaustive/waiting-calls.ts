import { AT, NONE } from "./charts.ts";
import type { Move } from "./explore.ts";
import { callId, type Turn } from "./process.ts";
import type { Parts, Turns } from "./turns.ts";
import type { Call, World } from "./world.ts";

/** Creates what a call does that waits for tasks: it begins to, ends its wait, returns, or is aborted. */
export const createWaitingCalls = (
  { family: { calls: callsOf = [], mistake }, processes: { hasEnded } }: Parts,
  { turn }: Turns,
) => {
  const callMoves = (before: World, p: number, index: number): Move<World>[] => {
    const { process, tasks = [] } = callsOf[index] ?? {};
    const { stage } = before.calls[index] ?? {};
    if (process !== p) return [];
    const move = (name: string, work: (now: Turn, call: Call) => void, isExpected = true): Move<World>[] =>
      turn(before, p, `has call ${index} ${name}`, (now) => work(now, now.world.calls[index] as Call), { isExpected });
    const haveEnded = tasks.every((task) => hasEnded(before.store.tasks[task]?.snapshot ?? NONE));
    const deliverNothing = (now: Turn, call: Call) => {
      const { delivers } = call;
      Object.assign(call, { stage: "over", delivers: [], holds: [], isRecalled: false });
      for (const task of delivers) now.send(task, { type: "WAIT_ABANDONED", at: AT, call: callId(index) });
    };
    if (stage === "none") {
      return move(
        "begin to wait",
        (now, call) => {
          call.stage = "waiting";
          tasks.forEach(now.register);
        },
        false,
      );
    }
    if (stage === "waiting") {
      const ended = move("end its wait", (now, call) => {
        // It was let go where a task was lost just now; and it delivers nothing of what ended in another process.
        if (call.stage !== "waiting") return;
        if (tasks.some((task) => !call.waitsFor.includes(task))) return now.letGo(index);
        Object.assign(call, { stage: "ended", waitsFor: [], delivers: call.waitsFor });
      });
      return [...move("aborted", (now) => now.letGo(index), false), ...(haveEnded ? ended : [])];
    }
    if (stage !== "ended") return [];
    const returns = move("return", (now, call) => {
      if (call.isRecalled && mistake !== "a call returns its output though another process delivers what is in it")
        return deliverNothing(now, call);
      call.stage = "returned";
      now.post({ kind: "stored", call: index });
    });
    return [...returns, ...move("aborted before its output is stored", deliverNothing, false)];
  };

  return { callMoves };
};
