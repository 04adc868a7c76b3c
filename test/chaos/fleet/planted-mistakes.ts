import type { PlantedMistake } from "../planted-mistakes.ts";

type Replacing = Pick<PlantedMistake, "code" | "mistake">;

/** By the file in which they are planted, which is also that of their second place where that names no other, and by name. */
const BY_FILE: Record<string, Record<string, Replacing & { also?: Replacing & { file?: string } }>> = {
  "src/services/fleet/run-log.ts": {
    "a server that has lost a run goes on with it": {
      code: "return log.ended !== undefined || (newest !== undefined && isNewer(newest, claim));",
      mistake: "return log.ended !== undefined;",
    },
    "what is written of a run counts for the next one": {
      code: "snapshot.context.run.index === run && isInFleet(snapshot);",
      mistake: "isInFleet(snapshot);",
      also: {
        file: "src/machines/task/setup.ts",
        code: "remote !== undefined && remote.attempts.length > 0 && isSameClaim",
        mistake: "remote !== undefined && isSameClaim",
      },
    },
    "the end that an origin writes does not count": {
      code: "ended.claim === undefined || isSameClaim(ended.claim, newest);",
      mistake: "isSameClaim(ended.claim, newest);",
    },
    "an origin shows for ever what an agent has asked": {
      code: "for (const request of known.filter((one) => !isIn(open, one))) {",
      mistake: 'for (const request of known.filter((one) => !isIn(open, one) && one.id === "")) {',
    },
    "a place in a log that was set back is taken for an old one": {
      code: "!claims.some(({ at, entry }) => entry.server.id === known.server.id && isSameClaim(at, known.claim));",
      mistake: "claims.length === 0;",
    },
    "changes are made a worktree of under another id each time": {
      code: "const id = idOfChanges(taskId, run.index, ended);",
      mistake: "const id = idOfChanges(taskId, Math.random(), ended);",
    },
  },
  "src/services/fleet/monitored-run.ts": {
    "a server that hears of a newer claim goes on with its run": {
      code: 'return lose(found.ended ? "it is closed" : "another server has begun it");',
      mistake: "return;",
      also: {
        code: 'if (held === "lost") return lose("another server has it");',
        mistake: 'if (held === "lost") return;',
      },
    },
    "the lease of a run is not renewed": {
      code: "await Promise.all([lease.renew(isStillOurs), permit?.renew(), delivery?.renew()]);",
      mistake: 'await Promise.all(["kept", permit?.renew(), delivery?.renew()]);',
    },
    "the permit of a run is not renewed": {
      code: "await Promise.all([lease.renew(isStillOurs), permit?.renew(), delivery?.renew()]);",
      mistake: "await Promise.all([lease.renew(isStillOurs), undefined, delivery?.renew()]);",
    },
    "a permit is kept when its run has ended, and renewed": {
      code: "await Promise.all([lease.release(), permit?.release()]);",
      mistake:
        'await lease.release(); repeat(clock, log, { every: broker.leaseMs / 3, work: async () => void (await permit?.renew()), fault: "" });',
    },
    "an end whose answer was lost is not recognised": {
      code: "if (found?.ended?.nonce === nonce) return true;",
      mistake: "",
    },
    "an end is written into a lost log without a claim": {
      code: "begunBy && !isSameClaim(claim, newest?.at)",
      mistake: "begunBy && false",
    },
    "a server that is asked to stop goes on": {
      code: "if (found.isStopRequested) engine.cancel(taskId);",
      mistake: "",
    },
    "a job stays in its queue when its run has ended": {
      code: "if (isWritten) await delivery?.done();",
      mistake: "",
      also: {
        file: "src/services/fleet/worker.ts",
        code: 'if (claimed === "ended") await delivery.done();',
        mistake: "",
      },
    },
    "a server does not write its claim anew in a log that was lost": {
      code: "if (!newest || (isHeld && !isSameClaim(claim, newest.at))) return claimAgain(found);",
      mistake: "if (!newest) return;",
    },
    "that an agent asks no more is told to nobody": {
      code: "if (isOver || hasSameIds(asked, requests)) return;",
      mistake: "if (isOver || requests.length === 0 || hasSameIds(asked, requests)) return;",
    },
    "a server gives an end up when something else was written just then": {
      code: 'if (written.is === "stored" || written.is === "conflict") continue;',
      mistake: 'if (written.is === "conflict") return false;\n      if (written.is === "stored") continue;',
    },
    "an end that is written later than a claim anew names the claim before": {
      code: "    if (newest?.entry.nonce === nonce) claim = newest.at;\n    if (found?.ended",
      mistake: "    if (found?.ended",
    },
    "a slot is free only when the origin has the end": {
      code: "    onSlotFree();\n    const isReceived = isWritten && (await untilReceived(worker, name, { nonce, untilEntry }));",
      mistake:
        "    const isReceived = isWritten && (await untilReceived(worker, name, { nonce, untilEntry }));\n    onSlotFree();",
    },
    "a server waits no more for its origin when the broker is unreachable": {
      code: "if (found && found.ended?.nonce !== nonce) return false;",
      mistake: "if (found?.ended?.nonce !== nonce) return false;",
    },
    "a job is not renewed while its run is worked on": {
      code: "permit?.renew(), delivery?.renew()]);",
      mistake: "permit?.renew()]);",
    },
    "a permit is kept until it lapses when its run has ended": {
      code: "await Promise.all([lease.release(), permit?.release()]);",
      mistake: "await lease.release();",
    },
  },
  "src/services/fleet/origin.ts": {
    "the origin does not say that it has an end": {
      code: "else await confirm(name, found);",
      mistake: "",
    },
    "an origin closes a run without a look whether a server has begun it": {
      code: "if (!isToBeClosed(name)) return false;",
      mistake: "",
    },
    "a job that the broker has lost is not sent again": {
      code: 'charts().send(facts.sessionID, { type: "REMOTE_LOST", at: clock.now() });',
      mistake: "",
    },
    "a run is lost though it was held a moment ago": {
      code: "return seenAt - Math.max(at, reachedAt) >= broker.leaseMs;",
      mistake: "return seenAt > at;",
    },
    "an origin does not look whether a job is queued without a limit": {
      code: 'new Set([job.key, ""])',
      mistake: "new Set([job.key])",
    },
    "nobody is told of a new job": {
      code: "broker.notify(poolTopic(job.pool), aboutQueue(job));",
      mistake: "",
    },
    "an origin waits to be told": {
      code: "broker.onReached(lookAgain),",
      mistake: "broker.onReached(() => undefined),",
    },
    "an end is confirmed each time that it is read": {
      code: "if (!ended?.claim || isReceived) return;",
      mistake: "if (!ended?.claim) return;",
    },
    "an origin closes a run whatever was written meanwhile": {
      code: "const closed = await broker.append(name, end, current.last);",
      mistake: "const closed = await broker.append(name, end, undefined);",
    },
    "an origin does not take a run back that a server goes on with": {
      code: 'if (held.is !== "read" || held.lease?.holder !== newest.entry.server.id) return false;',
      mistake: "return false;",
    },
  },
  "src/services/fleet/jobs.ts": {
    "a resume is enqueued from any server": {
      code: "...(remote && run.index > 0",
      mistake: "...(remote && run.index > 99",
    },
    "a run is enqueued under the number of the one before": {
      code: "task: facts.sessionID, run: run.index },",
      mistake: "task: facts.sessionID, run: Math.max(0, run.index - 1) },",
    },
    "a run may be begun once more than it may": {
      code: "attempts: fleet.attempts, project },",
      mistake: "attempts: fleet.attempts + 1, project },",
    },
    "a server is not told what an agent is denied": {
      code: "denied: parent.value.permission.flatMap(",
      mistake: "denied: parent.value.permission.slice(0, 0).flatMap(",
    },
    "a server is asked for a task of no pool": {
      code: 'const pool = fleet?.pool ?? "";',
      mistake: 'const pool = fleet ? "" : "none";',
    },
  },
  "src/services/fleet/local-engine.ts": {
    "a server goes on with a conversation before its last end is settled": {
      code: "return snapshot !== undefined && !isAtRest(snapshot);",
      mistake: 'return snapshot === undefined && taskId === "";',
    },
    "a server that starts again takes the run of a resumed task for its first": {
      code: "run.index === 0 ? facts.job : run.job;",
      mistake: "run.index === 0 ? facts.job : facts.job;",
    },
    "the end of a resumed run is told where nobody waits for it": {
      code: "    waitForOrigin(taskId);\n    return { ok: true, value: taskId };",
      mistake: "    return { ok: true, value: taskId };",
    },
    "a server forgets what was changed": {
      code: "...(patch === undefined ? {} : { patch }),",
      mistake: "",
    },
  },
  "src/services/fleet/worker.ts": {
    "a claim whose answer was lost is not recognised": {
      code: "return newest?.entry.nonce === nonce ? newest.at : undefined;",
      mistake: "return undefined;",
    },
    "a run is begun as often as it is enqueued": {
      code: "if (!found.isStopRequested && found.claims.length < job.attempts) return claim(job, found);",
      mistake: "if (found.claims.length < 100) return claim(job, found);",
    },
    "a run is claimed whatever stands in its log": {
      code: "const written = await broker.append(job, entry, found.last);",
      mistake: "const written = await broker.append(job, entry, undefined);",
      also: {
        code: 'if (held.is !== "held") return giveBack(broker.leaseMs / 2);',
        mistake: "",
      },
    },
    "a server that starts again looks after none of the runs that it had": {
      code: "if (!runs.has(taskId)) takeOver(taskId, run);",
      mistake: "",
    },
    "a run that was asked to stop is claimed by the next server": {
      code: "if (!found.isStopRequested && found.claims.length < job.attempts) return claim(job, found);",
      mistake: "if (found.claims.length < job.attempts) return claim(job, found);",
    },
    "a server that may not claim a run keeps its lease": {
      code: '    if (claimed === undefined || claimed === "ended") {\n      await lease.release();',
      mistake: '    if (claimed === undefined || claimed === "ended") {',
    },
    "a permit is not given back where there was no job": {
      code: "      await permit?.release();\n      return false;\n    }\n    taking += 1;",
      mistake: "      return false;\n    }\n    taking += 1;",
    },
    "a slot stays taken when its run is begun": {
      code: "      taking -= 1;\n      if (!isTrue) lookForJobs();",
      mistake: "      if (isTrue) return;\n      taking -= 1;\n      lookForJobs();",
    },
    "a server that starts again renews no permit": {
      code: "const permit = run.permit && heldLease(broker, run.permit.name, run.permit.holder, 0);",
      mistake: "const permit = undefined;",
    },
    "a server that is to take no more jobs takes them": {
      code: "isDrained = read.drained.includes(server.id) || read.drained.includes(server.label);",
      mistake: "isDrained = false;",
    },
    "a server knows no limit that was set for the fleet": {
      code: "    limits = read.limits;\n",
      mistake: "",
    },
    "a server takes jobs before it has its own runs in hand": {
      code: "while (isReady && wanted.size > 0",
      mistake: "while (wanted.size > 0",
    },
  },
  "src/services/fleet/broker.ts": {
    "a lease that has lapsed is not taken up again": {
      code: "const again = await acquire(now.lease?.seq ?? 0);",
      mistake: 'const again: string = "held";',
    },
    "a server that renews a lease does not know its new place": {
      code: 'if (held.is === "held") seq = held.seq;',
      mistake: "",
    },
    "a limit is as high as there are names of permits": {
      code: "permitName(key, (first + step) % limit)",
      mistake: "permitName(key, first + step)",
    },
  },
  "src/machines/task/fleet-transitions.ts": {
    "a claim that is written anew counts as another attempt": {
      code: "claim: replaces ?? claim, server };",
      mistake: "claim, server };",
    },
  },
  "src/machines/task/fleet-states.ts": {
    "a claim that is heard while the job is taken back is ignored": {
      code: '          entry: ["beginWait", closeRun, { type: "setDeadline", params: TASK_LIMITS.closeAgainAfter }],\n          on: {\n',
      mistake:
        '          entry: ["beginWait", closeRun, { type: "setDeadline", params: TASK_LIMITS.closeAgainAfter }],\n          on: {\n            REMOTE_CLAIMED: {},\n',
    },
  },
};

/** The mistakes that `npm run chaos -- --fleet --planted` plants, one at a time. */
export const fleetMistakes: readonly PlantedMistake[] = Object.entries(BY_FILE).flatMap(([file, mistakes]) =>
  Object.entries(mistakes).map(([name, { also, ...mistake }]) => ({
    ...{ name, file, ...mistake },
    ...(also ? { also: { file, ...also } } : {}),
  })),
);
