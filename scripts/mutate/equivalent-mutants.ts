import type { NamedMutant } from "./mutant.ts";

/** A change of the code that no test can see, for nothing outside depends on it. */
export interface EquivalentMutant extends Pick<NamedMutant, "file" | "code" | "mutation"> {
  reason: string;
}

/** Survivors that are no mistakes, each with its reason. */
export const equivalentMutants: readonly EquivalentMutant[] = [
  {
    file: "src/machines/outbox/setup.ts",
    code: 'const reason = event.type === "SEND_REFUSED" ? event.message : (refusal?.message ?? "an error");',
    mutation: 'const reason = event.type === "SEND_REFUSED" ? event.message : (refusal?.message ?? "");',
    reason: "A prompt is given up for a refusal, or for an error that was recorded: there is no third case.",
  },
  {
    file: "src/machines/outbox/setup.ts",
    code: "return event.promptID > prompt.messageID && event.createdAt >= storedAt;",
    mutation: "return event.promptID >= prompt.messageID && event.createdAt >= storedAt;",
    reason: "An answer to the prompt itself counts already, by the line before.",
  },
  {
    file: "src/machines/outbox/setup.ts",
    code: "if (prompt)",
    mutation: "if (true)",
    reason: "A notice is acknowledged only in states that have a prompt; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/setup.ts",
    code: "if (prompt) {",
    mutation: "if (true) {",
    reason: "A notice is given up only in states that have a prompt; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/delivery.ts",
    code: "if (!prompt || !sender) return;",
    mutation: "if (!prompt && !sender) return;",
    reason: "A prompt is sent only once there is one and the parent was read; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/delivery.ts",
    code: "if (!prompt || !sender) return;",
    mutation: "if (false) return;",
    reason: "A prompt is sent only once there is one and the parent was read; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/delivery.ts",
    code: "if (!prompt) return;",
    mutation: "if (false) return;",
    reason: "A prompt is checked only where there is one; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/machine.ts",
    code: 'id: "outbox",',
    mutation: 'id: "",',
    reason: "The name of the chart stands in pictures alone.",
  },
  {
    file: "src/machines/supervisor/events.ts",
    code: "default: return undefined;",
    mutation: "default:",
    reason: "A function that returns nothing returns undefined.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if ((ids[middle] ?? "") < id) from = middle + 1;',
    mutation: 'if ((ids[middle] ?? "Stryker was here!") < id) from = middle + 1;',
    reason: "The middle of a list is in the list; the default is for the compiler.",
  },
  {
    file: "src/services/runtime/actor-system.ts",
    code: "if (!actor) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);",
    mutation: "if (!actor) throw new Error(``);",
    reason: "An actor is listed when it is started: only a fault in this file leads there.",
  },
  {
    file: "src/services/runtime/actor-system.ts",
    code: "if (!actor) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);",
    mutation:
      "if (false) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);",
    reason: "An actor is listed when it is started: only a fault in this file leads there.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'const stored = event.type === "RESTORE" ? event.snapshot : {};',
    mutation: "const stored = true ? event.snapshot : {};",
    reason: "A launch has no snapshot, and to spread undefined adds nothing.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;',
    mutation: "if (false) return;",
    reason: "Every error of an actor has its id; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;',
    mutation: 'if (true && !("actorId" in event)) return;',
    reason: "Every error of an actor has its id; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;',
    mutation: 'if (event.type === "xstate.error.actor.*" && !("actorId" in event)) return;',
    reason: "Every error of an actor has its id; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;',
    mutation: 'if (event.type !== "" && !("actorId" in event)) return;',
    reason: "Every error of an actor has its id; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'id: "supervisor",',
    mutation: 'id: "",',
    reason: "The name of the chart stands in pictures alone.",
  },
  {
    file: "src/machines/task/fallback.ts",
    code: "const { facts, refusedModels = [] } = models;",
    mutation: 'const { facts, refusedModels = ["Stryker was here"] } = models;',
    reason: "A text that is no refusal names no model, so that it refuses none.",
  },
  {
    file: "src/machines/task/replay.ts",
    code: "Object.assign(Object.create(taskMachine) as typeof taskMachine, { getInitialSnapshot: () => snapshot });",
    mutation: "Object.assign(Object.create(taskMachine) as typeof taskMachine, {});",
    reason: "Only the speed of a replay depends on it.",
  },
  {
    file: "src/machines/task/replay.ts",
    code: "Object.assign(Object.create(taskMachine) as typeof taskMachine, { getInitialSnapshot: () => snapshot });",
    mutation:
      "Object.assign(Object.create(taskMachine) as typeof taskMachine, { getInitialSnapshot: () => undefined });",
    reason: "Only the speed of a replay depends on it.",
  },
  {
    file: "src/machines/task/replay.ts",
    code: "return { after: before, actions: [], fault: `cannot take it: ${error instanceof Error ? error.message : error}` };",
    mutation:
      'return { after: before, actions: ["Stryker was here"], fault: `cannot take it: ${error instanceof Error ? error.message : error}` };',
    reason: "What an event wanted is read only where it changed something.",
  },
  {
    file: "src/machines/task/replay.ts",
    code: 'const refused = fault ?? refusalReason(before, event) ?? "makes nothing of it";',
    mutation: 'const refused = fault ?? refusalReason(before, event) ?? "";',
    reason: "An event that changes nothing is refused, and has its reason: the default is for the compiler.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: ': refusedModelsWith(context, context.retry?.message ?? ""),',
    mutation: ': refusedModelsWith(context, context.retry?.message ?? "Stryker was here!"),',
    reason:
      "A run changes its model for a failure or for a refusal that was recorded: the defaults are for the compiler.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: "recordStored: assign(({ context: { instructions = [] } }) => ({",
    mutation: 'recordStored: assign(({ context: { instructions = ["Stryker was here"] } }) => ({',
    reason: "Where the list is used it is there: the default is for the compiler.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: 'blockedCalls: given("CALL_RETURNED", ({ context: { blockedCalls = [] }, event }) =>',
    mutation: 'blockedCalls: given("CALL_RETURNED", ({ context: { blockedCalls = ["Stryker was here"] }, event }) =>',
    reason: "Where the list is used it is there: the default is for the compiler.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: 'blockedCalls: given("OWN_TASK_ENDED", ({ context: { blockedCalls = [] }, event }) =>',
    mutation: 'blockedCalls: given("OWN_TASK_ENDED", ({ context: { blockedCalls = ["Stryker was here"] }, event }) =>',
    reason: "Where the list is used it is there: the default is for the compiler.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: "moreInstructions: ({ context: { instructions = [] } }) => instructions.length > 1,",
    mutation: 'moreInstructions: ({ context: { instructions = ["Stryker was here"] } }) => instructions.length > 1,',
    reason: "Where the list is used it is there: the default is for the compiler.",
  },
  {
    file: "src/machines/task/view.ts",
    code: 'const summaryOf = (result: string): string => result.trim().split(/\\n\\s*\\n/, 1)[0] ?? "";',
    mutation:
      'const summaryOf = (result: string): string => result.trim().split(/\\n\\s*\\n/, 1)[0] ?? "Stryker was here!";',
    reason: "Whatever is split has a first part: the default is for the compiler.",
  },
  {
    file: "src/machines/task/fallback.ts",
    code: 'nextModel({ ...models, refusedModels: refusedModelsWith(models, "", refused) });',
    mutation: 'nextModel({ ...models, refusedModels: refusedModelsWith(models, "Stryker was here!", refused) });',
    reason: "Of a refusal that is only supposed, nobody reads the reason.",
  },
  {
    file: "src/machines/task/run.ts",
    code: "idleHinted: false,",
    mutation: "idleHinted: true,",
    reason: "It is read only while the prompt is sent, and that begins with false.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: 'hostError: ({ context, event }) => context.hostError ?? (event.type === "HOST_ERROR" ? event.error : undefined),',
    mutation: "hostError: ({ context, event }) => context.hostError ?? (true ? event.error : undefined),",
    reason: "No other event that leads here has an error.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: ': refusedModelsWith(context, context.retry?.message ?? ""),',
    mutation: ': refusedModelsWith(context, context.retry.message ?? ""),',
    reason:
      "A run changes its model for a failure or for a refusal that was recorded: the defaults are for the compiler.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: 'isBlockedCall: given("CALL_RETURNED", ({ context: { blockedCalls = [] }, event }) =>',
    mutation: 'isBlockedCall: given("CALL_RETURNED", ({ context: { blockedCalls = ["Stryker was here"] }, event }) =>',
    reason: "A text has no call: it is no blocked one.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: '"messageID" in event && context.instructions?.[0]?.messageID === event.messageID,',
    mutation: '"messageID" in event && context.instructions?.[0].messageID === event.messageID,',
    reason: "A list of instructions is never empty: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: '({ context, event }) => context.userRequests.find(({ id }) => id !== event.id)?.kind === "question",',
    mutation: '({ context, event }) => context.userRequests.find(({ id }) => id !== event.id).kind === "question",',
    reason: "It is asked only where there is another request.",
  },
  {
    file: "src/machines/task/slot-queue.ts",
    code: "name !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;",
    mutation: "true && Object.hasOwn(record, name) ? record[name] : undefined;",
    reason: "Nobody has an entry named undefined: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/slot-queue.ts",
    code: "if (name !== undefined) change(kind, name, by);",
    mutation: "if (true) change(kind, name, by);",
    reason: "What has no name is counted under a name that nobody asks for.",
  },
  {
    file: "src/machines/task/slot-queue.ts",
    code: "if (limit === undefined) continue;",
    mutation: "if (false) continue;",
    reason: "No count is as high as undefined: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/slot-queue.ts",
    code: "if (provider === undefined || retriesAt === undefined || retriesAt + GOES_AHEAD_MS <= now) continue;",
    mutation: "if (false || retriesAt === undefined || retriesAt + GOES_AHEAD_MS <= now) continue;",
    reason: "A provider without a name is one that nobody asks for.",
  },
  {
    file: "src/machines/task/slot-queue.ts",
    code: 'const { provider = "" } = run;',
    mutation: 'const { provider = "Stryker was here!" } = run;',
    reason: "No provider has that name either.",
  },
  {
    file: "src/machines/task/steering.ts",
    code: "const oldest = instructions?.[0];",
    mutation: "const oldest = instructions[0];",
    reason: "Instructions are sent only where there are some: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/steering.ts",
    code: "if (!oldest) return;",
    mutation: "if (false) return;",
    reason: "Instructions are sent only where there are some: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/view.ts",
    code: "tasks: blockedCalls ? blockedCalls[0]?.since : waitingSince,",
    mutation: "tasks: blockedCalls ? blockedCalls[0].since : waitingSince,",
    reason: "A list of blocked calls is never empty: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/view.ts",
    code: "const until = refusal ? context.retry?.until : ownDeadline;",
    mutation: "const until = refusal ? context.retry.until : ownDeadline;",
    reason: "Where there is a refusal, there is what was recorded of it: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: 'id: "task",',
    mutation: 'id: "",',
    reason: "The name of the chart stands in pictures alone.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "RESUME", at: 0, messageID: "", partID: "", prompt: "" },',
    mutation: '{ type: "RESUME", at: 0, messageID: "Stryker was here!", partID: "", prompt: "" },',
    reason: "Whether a task takes a prompt does not depend on its ids and words.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "RESUME", at: 0, messageID: "", partID: "", prompt: "" },',
    mutation: '{ type: "RESUME", at: 0, messageID: "", partID: "Stryker was here!", prompt: "" },',
    reason: "Whether a task takes a prompt does not depend on its ids and words.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "RESUME", at: 0, messageID: "", partID: "", prompt: "" },',
    mutation: '{ type: "RESUME", at: 0, messageID: "", partID: "", prompt: "Stryker was here!" },',
    reason: "Whether a task takes a prompt does not depend on its ids and words.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "STEER", at: 0, messageID: "", partID: "", prompt: "", text: "", from: "user" },',
    mutation:
      '{ type: "STEER", at: 0, messageID: "Stryker was here!", partID: "", prompt: "", text: "", from: "user" },',
    reason: "Whether a task takes a prompt does not depend on its ids and words.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "STEER", at: 0, messageID: "", partID: "", prompt: "", text: "", from: "user" },',
    mutation:
      '{ type: "STEER", at: 0, messageID: "", partID: "Stryker was here!", prompt: "", text: "", from: "user" },',
    reason: "Whether a task takes a prompt does not depend on its ids and words.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "STEER", at: 0, messageID: "", partID: "", prompt: "", text: "", from: "user" },',
    mutation:
      '{ type: "STEER", at: 0, messageID: "", partID: "", prompt: "Stryker was here!", text: "", from: "user" },',
    reason: "Whether a task takes a prompt does not depend on its ids and words.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "STEER", at: 0, messageID: "", partID: "", prompt: "", text: "", from: "user" },',
    mutation:
      '{ type: "STEER", at: 0, messageID: "", partID: "", prompt: "", text: "Stryker was here!", from: "user" },',
    reason: "Whether a task takes a prompt does not depend on its ids and words.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "STEER", at: 0, messageID: "", partID: "", prompt: "", text: "", from: "user" },',
    mutation: '{ type: "STEER", at: 0, messageID: "", partID: "", prompt: "", text: "", from: "" },',
    reason: "Whether a task takes a prompt does not depend on its ids and words.",
  },
  {
    file: "src/machines/task/notice.ts",
    code: 'if (lastRunResult) enqueue({ type: "emitEffect", params: { type: "queueNotice", end: lastRunResult } });',
    mutation: 'if (true) enqueue({ type: "emitEffect", params: { type: "queueNotice", end: lastRunResult } });',
    reason: "A notice is due only for an end that is recorded: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/setup.ts",
    code: "idleHinted: false,",
    mutation: "idleHinted: true,",
    reason: "It is read only while the prompt is sent, and that begins with false.",
  },
  {
    file: "src/machines/chart-json.ts",
    code: 'const { type = "", assignment = {} } = action as Builtin;',
    mutation: 'const { type = "Stryker was here!", assignment = {} } = action as Builtin;',
    reason: "Each action of a chart has a name: the default is for the compiler.",
  },
  {
    file: "src/machines/chart-json.ts",
    code: 'const { type = "", check, guards = [], stateValue } = guard as Builtin;',
    mutation: 'const { type = "Stryker was here!", check, guards = [], stateValue } = guard as Builtin;',
    reason: "Each guard of a chart that is not composed has a name: the default is for the compiler.",
  },
  {
    file: "src/machines/chart-json.ts",
    code: 'const { type = "", check, guards = [], stateValue } = guard as Builtin;',
    mutation: 'const { type = "", check, guards = ["Stryker was here"], stateValue } = guard as Builtin;',
    reason: "Only a composed guard has no name of its own, and it has parts: the default is for the compiler.",
  },
  {
    file: "src/machines/chart-json.ts",
    code: "const AND = checkOf(and([]));",
    mutation: 'const AND = checkOf(and(["Stryker was here"]));',
    reason: "Which guards are composed does not matter: only by what they are.",
  },
  {
    file: "src/machines/chart-json.ts",
    code: "const OR = checkOf(or([]));",
    mutation: 'const OR = checkOf(or(["Stryker was here"]));',
    reason: "Which guards are composed does not matter: only by what they are.",
  },
  {
    file: "src/machines/chart-json.ts",
    code: 'const NOT = checkOf(not("nothing"));',
    mutation: 'const NOT = checkOf(not(""));',
    reason: "Which guard is negated does not matter.",
  },
  {
    file: "src/services/store/sqlite/ownership-tables.ts",
    code: "Object.entries(Object.groupBy(prompts, ({ parent }) => parent)).map(([parentSessionID, of = []]) => ({",
    mutation:
      'Object.entries(Object.groupBy(prompts, ({ parent }) => parent)).map(([parentSessionID, of = ["Stryker was here"]]) => ({',
    reason: "A group has what it was made of: the default is for the compiler.",
  },
  {
    file: "src/services/store/ownership.ts",
    code: 'attempt(() => readdirSync("/proc/self/fd"), []).flatMap((descriptor) =>',
    mutation: 'attempt(() => readdirSync("/proc/self/fd"), ["Stryker was here"]).flatMap((descriptor) =>',
    reason: "Where no files can be listed, none by that name is open either.",
  },
  {
    file: "src/services/runtime/host-reads.ts",
    code: 'const read = await share("");',
    mutation: 'const read = await share("Stryker was here!");',
    reason: "All share one call, under whatever name.",
  },
  {
    file: "src/services/runtime/observed-runs.ts",
    code: 'const stage = busy.has(event.effect.sessionID) ? "working" : "begun";',
    mutation: 'const stage = busy.has(event.effect.sessionID) ? "working" : "";',
    reason: "That a subagent has begun is what none of the other stages says: nothing asks for it.",
  },
  {
    file: "src/services/runtime/runtime.ts",
    code: "return { changed, lost: refused.length > 0 ? [...refused, ...store.heartbeat(clock.now())] : [] };",
    mutation:
      'return { changed, lost: refused.length > 0 ? [...refused, ...store.heartbeat(clock.now())] : ["Stryker was here"] };',
    reason: "No task has that id.",
  },
  {
    file: "src/services/runtime/runtime.ts",
    code: "return { changed, lost: [] };",
    mutation: 'return { changed, lost: ["Stryker was here"] };',
    reason: "No task has that id.",
  },
  {
    file: "src/services/runtime/progress.ts",
    code: 'begin: (sessionID: string, at: number, before: Progress = noProgress("")) => {',
    mutation: 'begin: (sessionID: string, at: number, before: Progress = noProgress("Stryker was here!")) => {',
    reason: "Of what was counted before, the time of the last event is not taken.",
  },
  {
    file: "src/services/runtime/progress.ts",
    code: 'const call = event.type === "toolCall" ? `${event.sessionID} ${event.callID}` : "";',
    mutation: 'const call = true ? `${event.sessionID} ${event.callID}` : "";',
    reason: "It is read only of a tool call.",
  },
  {
    file: "src/services/runtime/progress.ts",
    code: 'const call = event.type === "toolCall" ? `${event.sessionID} ${event.callID}` : "";',
    mutation: 'const call = event.type === "toolCall" ? `${event.sessionID} ${event.callID}` : "Stryker was here!";',
    reason: "It is read only of a tool call.",
  },
  {
    file: "src/services/runtime/progress.ts",
    code: "if (changed.size === 0) return NOTHING;",
    mutation: "if (false) return NOTHING;",
    reason: "Only speed depends on it.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: "return prompt && prompt.createdAt !== storedAt ? prompt.createdAt > storedAt : promptID > messageID;",
    mutation: "return prompt && prompt.createdAt !== storedAt ? prompt.createdAt >= storedAt : promptID > messageID;",
    reason: "The two differ there, by the condition before.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: "return prompt && prompt.createdAt !== storedAt ? prompt.createdAt > storedAt : promptID > messageID;",
    mutation: "return prompt && prompt.createdAt !== storedAt ? prompt.createdAt > storedAt : promptID >= messageID;",
    reason: "An answer to the prompt itself counts already.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: 'return { is: "failed", completedAt: newest?.completedAt, error, ...(said === undefined ? {} : { said }) };',
    mutation:
      'return { is: "failed", completedAt: newest.completedAt, error, ...(said === undefined ? {} : { said }) };',
    reason: "Steps without an end are three at least: the condition is for the compiler.",
  },
  {
    file: "src/services/runtime/actor-system.ts",
    code: "const restored = value && context ? { snapshot: task().resolveState({ value, context }) } : {};",
    mutation: "const restored = value || context ? { snapshot: task().resolveState({ value, context }) } : {};",
    reason: "A stored snapshot has both, a launch neither.",
  },
  {
    file: "src/services/runtime/chart-index.ts",
    code: "if (now < atLeast) for (const deadlines of [tasks, outboxes]) deadlines.bringForward(atLeast - now);",
    mutation: "if (now <= atLeast) for (const deadlines of [tasks, outboxes]) deadlines.bringForward(atLeast - now);",
    reason: "To bring forward by nothing changes nothing: only speed depends on it.",
  },
  {
    file: "src/services/runtime/observed-runs.ts",
    code: 'const [sessionID = "", messageID = ""] = key.split("/");',
    mutation: 'const [sessionID = "Stryker was here!", messageID = ""] = key.split("/");',
    reason: "The key has both: the defaults are for the compiler.",
  },
  {
    file: "src/services/runtime/observed-runs.ts",
    code: 'const [sessionID = "", messageID = ""] = key.split("/");',
    mutation: 'const [sessionID = "", messageID = "Stryker was here!"] = key.split("/");',
    reason: "The key has both: the defaults are for the compiler.",
  },
  {
    file: "src/services/runtime/observed-runs.ts",
    code: "const parts = [...texts].toSorted(([a], [b]) => (a < b ? -1 : 1));",
    mutation: "const parts = [...texts].toSorted(([a], [b]) => (a <= b ? -1 : 1));",
    reason: "No two parts have the same id.",
  },
  {
    file: "src/services/runtime/observed-runs.ts",
    code: 'if (type === "toolCall" && event.effect?.kind === "background") {',
    mutation: 'if (true && event.effect?.kind === "background") {',
    reason: "No other event has such an effect: the condition is for the compiler.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: "promptID !== undefined &&",
    mutation: "true &&",
    reason:
      "A message without a prompt answers none, neither ours nor one with a higher id: the condition is for the compiler.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: "(storedAt !== undefined &&",
    mutation: "(true &&",
    reason: "Nothing is as late as undefined: the condition is for the compiler.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: "(step, index) => index <= newest && !(areSo(step) && step.promptID === answers[newest]?.promptID),",
    mutation: "(step, index) => index <= newest && !(areSo(step) && step.promptID === answers[newest].promptID),",
    reason: "A step up to the newest one means that there is a newest one: the condition is for the compiler.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: "promptID !== undefined && (promptID === messageID || promptID === instruction?.messageID || isOwnMessageID(promptID));",
    mutation: "true && (promptID === messageID || promptID === instruction?.messageID || isOwnMessageID(promptID));",
    reason: "Only answers are asked about, and each is to a prompt: the condition is for the compiler.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: "newest && isAnswer(newest, observation) ? messages.filter((message) => isAnswer(message, observation)) : [];",
    mutation:
      'newest && isAnswer(newest, observation) ? messages.filter((message) => isAnswer(message, observation)) : ["Stryker was here"];',
    reason: "What is no message has not ended, and says nothing: it is as good as none.",
  },
  {
    file: "src/services/runtime/run-outcome.ts",
    code: "const lastOfThem = endless.at(-1);",
    mutation: "const lastOfThem = endless.at(+1);",
    reason: "They all answer the same message: what one of them takes in, all do.",
  },
  {
    file: "src/services/runtime/observed-runs.ts",
    code: "else if (!newest || info.id > newest.info.id) session.newest = { info, texts: new Map(), callsTools: false };",
    mutation:
      "else if (!newest || info.id >= newest.info.id) session.newest = { info, texts: new Map(), callsTools: false };",
    reason: "The same message again is no new one, by the line before.",
  },
  {
    file: "src/machines/task/run-transitions.ts",
    code: 'message: `The gate "${facts.gate?.command}" was not run to its end: ${meanwhile}.`,',
    mutation: 'message: `The gate "${facts.gate.command}" was not run to its end: ${meanwhile}.`,',
    reason: "A run that has been at a gate has one: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/run-transitions.ts",
    code: 'return "error" in event && event.error && "kind" in event.error ? event.error : UNANSWERED;',
    mutation: 'return "error" in event || event.error && "kind" in event.error ? event.error : UNANSWERED;',
    reason: "What ends a run has the error that it ends with, or none at all: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/run-transitions.ts",
    code: 'incomplete: (event.type === "RUN_ENDED" ? runResult(context, event.outcome) : context.lastRunResult)?.incomplete,',
    mutation:
      'incomplete: (event.type === "RUN_ENDED" ? runResult(context, event.outcome) : context.lastRunResult).incomplete,',
    reason: "Only the receipt of a run that has ended is asked for: the condition is for the compiler.",
  },
  {
    file: "src/machines/task/stopping.ts",
    code: "if (model) {",
    mutation: "if (true) {",
    reason: "A run changes its model only where there is a next one: the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/effects.ts",
    code: 'const { id: launchId, sessionID = "", pending, forkRefusal, notOffered } = context;',
    mutation: 'const { id: launchId, sessionID = "Stryker was here!", pending, forkRefusal, notOffered } = context;',
    reason: "A task starts in a session that there is; the default is for the compiler.",
  },
  {
    file: "src/machines/launch/effects.ts",
    code: 'export const answerRefused = request("answerCall", ({ context: { id: launchId, refusal = { why: "stopped" } } }) => ({',
    mutation: 'export const answerRefused = request("answerCall", ({ context: { id: launchId, refusal = {} } }) => ({',
    reason: "Whatever gives a launch up records why; the default is for the compiler.",
  },
  {
    file: "src/machines/launch/effects.ts",
    code: 'export const answerRefused = request("answerCall", ({ context: { id: launchId, refusal = { why: "stopped" } } }) => ({',
    mutation:
      'export const answerRefused = request("answerCall", ({ context: { id: launchId, refusal = { why: "" } } }) => ({',
    reason: "Whatever gives a launch up records why; the default is for the compiler.",
  },
  {
    file: "src/machines/launch/effects.ts",
    code: "if (!pending) return undefined;",
    mutation: "if (false) return undefined;",
    reason: "A copy that is removed is stored; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/replay.ts",
    code: 'type === "emitEffect" ? (params as unknown as LaunchEffect).type : [],',
    mutation: 'type === "emitEffect" ? (params as unknown as LaunchEffect).type : ["Stryker was here"],',
    reason: "Nothing else leaves the chart: requests are its only actions that change no context.",
  },
  {
    file: "src/machines/launch/replay.ts",
    code: 'type === "emitEffect" ? (params as unknown as LaunchEffect).type : [],',
    mutation: "true ? (params as unknown as LaunchEffect).type : [],",
    reason: "Nothing else leaves the chart: requests are its only actions that change no context.",
  },
  {
    file: "src/machines/launch/setup.ts",
    code: "!isFinal && pending !== undefined && event.at - pending.at > LAUNCH_LIMITS.searchFor,",
    mutation: "!isFinal && true && event.at - pending.at > LAUNCH_LIMITS.searchFor,",
    reason: "Only what is stored is looked for; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/preparing.ts",
    code: '({ context: { id: launchId, parentSessionID, forkRefusal: reason = "" } }) => ({',
    mutation: '({ context: { id: launchId, parentSessionID, forkRefusal: reason = "Stryker was here!" } }) => ({',
    reason: "The conversation is read only after a copy was refused; the default is for the compiler.",
  },
  {
    file: "src/machines/launch/preparing.ts",
    code: "sessionID === undefined || !pending ? undefined : { launchId, sessionID, pending, worktree },",
    mutation: "false ? undefined : { launchId, sessionID, pending, worktree },",
    reason: "A copy that is shortened is known and stored; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/preparing.ts",
    code: "sessionID === undefined || !pending ? undefined : { launchId, sessionID, pending, worktree },",
    mutation: "sessionID === undefined && !pending ? undefined : { launchId, sessionID, pending, worktree },",
    reason: "A copy that is shortened is known and stored; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/preparing.ts",
    code: "sessionID === undefined || !pending ? undefined : { launchId, sessionID, pending, worktree },",
    mutation: "false || !pending ? undefined : { launchId, sessionID, pending, worktree },",
    reason: "A copy that is shortened is known and stored; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/preparing.ts",
    code: "sessionID === undefined ? undefined : { launchId, sessionID },",
    mutation: "false ? undefined : { launchId, sessionID },",
    reason: "A message is stored only in a session that is known; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/machine.ts",
    code: "sessionID === undefined || !pending",
    mutation: "false",
    reason: "A task starts in a session that is known and stored; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/machine.ts",
    code: "sessionID === undefined || !pending",
    mutation: "sessionID === undefined && !pending",
    reason: "A task starts in a session that is known and stored; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/machine.ts",
    code: "sessionID === undefined || !pending",
    mutation: "false || !pending",
    reason: "A task starts in a session that is known and stored; the condition is for the compiler.",
  },
  {
    file: "src/machines/launch/machine.ts",
    code: 'SESSIONS_REMOVED: { target: "removingWorktree", actions: "forgetSession" },',
    mutation: 'SESSIONS_REMOVED: { target: "", actions: "forgetSession" },',
    reason: "Where the session is forgotten, the state is left at once for the same one.",
  },
  {
    file: "src/machines/launch/machine.ts",
    code: 'id: "launch",',
    mutation: 'id: "",',
    reason: "The name of the chart stands in pictures alone.",
  },
  {
    file: "src/machines/task/gating.ts",
    code: "const times = (gate?.failures ?? 0) + 1;",
    mutation: "const times = (gate.failures ?? 0) + 1;",
    reason: "An answer fails at a gate that has begun; the question mark is for the compiler.",
  },
  {
    file: "src/machines/task/gating.ts",
    code: "const gatedAnswer = ({ gate }: TaskContext) => keptAnswer({ ...gate, result: gate?.answer });",
    mutation: "const gatedAnswer = ({ gate }: TaskContext) => keptAnswer({ ...gate, result: gate.answer });",
    reason: "An answer is kept at a gate that has begun; the question mark is for the compiler.",
  },
  {
    file: "src/machines/task/gating.ts",
    code: "return gate && state && { taskId, gateRun: state.runs, directory: workDirectory(facts), gate };",
    mutation: "return true && { taskId, gateRun: state.runs, directory: workDirectory(facts), gate };",
    reason:
      "Only a task with a gate comes here, and the action before has begun it; the conditions are for the compiler.",
  },
  {
    file: "src/machines/task/gating.ts",
    code: "return gate && state && { taskId, gateRun: state.runs, directory: workDirectory(facts), gate };",
    mutation: "return gate || state && { taskId, gateRun: state.runs, directory: workDirectory(facts), gate };",
    reason:
      "Only a task with a gate comes here, and the action before has begun it; the conditions are for the compiler.",
  },
  {
    file: "src/machines/task/gating.ts",
    code: 'message: `The answer did not pass the gate "${facts.gate?.command}", which ${end … e ${times})` : ""}.${output === "" ? "" : ` The end of its output: ${output}`}`,',
    mutation:
      'message: `The answer did not pass the gate "${facts.gate.command}", which ${endT … e ${times})` : ""}.${output === "" ? "" : ` The end of its output: ${output}`}`,',
    reason: "Only the answer of a task with a gate fails there; the question mark is for the compiler.",
  },
  {
    file: "src/machines/task/fleet-states.ts",
    code: 'REMOTE_CLAIMED: { ...onClaim("claimed"), description: "Another server has begun it anew." },',
    mutation: 'REMOTE_CLAIMED: { ...onClaim(""), description: "Another server has begun it anew." },',
    reason: "A target without a name is the state itself.",
  },
  {
    file: "src/machines/task/fleet-states.ts",
    code: 'entry: ["beginWait", { type: "setDeadline", params: ({ context }) => context.facts.fleet?.patience ?? 0 }],',
    mutation:
      'entry: ["beginWait", { type: "setDeadline", params: ({ context }) => context.facts.fleet.patience ?? 0 }],',
    reason: "Only a task that is offered to other servers comes here; the question mark is for the compiler.",
  },
  {
    file: "src/services/typed-results/json-schema.ts",
    code: "const ajv = new Draft({ ...SETTINGS, code: { regExp, optimize: false } });",
    mutation: "const ajv = new Draft({ ...SETTINGS, code: { regExp, optimize: true } });",
    reason: "Only speed depends on it.",
  },
  {
    file: "src/services/typed-results/json-schema.ts",
    code: 'regExp.code = "regExp";',
    mutation: 'regExp.code = "";',
    reason: "It stands in code that Ajv writes into files, and here it writes none.",
  },
  {
    file: "src/services/typed-results/json-schema.ts",
    code: "toString: () => source,",
    mutation: "toString: () => undefined,",
    reason: "An expression without a name is kept once for each place that has it: only memory depends on it.",
  },
  {
    file: "src/services/typed-results/json-schema.ts",
    code: "return validate(value) ? [] : worded(validate.errors ?? []);",
    mutation: 'return validate(value) ? [] : worded(validate.errors ?? ["Stryker was here"]);',
    reason: "A value that does not fit has errors: the default is for the compiler.",
  },
  {
    file: "src/services/typed-results/json-schema.ts",
    code: 'const SAMPLES = [null, true, 0, "", [], {}];',
    mutation: 'const SAMPLES = [null, false, 0, "", [], {}];',
    reason: "Either of the two will do.",
  },
  {
    file: "src/services/typed-results/json-schema.ts",
    code: 'const SAMPLES = [null, true, 0, "", [], {}];',
    mutation: 'const SAMPLES = [null, true, 0, "Stryker was here!", [], {}];',
    reason: "Any short text will do.",
  },
  {
    file: "src/services/typed-results/typed-results.ts",
    code: "} catch { return false; }",
    mutation: "} catch {}",
    reason: "Undefined is as good as false.",
  },
  {
    file: "src/services/typed-results/typed-results.ts",
    code: "const blocks: string[] = [];",
    mutation: 'const blocks: string[] = ["Stryker was here"];',
    reason: "It is no JSON, and stands before all others.",
  },
  {
    file: "src/services/typed-results/typed-results.ts",
    code: 'const [, fence = "", language = ""] = FENCE.exec(line.trim()) ?? [];',
    mutation: 'const [, fence = "", language = "Stryker was here!"] = FENCE.exec(line.trim()) ?? [];',
    reason: "Of a line that is no fence, the language is not read: the default is for the compiler.",
  },
  {
    file: "src/services/typed-results/typed-results.ts",
    code: 'const [, fence = "", language = ""] = FENCE.exec(line.trim()) ?? [];',
    mutation: 'const [, fence = "", language = ""] = FENCE.exec(line.trim()) ?? ["Stryker was here"];',
    reason: "The first part is not read.",
  },
  {
    file: "src/services/typed-results/typed-results.ts",
    code: '} else if (language === "" && fence.startsWith(open.fence)) {',
    mutation: '} else if (language === "" && fence.endsWith(open.fence)) {',
    reason: "All characters of a fence are the same.",
  },
  {
    file: "src/services/worktrees/record.ts",
    code: 'return schema.safeParse(JSON.parse(readFileSync(file, "utf8"))).data;',
    mutation: 'return schema.safeParse(JSON.parse(readFileSync(file, ""))).data;',
    reason: "JSON is read from bytes as from text.",
  },
  {
    file: "src/services/worktrees/record.ts",
    code: 'const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";',
    mutation: 'const isMissing = true && error.code === "ENOENT";',
    reason: "What is thrown there is an error, with a code or without: the conditions are for the compiler.",
  },
  {
    file: "src/services/worktrees/record.ts",
    code: 'const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";',
    mutation: 'const isMissing = error instanceof Error || "code" in error && error.code === "ENOENT";',
    reason: "What is thrown there is an error, with a code or without: the conditions are for the compiler.",
  },
  {
    file: "src/services/worktrees/folders.ts",
    code: 'const { project }: { project?: unknown } = JSON.parse(readFileSync(record, "utf8"));',
    mutation: 'const { project }: { project?: unknown } = JSON.parse(readFileSync(record, ""));',
    reason: "JSON is read from bytes as from text.",
  },
  {
    file: "src/services/worktrees/lock.ts",
    code: 'const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);',
    mutation: "const codeOf = (error: unknown): unknown => (true ? error.code : undefined);",
    reason: "What is thrown there is an error, with a code or without: the conditions are for the compiler.",
  },
  {
    file: "src/services/worktrees/lock.ts",
    code: 'const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);',
    mutation:
      'const codeOf = (error: unknown): unknown => (error instanceof Error || "code" in error ? error.code : undefined);',
    reason: "What is thrown there is an error, with a code or without: the conditions are for the compiler.",
  },
  {
    file: "src/services/worktrees/change-counts.ts",
    code: "return count !== undefined && isAwaited(count);",
    mutation: "return true && isAwaited(count);",
    reason: "A count that was begun just now is there: the condition is for the compiler.",
  },
  {
    file: "src/services/worktrees/change-counts.ts",
    code: "if (id === undefined || !hasEnded(task)) return undefined;",
    mutation: "if (false || !hasEnded(task)) return undefined;",
    reason:
      "A task without a worktree of its own has no changes, by what comes next: the condition is for the compiler.",
  },
  {
    file: "src/services/worktrees/remove-worktree.ts",
    code: "await rm(paths.folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });",
    mutation: "await rm(paths.folder, { recursive: true, force: false, maxRetries: 3, retryDelay: 100 });",
    reason: "The folder is there, for the lock is in it.",
  },
  {
    file: "src/services/worktrees/worktrees.ts",
    code: "if (id !== undefined && record) writeRecord(pathsOf(root, id), { ...record, taskId: task.sessionID });",
    mutation: "if (true && record) writeRecord(pathsOf(root, id), { ...record, taskId: task.sessionID });",
    reason: "Where there is no id, no record was read: the condition is for the compiler.",
  },
  {
    file: "src/services/worktrees/worktrees.ts",
    code: "for (const id of tasks.flatMap((task) => ownWorktreeOf(task) ?? [])) remove(id).catch(onNotRemoved(id));",
    mutation:
      'for (const id of tasks.flatMap((task) => ownWorktreeOf(task) ?? ["Stryker was here"])) remove(id).catch(onNotRemoved(id));',
    reason: "No worktree has that id.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (!("actorId" in event && "error" in event)) return;',
    mutation: "if (false) return;",
    reason: "Only the error of an actor comes here; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (!("actorId" in event && "error" in event)) return;',
    mutation: "if (!(true)) return;",
    reason: "Only the error of an actor comes here; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (!("actorId" in event && "error" in event)) return;',
    mutation: 'if (!("actorId" in event || "error" in event)) return;',
    reason: "Only the error of an actor comes here; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (!("actorId" in event)) return;',
    mutation: "if (false) return;",
    reason: "Only the end of an actor comes here; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: "actions: { /** Has a service perform the effect. */ perform: (_, _effect: Effect … at were sent to it before. */ stop: (_, _actor: { id: string }) => undefined, },",
    mutation: "actions: {},",
    reason: "Whoever runs the chart provides all of them.",
  },
  {
    file: "src/machines/outbox/delivery.ts",
    code: "prompt && sender ? { parentSessionID, prompt, sender } : undefined,",
    mutation: "true ? { parentSessionID, prompt, sender } : undefined,",
    reason: "A prompt is sent only once there is one and the parent was read; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/delivery.ts",
    code: "prompt && sender ? { parentSessionID, prompt, sender } : undefined,",
    mutation: "prompt || sender ? { parentSessionID, prompt, sender } : undefined,",
    reason: "A prompt is sent only once there is one and the parent was read; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/setup.ts",
    code: 'const fault = event.type === "PARENT_ERROR" ? event.fault : undefined;',
    mutation: "const fault = true ? event.fault : undefined;",
    reason: "The other event has no such field; the condition is for the compiler.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "RETRY", at: 0, messageID: "", partID: "", prompt: "", budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },',
    mutation:
      '{ type: "RETRY", at: 0, messageID: "Stryker was here!", partID: "", prompt: "", budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },',
    reason:
      "Whether a task takes a prompt does not depend on its ids and words, nor a retry on what was used before it.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "RETRY", at: 0, messageID: "", partID: "", prompt: "", budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },',
    mutation:
      '{ type: "RETRY", at: 0, messageID: "", partID: "Stryker was here!", prompt: "", budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },',
    reason:
      "Whether a task takes a prompt does not depend on its ids and words, nor a retry on what was used before it.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "RETRY", at: 0, messageID: "", partID: "", prompt: "", budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },',
    mutation:
      '{ type: "RETRY", at: 0, messageID: "", partID: "", prompt: "Stryker was here!", budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },',
    reason:
      "Whether a task takes a prompt does not depend on its ids and words, nor a retry on what was used before it.",
  },
  {
    file: "src/machines/task/machine.ts",
    code: '{ type: "RETRY", at: 0, messageID: "", partID: "", prompt: "", budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },',
    mutation: '{ type: "RETRY", at: 0, messageID: "", partID: "", prompt: "", budgetFrom: {} },',
    reason:
      "Whether a task takes a prompt does not depend on its ids and words, nor a retry on what was used before it.",
  },
];
