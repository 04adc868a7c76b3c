/** Replaces one text of one file by another. */
export interface Replacement {
  /** From the root of the repository. */
  file: string;
  /** Occurs once in the file. */
  code: string;
  mistake: string;
}

/** A mistake that random schedules must find. */
export interface PlantedMistake extends Replacement {
  name: string;
  /** Where two places keep a promise, and each would hide a mistake in the other: the second one. */
  also?: Replacement;
}

/** Returns all that a mistake replaces. */
export const replacementsOf = ({ also, ...first }: PlantedMistake): Replacement[] => (also ? [first, also] : [first]);

/** The mistakes that `npm run chaos -- --planted` plants, one at a time. */
export const plantedMistakes: readonly PlantedMistake[] = [
  {
    name: "a task owes its notice again after a takeover, though a prompt has it",
    file: "src/machines/task/notice.ts",
    code: '          guard: "noNoticePending",\n',
    mistake: "",
  },
  {
    name: "a task that failed waits for others while the prompt cache lasts",
    file: "src/machines/outbox/setup.ts",
    code: 'gatherUntil > at && queue.every(({ outcome }) => outcome !== "error"),',
    mistake: "gatherUntil > at && queue.length > 0,",
  },
  {
    name: "effects are performed before the journal is stored",
    file: "src/services/runtime/runtime.ts",
    code: "const { changed, lost } = commit(transitions);",
    mistake:
      "for (const effect of transitions.effects.splice(0)) performEffect(effect); const { changed, lost } = commit(transitions);",
  },
  {
    name: "prompts to parents are not stored",
    file: "src/services/runtime/runtime.ts",
    code: "store.commit({ records, journal, prompts, launches: launchJournals })",
    mistake: "store.commit({ records, journal, prompts: [] })",
  },
  {
    name: "a task is resumed while the notice of its run is due",
    file: "src/machines/task/setup.ts",
    code: 'and(["isNothingOwed", not("waitedFor")])',
    mistake: 'not("waitedFor")',
  },
  {
    name: "a task is resumed while a call waits for its end",
    file: "src/machines/task/setup.ts",
    code: 'and(["isNothingOwed", not("waitedFor")])',
    mistake: 'and(["isNothingOwed"])',
  },
  {
    name: "a task that failed is retried while the notice of that is due",
    file: "src/machines/task/next-run.ts",
    code: 'guard: and(["mayGoOn", "mayEndOtherwise"])',
    mistake: 'guard: "mayEndOtherwise"',
  },
  {
    name: "a retry has the error of the run before",
    file: "src/machines/task/next-run.ts",
    code: "error: undefined,\n      limitError: undefined,",
    mistake: "error: undefined,",
  },
  {
    name: "a retry has no new budget",
    file: "src/services/engine/limits/run-limits.ts",
    code: "usedSince(used, runtime.snapshotOf(taskId)?.context.run.budgetFrom)",
    mistake: "usedSince(used)",
  },
  {
    name: "requests stay open when their run ends",
    file: "src/machines/task/attention.ts",
    code: 'RUN_ENDED: { target: ".none", actions: forgetRequests }',
    mistake: 'RUN_ENDED: { target: ".none" }',
  },
  {
    name: "a notice becomes due when one of several waiting calls is aborted",
    file: "src/machines/task/setup.ts",
    code: "context.waiters.every((call) => call === event.call)",
    mistake: "true",
  },
  {
    name: "an end that a closed outbox is given is kept",
    file: "src/machines/outbox/delivery.ts",
    code: 'actions: ["enqueue", ...drop] },\n        ADOPTED',
    mistake: 'actions: ["enqueue"] },\n        ADOPTED',
  },
  {
    name: "a closed outbox never opens again",
    file: "src/machines/outbox/delivery.ts",
    code: '        PARENT_PRESENT: { target: "#idle" },\n',
    mistake: "",
  },
  {
    name: "a notice that is about to be read is looked for ever as often",
    file: "src/machines/outbox/delivery.ts",
    code: "actions: [countAttempt, recordStored],",
    mistake: "actions: [recordStored],",
  },
  {
    name: "an error from before a takeover is blamed for what comes after it",
    file: "src/machines/task/run.ts",
    code: "    waitingSince: event.at,\n    hostError: undefined,\n",
    mistake: "    waitingSince: event.at,\n",
  },
  {
    name: "a budget counts no tasks below",
    file: "src/services/engine/limits/budget-tree.ts",
    code: "if (node) node.sum = add(node.sum, more);",
    mistake: "if (node && id === taskId && nodes.size === 1) node.sum = add(node.sum, more);",
  },
  {
    name: "a budget does not count tasks below that have ended",
    file: "src/services/engine/limits/budget-tree.ts",
    code: "store.list({ parentTaskId }).map(({ sessionID }) => sessionID)",
    mistake:
      "store.list({ parentTaskId }).filter(({ runEndedAt }) => runEndedAt === undefined).map(({ sessionID }) => sessionID)",
  },
  {
    name: "an instruction that was under way at a takeover is not sent again",
    file: "src/machines/task/steering.ts",
    code: '        ADOPTED: { target: "waiting", description: STORED_AGAIN },\n',
    mistake: "",
  },
  {
    name: "a run ends with an answer though an instruction was not sent yet",
    file: "src/machines/task/run-transitions.ts",
    code: 'guard: and(["isCurrentCheck", "isSteered"]),',
    mistake: 'guard: and(["isCurrentCheck", "isSteered", () => false]),',
  },
  {
    name: "a slot of a dead process whose task was never stored stays",
    file: "src/services/store/sqlite/slot-table.ts",
    code: "      removeUnowned.run(JSON.stringify(alive));\n",
    mistake: "",
  },
  {
    name: "slots of dead processes count",
    file: "src/services/store/sqlite/slot-table.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the product's own.
    code: "WHERE state = ${HELD} AND owner IN (SELECT value FROM json_each(?1)) GROUP BY",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the product's own.
    mistake: "WHERE state = ${HELD} AND ?1 <> '' GROUP BY",
  },
  {
    name: "slots of other processes do not count",
    file: "src/services/store/sqlite/sqlite-store.ts",
    code: "...ownership.queueOwners(check)",
    mistake: "alive: [me.id], responsive: [me.id]",
  },
  {
    name: "a slot is not freed when its run ends",
    file: "src/services/store/sqlite/slot-table.ts",
    code: "      if (state === undefined) remove.run(sessionID);\n      else write({ ...request, limits: {} }, state, retriesAt);",
    mistake: "      if (state !== undefined) write({ ...request, limits: {} }, state, retriesAt);",
  },
  {
    name: "a parent whose call waits for its tasks keeps its slot",
    file: "src/machines/task/slot.ts",
    code: 'statePath(run) === "active.working.awaitingTasks" || blockedCalls.length > 0',
    mistake: 'statePath(run) === "active.working.awaitingTasks"',
  },
  {
    name: "a parent whose turn has ended keeps its slot",
    file: "src/machines/task/slot.ts",
    code: 'statePath(run) === "active.working.awaitingTasks" || blockedCalls.length > 0',
    mistake: "blockedCalls.length > 0",
  },
  {
    name: "a provider's limit is ignored",
    file: "src/machines/task/slot-queue.ts",
    code: "provider: ownEntry(providers, provider)",
    mistake: "provider: undefined",
  },
  {
    name: "a model's limit is ignored",
    file: "src/machines/task/slot-queue.ts",
    code: "model: ownEntry(models, model)",
    mistake: "model: undefined",
  },
  {
    name: "an agent's limit is ignored",
    file: "src/machines/task/slot-queue.ts",
    code: "agent: ownEntry(agents, agent)",
    mistake: "agent: undefined",
  },
  {
    name: "the younger run starts first",
    file: "src/services/store/sqlite/slot-table.ts",
    code: "lane = line.lane ORDER BY rank, since, seq LIMIT 1",
    mistake: "lane = line.lane ORDER BY rank, since DESC, seq LIMIT 1",
  },
  {
    name: "runs start on a provider that refuses for now",
    file: "src/machines/task/slot-queue.ts",
    code: "retriesAt + GOES_AHEAD_MS <= now) continue",
    mistake: "true) continue",
  },
  {
    name: "tokens are not limited",
    file: "src/services/text/limit-text.ts",
    code: "used.tokens > tokens",
    mistake: "used.tokens < 0",
  },
  {
    name: "cost is not limited",
    file: "src/services/text/limit-text.ts",
    code: "used.cost > cost + SAME_COST",
    mistake: "used.cost < 0",
  },
  {
    name: "a budget is enforced one tool call too early",
    file: "src/services/text/limit-text.ts",
    code: "used.toolCalls > toolCalls",
    mistake: "used.toolCalls >= toolCalls",
  },
  {
    name: "a loop is cut off one call too late",
    file: "src/services/engine/limits/run-limits.ts",
    code: "repeated.times >= repeat",
    mistake: "repeated.times > repeat",
  },
  {
    name: "a session gets one task too many",
    file: "src/services/engine/launch/launch.ts",
    code: ">= tasksPerParent)",
    mistake: "> tasksPerParent)",
  },
  {
    name: "a run is timed out while a tool runs",
    file: "src/services/engine/limits/run-limits.ts",
    code: "userRequests.length > 0 || isToolRunning(facts.sessionID)",
    mistake: "userRequests.length > 0",
  },
  {
    name: "a run is timed out while a person is waited for",
    file: "src/services/engine/limits/run-limits.ts",
    code: "userRequests.length > 0 || isToolRunning(facts.sessionID)",
    mistake: "isToolRunning(facts.sessionID)",
  },
  {
    name: "a run is timed out though a tool began while its last words were read",
    file: "src/services/engine/limits/run-limits.ts",
    code: " || !mayEnd()",
    mistake: "",
  },
  {
    name: "time in the queue counts as time of the run",
    file: "src/services/engine/limits/run-limits.ts",
    code: "queuedUntil ?? run.startedAt",
    mistake: "run.startedAt",
  },
  {
    name: "no run is timed out",
    file: "src/services/engine/limits/run-limits.ts",
    code: "taken > limit",
    mistake: "taken > limit + 1e9",
  },
  {
    name: "what was said before a limit is lost",
    file: "src/machines/task/setup.ts",
    code: "limitError: event.error, ...keptAnswer({ result: event.said })",
    mistake: "limitError: event.error, ...keptAnswer({ result: undefined })",
  },
  {
    name: "a task is stale after half the time",
    file: "src/services/engine/recovery/housekeeping.ts",
    code: "const isSilent = silentFor >= staleAfter",
    mistake: "const isSilent = silentFor >= staleAfter / 2",
  },
  {
    name: "a task that another process supervises is written",
    file: "src/services/store/sqlite/task-table.ts",
    code: 'if (!held || (held.owner !== me.id && (whose === "own" || held.owner !== null))) return false;',
    mistake: "if (!held) return false;",
    also: {
      file: "src/services/runtime/runtime.ts",
      code: "if (Math.abs(clock.now() - heartbeatAt) > LEASE_MS) tryHeartbeat();",
      mistake: "return;",
    },
  },
  {
    name: "a lease never expires",
    file: "src/services/store/ownership.ts",
    code: "isSilent(owner, patience, check)",
    mistake: "isSilent(owner, patience * 1e6, check)",
  },
  {
    name: "a lease expires after a third of its time",
    file: "src/services/store/ownership.ts",
    code: "isSilent(owner, patience, check)",
    mistake: "isSilent(owner, patience / 3, check)",
  },
  {
    name: "a process goes on with a task that it has lost",
    file: "src/services/engine/reactions.ts",
    code: "Promise.all(lost.map(lostSessions.stop))",
    mistake: "Promise.all(lost.map(() => undefined))",
  },
  {
    name: "a process that wakes asks the host something before it stops what it has lost",
    file: "src/services/engine/context.ts",
    code: "createHostAfter(parts.host, () => runtime.renewLease())",
    mistake: "createHostAfter(parts.host, () => undefined)",
  },
  {
    name: "a change that the store refused is shown",
    file: "src/services/runtime/runtime.ts",
    code: "changed.filter(({ sessionID }) => !lost.includes(sessionID))",
    mistake: "changed",
  },
  {
    name: "a process delivers notices that it has lost",
    file: "src/services/runtime/runtime.ts",
    code: "    for (const parentSessionID of new Set(lost.map((task) => task.parentSessionID))) releasePrompts(parentSessionID);\n",
    mistake: "",
  },
  {
    name: "an error after which the host went on is blamed later",
    file: "src/machines/task/run-transitions.ts",
    code: "  missingSince: undefined,\n  hostError: undefined,\n",
    mistake: "  missingSince: undefined,\n",
  },
  {
    name: "the silence while the machine slept counts",
    file: "src/services/engine/recovery/housekeeping.ts",
    code: "if (at - checkedAt > 2 * every) awakeSince = at;",
    mistake: "",
  },
  {
    name: "a task that shows signs of life stays stale",
    file: "src/services/engine/recovery/housekeeping.ts",
    code: 'if (!isSilent && value.attention === "stale")',
    mistake: "if (false)",
  },
  {
    name: "two answers to one request both count",
    file: "src/services/engine/delivery/user-requests.ts",
    code: "if (isClosed) return fail(",
    mistake: "if (false) return fail(",
  },
  {
    name: "an answer that does not belong to the question is taken",
    file: "src/services/engine/delivery/user-requests.ts",
    code: "if (problem) return fail(problem);\n",
    mistake: "",
  },
  {
    name: "an instruction that was taken is said to be refused",
    file: "src/services/engine/operations/remote-commands.ts",
    code: "return steered.ok ? {} : toCommandOutcome(steered);",
    mistake: 'return steered.ok ? { refused: "no" } : toCommandOutcome(steered);',
  },
  {
    name: "nobody is reminded after a summary",
    file: "src/services/engine/reactions.ts",
    code: 'on(["compacted"], ({ sessionID }) => reminders.remind(sessionID, "compacted"));',
    mistake: "",
  },
  {
    name: "a summary counts as an answer",
    file: "src/services/runtime/run-outcome.ts",
    code: "  !isSummary &&\n",
    mistake: "",
  },
  {
    name: "a summary that is read after an answer hides it",
    file: "src/services/runtime/run-outcome.ts",
    code: 'role === "assistant" && !isSummary);',
    mistake: 'role === "assistant");',
  },
  {
    name: "a request that nobody answers stays open",
    file: "src/services/engine/delivery/user-requests.ts",
    code: "if (timeout !== undefined) open.cancels",
    mistake: "if (false) open.cancels",
  },
  {
    name: "a question waits for a person where there is none",
    file: "src/services/engine/delivery/user-requests.ts",
    code: "if (isHeadless && !runRejects)",
    mistake: "if (false)",
  },
  {
    name: "tasks at work are removed as outdated",
    file: "src/services/store/sqlite/task-table.ts",
    code: "SELECT seq FROM task WHERE owner IS NULL AND directory = ?1 AND ended_at IS NOT NULL",
    mistake: "SELECT seq FROM task WHERE directory = ?1",
  },
  {
    name: "a cancel that was refused delivers an end that it does not report",
    file: "src/tools/elisha/elisha-toolset.ts",
    code: ".finally(() => answered.abort()),",
    mistake: ",",
  },
  {
    name: "an end counts as delivered before the host has stored the answer that reports it",
    file: "src/tools/elisha/elisha-toolset.ts",
    code: "sessionID, callID, signal: abort, timeoutMs }",
    mistake: "sessionID, callID: undefined, signal: abort, timeoutMs }",
  },
  {
    name: "a subtask goes on though the turn that waited for it was aborted",
    file: "src/tools/subtasks/subtasks-toolset.ts",
    code: 'if (onParentCancel === "cancel") engine',
    mistake: "if (onParentCancel === undefined) engine",
  },
  {
    name: "a detached subtask is cancelled with the turn that waited for it",
    file: "src/tools/subtasks/subtasks-toolset.ts",
    code: 'if (onParentCancel === "cancel") engine',
    mistake: "if (onParentCancel) engine",
  },
  {
    name: "a gate that failed counts as passed",
    file: "src/machines/task/setup.ts",
    code: "({ event }) => event.end.exit === 0)",
    mistake: "() => true)",
  },
  {
    name: "a gate that failed is not tried again",
    file: "src/machines/task/setup.ts",
    code: "(gate?.failures ?? 0) < (facts.gate?.tries ?? 0)",
    mistake: "(gate?.failures ?? 0) + 1 < (facts.gate?.tries ?? 0)",
  },
  {
    name: "the agent begins though its gate is to be run before",
    file: "src/machines/task/setup.ts",
    code: "facts.gate?.before === true && gateBefore === undefined",
    mistake: "facts.gate?.before !== true && gateBefore === undefined",
  },
  {
    name: "a gate that is run before the agent begins is run without end where that ends OpenCode",
    file: "src/machines/task/setup.ts",
    code: "({ context: { endedInChecks = 0 } }) => endedInChecks < TASK_LIMITS.interruptions",
    mistake: "({ context: { endedInChecks = 0 } }) => endedInChecks >= 0",
  },
  {
    name: "how the gate ended before the agent began is forgotten",
    file: "src/machines/task/run-transitions.ts",
    code: "...(before ? { before } : {})",
    mistake: "...(before && before.exit === 0 ? { before } : {})",
  },
  {
    name: "an answer counts though its gate has not run",
    file: "src/machines/task/run-transitions.ts",
    code: 'guard: and(["isCurrentCheck", "hasGate"]),',
    mistake: 'guard: and(["isCurrentCheck", "hasGate", "isSteered"]),',
  },
  {
    name: "an answer that does not fit its schema counts",
    file: "src/machines/task/setup.ts",
    code: "event.misfit !== undefined)",
    mistake: "event.misfit === null)",
  },
  {
    name: "an instruction counts as seen once it is stored",
    file: "src/services/runtime/run-outcome.ts",
    code: "return messages.some((message) => isAnswer(message, { messageID, storedAt, earlier, messages }));",
    mistake: "return storedAt !== undefined && earlier.size >= 0;",
  },
  {
    name: "an instruction counts as missed though a step began after it",
    file: "src/services/runtime/seen-instructions.ts",
    code: "if (messageID !== undefined) runtime.send",
    mistake: "if (messageID === taskId) runtime.send",
  },
  {
    name: "an answer that does not fit its schema is given back once too often",
    file: "src/machines/task/setup.ts",
    code: "repairs: 1,",
    mistake: "repairs: 2,",
  },
  {
    name: "a receipt is never completed when the process dies that was to do it",
    file: "src/machines/task/machine.ts",
    code: "  !context.isReceiptIncomplete;",
    mistake: "  true;",
  },
  {
    name: "a record that was read is kept though another process has written since",
    file: "src/services/store/sqlite/task-table.ts",
    code: "SELECT data_version || ' ' || total_changes() AS version",
    mistake: "SELECT total_changes() AS version",
  },
  {
    name: "a process of another machine is judged by the clock of that machine",
    file: "src/services/store/ownership.ts",
    code: "known?.beatAt === owner.heartbeatAt ? known.at : newestAt",
    mistake: "Math.min(owner.heartbeatAt, check.now)",
  },
  {
    name: "a change that could not be written counts as written",
    file: "src/services/store/resilient/write-buffer.ts",
    code: "    disown(store.commit({ records, journal, prompts: lists }, bases));\n    tasks.markSaved();",
    mistake: "    tasks.markSaved();\n    disown(store.commit({ records, journal, prompts: lists }, bases));",
  },
  {
    name: "a process that started while the file was locked never opens it",
    file: "src/services/store/resilient/reconnect.ts",
    code: "const { store } = connection ?? use(connector.connect());",
    mistake: 'if (!connection) throw new Error("it is not open");\n    const { store } = connection;',
  },
  {
    name: "a task that is paused holds its slot",
    file: "src/machines/task/slot.ts",
    code: 'task.value.run === "idle" || isStoppedForPause(task)',
    mistake: 'task.value.run === "idle"',
  },
  {
    name: "a task that is paused goes on when its process ends",
    file: "src/machines/task/pausing.ts",
    code: 'ADOPTED: { description: "It stays paused, whatever process supervises it." }',
    mistake: 'ADOPTED: { target: "#queued" }',
  },
  {
    name: "a task counts as paused though its session could not be stopped",
    file: "src/machines/task/pausing.ts",
    code: 'NOT_STOPPED: [{ guard: "pauseAttemptsLeft", target: "resting" }, goOnAsItIs]',
    mistake: 'NOT_STOPPED: { target: "paused" }',
  },
  {
    name: "a task that was being paused when its process ended is not stopped by the next one",
    file: "src/machines/task/pausing.ts",
    code: 'ADOPTED: { target: ".aborting", description: "The session is still to be stopped." }',
    mistake: 'ADOPTED: { target: ".paused" }',
  },
  {
    name: "a task that continues is sent its prompt again though it was answered",
    file: "src/machines/task/pausing.ts",
    code: "CHECKED_ANSWERED: complete,",
    mistake: "CHECKED_ANSWERED: goOnAfterPause,",
  },
  {
    name: "the time in which a task is paused counts towards its limit",
    file: "src/services/engine/limits/run-limits.ts",
    code: " && !isAtGate(task) && !isPaused(task)",
    mistake: " && !isAtGate(task)",
    also: {
      file: "src/machines/task/run.ts",
      code: "actions: taskSetup.assign({ queuedUntil: ({ event }) => event.at, pause: undefined }),",
      mistake: "actions: taskSetup.assign({ pause: undefined }),",
    },
  },
  {
    name: "a next run that is asked for is forgotten",
    file: "src/machines/task/next-run.ts",
    code: 'always: { guard: "mayGoOn", target: "beginning", description: "The result is delivered." }',
    mistake: 'always: { guard: "mayGoOn", target: "none", description: "" }',
  },
  {
    name: "a next run begins though it was cancelled before",
    file: "src/machines/task/run.ts",
    code: '{ guard: "isCancelledBefore", ...cancelled, description: "Nothing of it is sent." },',
    mistake: "",
  },
];
