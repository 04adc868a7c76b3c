import { setTimeout as sleep } from "node:timers/promises";
import type { Lab } from "../../test/e2e/lab/lab.ts";
import { toolResults } from "../../test/e2e/lab/model-request.ts";
import { poll } from "../../test/e2e/lab/polling.ts";
import { now } from "../../test/e2e/lab/recording.ts";
import type { Contender } from "../notices/contender.ts";
import type { Moment } from "./moments.ts";
import type { Played, Seen } from "./score.ts";
import { type ScriptedTasks, scriptTasks } from "./scripted-tasks.ts";

/** How many tasks are launched together at each moment. */
const TASKS = 3;

/** Milliseconds after the new start in which an end has to come by itself; on a very busy machine, ours took 12 s (seen). */
const PATIENCE_MS = 20_000;

/** Resolves when the part of the tasks' life begins that the moment lies in. */
const begin = async ({ lab }: Contender, tasks: ScriptedTasks, { part }: Moment): Promise<unknown> => {
  const { model } = lab;
  const hasStep = (count: 0 | 1) =>
    model.waitFor((request) => tasks.isChild(request) && Math.min(1, toolResults(request).length) === count);
  switch (part) {
    case "on its first step":
      // The parent's agent must know of its tasks: a launch that is cut off is another matter.
      await model.waitFor((request) => tasks.isParent(request) && toolResults(request).length === TASKS);
      return hasStep(0);
    case "on its answer":
      return hasStep(1);
    case "answered, not delivered": {
      const request = await hasStep(1);
      return lab.until(() => request.answeredAt !== undefined, { what: "a task has answered" });
    }
    case "its notice is read":
      return model.waitFor(
        (request) => tasks.isParent(request) && tasks.names.some((name) => tasks.tells(request, name)),
      );
  }
};

/** Waits until no session is at work. */
const rest = (lab: Lab): Promise<true> => {
  const areAtRest = async () => {
    const { data } = await lab.client.session.status({}, { throwOnError: true });
    return Object.keys(data).length === 0;
  };
  return lab.until(areAtRest, { what: "every session rests", timeoutMs: 60_000 });
};

/** How often the notice of each task stands in the messages that the parent has stored. */
const countStored = async (lab: Lab, tasks: ScriptedTasks): Promise<Map<string, number>> => {
  const messages = (await lab.messages(tasks.parent)).filter(({ info }) => info.role === "user");
  const said = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? part.text : [])));
  return new Map(tasks.names.map((name) => [name, tasks.countIn(said.join("\n"), name)]));
};

/**
 * Kills OpenCode at the moment, starts it again, and watches what becomes of the ends.
 * @returns what counts them, to be called when everything else has been played: a second delivery may come late
 */
export const playMoment = async (contender: Contender, moment: Moment): Promise<() => Promise<Played>> => {
  const { lab } = contender;
  const tasks = await scriptTasks(contender, `moment ${moment.number}`, TASKS);
  await lab.prompt(tasks.parent, "Launch the tasks.");
  await begin(contender, tasks, moment);
  await sleep(moment.delay);
  await lab.opencode.kill();
  const tellingRequests = (name: string) =>
    lab.model.requests.filter((request) => tasks.isParent(request) && tasks.tells(request, name));
  /** Answered to its end: what the agent was told then, it knows. */
  const isKnown = (name: string) => tellingRequests(name).some(({ answeredAt }) => answeredAt !== undefined);
  const known = new Set(tasks.names.filter(isKnown));

  const startedAt = now();
  await lab.restart();
  const firstSeen = (name: string) => tellingRequests(name).find(({ at }) => at > startedAt)?.at;
  const areAllSeen = () => tasks.names.every((name) => known.has(name) || firstSeen(name) !== undefined);
  await poll(areAllSeen, PATIENCE_MS - (now() - startedAt), () => lab.events.next());
  const promptedAt = now();
  if (!areAllSeen()) {
    // An agent that is prompted again is shown its conversation, and with it what was stored there and not read yet.
    await lab.prompt(tasks.parent, "Go on.");
    await lab.idle(tasks.parent, { timeoutMs: 60_000 });
  }
  await rest(lab);

  const seenOf = (name: string): Seen => {
    if (known.has(name)) return { when: "before the kill" };
    const at = firstSeen(name);
    if (at === undefined) return { when: "never" };
    return { when: at < promptedAt ? "by itself" : "when prompted", after: at - startedAt };
  };
  const seen = tasks.names.map((name) => [name, seenOf(name)] as const);
  return async () => {
    const stored = await countStored(lab, tasks);
    return { moment, ends: seen.map(([name, when]) => ({ seen: when, stored: stored.get(name) ?? 0 })) };
  };
};
