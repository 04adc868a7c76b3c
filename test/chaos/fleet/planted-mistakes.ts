import type { PlantedMistake } from "../planted-mistakes.ts";

/** The mistakes that `npm run chaos -- --fleet --planted` plants, one at a time. */
export const fleetMistakes: readonly PlantedMistake[] = [
  {
    name: "a server that has lost a run goes on with it",
    file: "src/services/fleet/log-of-run.ts",
    code: "return log.ended !== undefined || (newest !== undefined && isNewer(newest, claim));",
    mistake: "return log.ended !== undefined;",
  },
  {
    name: "a server that hears of a newer claim goes on with its run",
    file: "src/services/fleet/attended-run.ts",
    code: 'if (isOutrun(found, claim)) return lose(found.ended ? "it is closed" : "another server has begun it");',
    mistake: "if (isOutrun(found, claim)) return;",
    also: {
      file: "src/services/fleet/attended-run.ts",
      code: 'if (held === "lost") return lose("another server has it");',
      mistake: 'if (held === "lost") return;',
    },
  },
  {
    name: "the home does not say that it has an end",
    file: "src/services/fleet/home.ts",
    code: "else await confirm(name, found);",
    mistake: "",
  },
  {
    name: "what is written of a run counts for the next one",
    file: "src/services/fleet/run-reports.ts",
    code: "snapshot.context.run.index === run && isInFleet(snapshot);",
    mistake: "isInFleet(snapshot);",
    also: {
      file: "src/machines/task/setup.ts",
      code: "return remote !== undefined && remote.attempts > 0 && isSameClaim",
      mistake: "return remote !== undefined && isSameClaim",
    },
  },
  {
    name: "a resume is ordered from any server",
    file: "src/services/fleet/home.ts",
    code: "...(remote && run > 0",
    mistake: "...(remote && run > 99",
  },
  {
    name: "a server goes on with a conversation before its last end is settled",
    file: "src/services/fleet/workplace.ts",
    code: "return snapshot !== undefined && !isAtRest(snapshot);",
    mistake: 'return snapshot === undefined && taskId === "";',
  },
  {
    name: "a server that starts again takes the run of a resumed task for its first",
    file: "src/services/fleet/workplace.ts",
    code: "run.index === 0 ? facts.order : run.order;",
    mistake: "run.index === 0 ? facts.order : facts.order;",
  },
  {
    name: "the hold of a run is not renewed",
    file: "src/services/fleet/attended-run.ts",
    code: "await Promise.all([hold.renew(), permit?.renew(), delivery?.renew()]);",
    mistake: 'await Promise.all(["kept", permit?.renew(), delivery?.renew()]);',
  },
  {
    name: "the permit of a run is not renewed",
    file: "src/services/fleet/attended-run.ts",
    code: "await Promise.all([hold.renew(), permit?.renew(), delivery?.renew()]);",
    mistake: "await Promise.all([hold.renew(), undefined, delivery?.renew()]);",
  },
  {
    name: "a home closes a run without a look whether a server has begun it",
    file: "src/services/fleet/home.ts",
    code: "if (!isToBeClosed(name)) return false;",
    mistake: "",
  },
  {
    name: "a permit is kept when its run has ended, and renewed",
    file: "src/services/fleet/attended-run.ts",
    code: "await Promise.all([hold.drop(), permit?.drop()]);",
    mistake:
      'await hold.drop(); repeat(clock, log, { every: bus.lease / 3, work: async () => void (await permit?.renew()), fault: "" });',
  },
  {
    name: "a claim whose answer was lost is not recognised",
    file: "src/services/fleet/worker.ts",
    code: "return newest?.entry.nonce === nonce ? newest.at : undefined;",
    mistake: "return undefined;",
  },
  {
    name: "an end whose answer was lost is not recognised",
    file: "src/services/fleet/attended-run.ts",
    code: "if (found?.ended?.nonce === nonce) return true;",
    mistake: "",
  },
  {
    name: "an end is written into a lost log without a claim",
    file: "src/services/fleet/attended-run.ts",
    code: "const isLost = claim !== undefined && newest === undefined;",
    mistake: "const isLost = false;",
  },
  {
    name: "a run is begun as often as it is ordered",
    file: "src/services/fleet/worker.ts",
    code: "if (!found.isRecalled && found.claims.length < order.attempts) return claim(order, found);",
    mistake: "if (found.claims.length < 100) return claim(order, found);",
  },
  {
    name: "a run is claimed whatever stands in its log",
    file: "src/services/fleet/worker.ts",
    code: "const written = await bus.append(order, entry, found.last);",
    mistake: "const written = await bus.append(order, entry, undefined);",
    also: {
      file: "src/services/fleet/worker.ts",
      code: 'if (held.is !== "held") return giveBack(bus.lease / 2);',
      mistake: "",
    },
  },
  {
    name: "an order that the engine has lost is not sent again",
    file: "src/services/fleet/home.ts",
    code: 'runtime.send(facts.sessionID, { type: "REMOTE_LOST", at: clock.now() });',
    mistake: "",
  },
  {
    name: "a server that is asked to stop goes on",
    file: "src/services/fleet/attended-run.ts",
    code: "if (found.isRecalled) workplace.cancel(taskId);",
    mistake: "",
  },
  {
    name: "an order stays in its queue when its run has ended",
    file: "src/services/fleet/attended-run.ts",
    code: "if (isWritten) await delivery?.done();",
    mistake: "",
    also: {
      file: "src/services/fleet/worker.ts",
      code: 'if (claimed === "ended") await delivery.done();',
      mistake: "",
    },
  },
  {
    name: "a server that starts again looks after none of the runs that it had",
    file: "src/services/fleet/worker.ts",
    code: "if (!runs.has(taskId)) takeOver(taskId, run);",
    mistake: "",
  },
];
