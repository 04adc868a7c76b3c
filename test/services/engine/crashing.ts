import { describe, expect, test } from "vitest";
import { isAtRest } from "../../../src/machines/task/machine.ts";
import { hasEnded } from "../../../src/task.ts";
import { checkJournals } from "../../fakes/checked-journals.ts";
import { createDisk, type Disk } from "../../fakes/disk.ts";
import { createFakeProcess } from "../../fakes/fake-process.ts";
import { createStage, PARENT, type Stage, type StageOptions } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { isNightly } from "../../nightly.ts";
import { wholeTasks } from "../store/whole-tasks.ts";

/** What the parent's agent does. A tool call whose process dies resolves to undefined, and the play is over. */
export type Play = (agent: Agent) => Promise<void>;

export interface Agent {
  stage: Stage;
  /** Calls a tool; undefined when the process died in it. */
  call(
    tool: string,
    args: Record<string, unknown>,
    caller?: { sessionID?: string; callID?: string },
  ): Promise<string | undefined>;
  /** Launches a task; its id, or undefined. */
  launch(prompt: string, more?: Record<string, unknown>): Promise<string | undefined>;
  /** Lets the children answer, and time pass. */
  work(): Promise<void>;
}

export const ANSWERED = "call_answered";

/** The models of the children: they answer what they were asked, fail when told to, or never end. */
const answerChildren = ({ host }: Stage) => {
  for (const id of host.sessionIDs()) {
    const { busy, messages } = host.at(id);
    if (!busy || id === PARENT) continue;
    const asked = messages.findLast(({ role }) => role === "user")?.text ?? "";
    if (asked.includes("for ever")) continue;
    if (asked.includes("fail")) host.fail(id, { name: "APIError", message: "401" });
    else host.finish(id, `answer to: ${asked}`);
  }
};

/** Nothing more will happen by itself. */
const isQuiet = ({ host, store, life }: Stage): boolean =>
  life.isOver() ||
  (host.sessionIDs().every((id) => !host.at(id).busy) &&
    store.list({}).every(({ sessionID }) => {
      const record = store.get(sessionID);
      return record !== undefined && isAtRest(record.snapshot);
    }));

const agentOn = (stage: Stage): Agent => {
  /** Death is final: what the process was waiting for will never come. */
  const untilDeath = async <T>(work: Promise<T>): Promise<T | undefined> => {
    let done = false;
    const finished = work.finally(() => {
      done = true;
    });
    finished.catch(() => undefined);
    for (let round = 0; round < 200 && !done; round += 1) {
      if (stage.life.isOver()) return undefined;
      await settled();
    }
    return done ? finished : undefined;
  };
  const launchArgs = (prompt: string) => ({ description: prompt, prompt, agent: "general" });
  return {
    stage,
    call: (tool, args, caller = {}) => {
      const answer = stage
        .call(tool, args, caller)
        .catch((error: unknown) => (stage.life.isOver() ? undefined : Promise.reject(error)));
      // A waiting call is waited for by its play, which lets time pass.
      if (args.block)
        return Promise.race([
          answer,
          new Promise<undefined>((resolve) => void stage.clock.after(30_000, () => resolve(undefined))),
        ]);
      return untilDeath(answer);
    },
    launch: async (prompt, more = {}) => {
      const whole = await untilDeath(
        stage.callWhole("task", { ...launchArgs(prompt), ...more }).catch((error: unknown) => {
          if (stage.life.isOver()) return undefined;
          throw error;
        }),
      );
      return whole === undefined ? undefined : String(whole.metadata?.sessionId);
    },
    work: async () => {
      for (let round = 0; round < 40 && (round < 4 || !isQuiet(stage)); round += 1) {
        answerChildren(stage);
        await stage.clock.advance(1_000);
      }
    },
  };
};

/** How often the parent was notified of a task by notices. */
const noticesOf = (stage: Stage, taskId: string): number =>
  stage.notices().flatMap((parts) => parts.filter(({ text }) => new RegExp(`Task ${taskId} `).test(text))).length;

/**
 * What became of each instruction is what the conversation shows: whether a step of the agent began after it. Of one that a
 * second process stored again, no message may say so any more (ADR-303).
 */
const expectTrueFates = ({ host, store }: Stage, sessionID: string) => {
  const { messages } = host.at(sessionID);
  const journal = store.journal(sessionID);
  for (const { messageID, seenAt } of store.get(sessionID)?.snapshot.context.given ?? []) {
    const place = messages.findIndex(({ id }) => id === messageID);
    const isShown = place >= 0 && messages.slice(place).some(({ role }) => role === "assistant");
    const [given, stored] = (["STEER", "STEERING_STORED"] as const).map((step) =>
      journal.findIndex((event) => event.type === step && event.messageID === messageID),
    );
    const mayBeStoredAgain = journal.slice(given, stored).some(({ type }) => type === "ADOPTED");
    if (mayBeStoredAgain && seenAt === undefined) continue;
    expect(seenAt !== undefined, `${messageID} of ${sessionID} is seen`).toBe(isShown);
  }
};

/** What must hold when all is over, whatever died on the way. */
const check = (stage: Stage, disk: Disk) => {
  const { host, engine, store } = stage;
  const tasks = wholeTasks(store);
  for (const { sessionID, status, resumeCount, parentSessionID, result, prompt } of tasks) {
    expect(["completed", "error", "cancelled"], sessionID).toContain(status);
    expect(store.get(sessionID)?.snapshot.value.notice, sessionID).toBe("none");
    expectTrueFates(stage, sessionID);
    const hasHelp = tasks.some((task) => task.parentSessionID === sessionID);
    const instructions = store.journal(sessionID).flatMap((event) => (event.type === "STEER" ? event : []));
    const asked = instructions.at(-1)?.prompt ?? prompt;
    if (status === "completed" && resumeCount === 0 && !hasHelp) expect(result).toBe(`answer to: ${asked}`);
    for (const { messageID } of status === "completed" ? instructions : []) {
      const stored = host.at(sessionID).messages.filter(({ id }) => id === messageID);
      expect(stored, `instruction ${messageID} for ${sessionID}`).toHaveLength(1);
    }
    if (parentSessionID !== PARENT) continue;
    const byTool = host.at(PARENT).toolCalls.get(ANSWERED) === "stored" ? 1 : 0;
    expect(noticesOf(stage, sessionID) + byTool, `deliveries of ${sessionID}`).toBe(resumeCount + 1);
  }
  for (const id of host.sessionIDs()) {
    if (id === PARENT) continue;
    expect(host.at(id).busy, `${id} still works`).toBe(false);
    expect(engine.get(id), `${id} is a session without a task`).toBeDefined();
    const finished = host.at(id).messages.filter(({ finish }) => finish === "stop");
    expect(new Set(finished.map(({ promptID }) => promptID)).size, `${id} was answered twice`).toBe(finished.length);
    const [first] = host.at(id).parts.values();
    const isInformed = first?.some(({ text }) => text.includes("context may be truncated")) ?? false;
    expect(isInformed, `${id} knows that it is forked before it is asked anything`).toBe(engine.get(id)?.isForked);
  }
  checkJournals(disk.path);
  const left = disk.boot(stage.clock).adopt(stage.clock.now() + 60_000, () => true);
  expect(left).toEqual({ tasks: [], prompts: [], launches: [] });
};

/** Plays until the process dies at that point, and again in each further life; then lets everything come to its end. */
const playThrough = async (play: Play, deaths: number[], options: StageOptions): Promise<string[]> => {
  const disk = createDisk();
  const [first, ...further] = deaths;
  const stage = createStage({ ...options, openStore: disk.boot, life: createFakeProcess(first) });
  const agent = agentOn(stage);
  try {
    await play(agent);
    const { points } = stage.life;
    for (const death of further) {
      await stage.restart(createFakeProcess(death));
      await agent.work();
    }
    if (deaths.length > 0) {
      await stage.restart();
      await agent.work();
      // What a cancellation did not reach is cancelled now: its agent was cut off before.
      const running = stage.engine.list({ parentSessionID: PARENT }).filter((task) => !hasEnded(task));
      for (const { sessionID } of running) await agent.call("cancel", { task_id: sessionID });
      await agent.work();
    }
    check(stage, disk);
    return points;
  } finally {
    stage.engine.stop();
    disk.remove();
  }
};

/** Fails with the points that were passed, so that the moment can be seen. */
const dying = async (play: Play, deaths: number[], points: string[], options: StageOptions) => {
  try {
    await playThrough(play, deaths, options);
  } catch (error) {
    const moment = `died at point ${deaths.join(", then ")}: ${points.slice(0, deaths[0]).slice(-3).join(" → ")}`;
    throw new Error(`${moment}\n${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
};

/**
 * Node tries every twelfth point of death, and Bun those in the middle between them: the gate has little time.
 * `NIGHTLY=1`: all on either.
 */
const { FIRST, STRIDE } = isNightly ? { FIRST: 1, STRIDE: 1 } : { FIRST: process.versions.bun ? 7 : 1, STRIDE: 12 };

/** Shows of each play, with these options, that the process may die anywhere in it. */
export const describePlays = (plays: Record<string, Play>, options: StageOptions = {}): void => {
  describe.each(Object.entries(plays))("%s", (_, play) => {
    test("and the process may die at any call to the host or the store", { timeout: 600_000 }, async () => {
      const points = await playThrough(play, [], options);
      expect(points.length).toBeGreaterThan(20);
      for (let death = FIRST; death <= points.length; death += STRIDE) await dying(play, [death], points, options);
    });

    test("and may die once more while it takes over", { timeout: 600_000 }, async () => {
      const points = await playThrough(play, [], options);
      for (let death = FIRST; death <= points.length; death += 3 * STRIDE)
        await dying(play, [death, 1 + ((death * 7) % 31)], points, options);
    });
  });
};
