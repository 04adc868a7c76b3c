import type { AnyEventObject } from "xstate";
import type { HostMessage } from "../../src/services/host/host.ts";
import type { InspectionEvent } from "../../src/services/runtime/actor-system.ts";
import { createDisk } from "../fakes/disk.ts";
import { createStage, type Stage } from "../fakes/stage.ts";
import { createVirtualClock, settled } from "../fakes/virtual-clock.ts";
import { answer, createScriptedHost, type ScriptedHost } from "./scripted-host.ts";
import { FIRST, PARENT, SECOND, type SupervisorSnapshot, type SupervisorStep } from "./supervisor-paths.ts";

/** Brings about in the engine what a supervisor's event stands for, and watches its supervisor. */
export interface SupervisorDriver {
  stage: Stage;
  drive(step: SupervisorStep): Promise<void>;
  /** The supervisor as it stands, in the ids of the paths. */
  standing(): { value: string; tasks: string[]; outboxes: string[] };
  /** The events that the supervisor got, each with the snapshot that it came in. */
  events: { before: SupervisorSnapshot; event: AnyEventObject }[];
  end(): void;
}

const ok = <T>(value: T) => ({ ok: true, value }) as const;

/** Longer than it takes until a process takes over what another one left behind. */
const ADOPTED = 60;

/** `leftBehind`: a process has ended with the second task answered, and its notice under way. */
export const createSupervisorDriver = async (leftBehind: boolean): Promise<SupervisorDriver> => {
  const disk = createDisk();
  const clock = createVirtualClock();
  const host: ScriptedHost = createScriptedHost(clock);
  const ids = new Map<string, string>();
  const events: SupervisorDriver["events"] = [];
  let newest: SupervisorSnapshot | undefined;

  /** Only the supervisor is a root. */
  const watch = (told: InspectionEvent) => {
    if (told.actorRef.sessionId !== told.rootId) return;
    if (told.type === "@xstate.event") {
      events.push({ before: told.actorRef.getSnapshot() as SupervisorSnapshot, event: told.event });
    }
    if (told.type === "@xstate.snapshot") newest = told.snapshot as unknown as SupervisorSnapshot;
  };
  const begin = (inspect?: typeof watch) =>
    createStage({ clock, host, openStore: disk.boot, ...(inspect ? { inspect } : {}) });
  const idOf = (name: string): string => ids.get(name) ?? name;

  const launch = async (stage: Stage, name: string) => {
    host.letRead(true);
    ids.set(name, await stage.launch());
    host.letRead(false);
    host.gates.open(`prompt ${idOf(name)}`, ok(undefined));
    await settled();
  };

  /** The child answers; its notice goes out, and waits to be taken up. */
  const answered = async (stage: Stage, name: string) => {
    const prompt = stage.store.get(idOf(name))?.snapshot.context.run.messageID ?? "";
    host.emit({ type: "idle", sessionID: idOf(name) });
    await settled();
    host.script([answer(prompt, { finish: "stop", text: "12" })]);
    host.gates.open("look", ok(new Set()));
    await settled();
  };

  const sent = async () => {
    host.gates.open("read", ok({ id: PARENT, agent: "build", model: undefined }));
    await settled();
  };

  const acknowledge = () => {
    const { text: _, ...seen }: HostMessage = answer(host.notice().messageID, { completedAt: undefined });
    host.emit({ type: "message", sessionID: PARENT, message: seen });
  };

  /** The first is told by a tool that waits for it: a notice would have to wait for that of the second. */
  const tellByTool = async () => {
    const args = { task_id: idOf(FIRST), block: true, timeout: 600_000 };
    const read = stage.call("output", args, { callID: "call_1" });
    await answered(stage, FIRST);
    await read;
    host.emit({ type: "toolCall", sessionID: PARENT, callID: "call_1", tool: "output", stage: "stored" });
  };

  if (leftBehind) {
    const before = begin();
    await launch(before, SECOND);
    await answered(before, SECOND);
    await sent();
    before.life.die();
    host.gates.clear();
    host.crash();
  }
  const stage = begin(watch);
  let isStopped = false;
  const stop = () => {
    if (!isStopped) stage.engine.stop();
    isStopped = true;
  };

  const act = async (step: SupervisorStep): Promise<void> => {
    switch (step.type) {
      case "LAUNCH":
        return launch(stage, FIRST);
      case "RESTORE":
        return clock.advance(ADOPTED);
      case "TASK":
        if (step.id === SECOND) return void (await stage.call("output", { task_id: idOf(SECOND) }));
        return void stage.call("cancel", { task_id: idOf(FIRST) }).catch(() => undefined);
      case "HOST":
        return host.emit({ ...step.event, sessionID: idOf(step.event.sessionID) });
      case "REAP_TASK":
        return step.id === FIRST ? tellByTool() : acknowledge();
      case "REAP_OUTBOX":
        // It goes in the step in which the last task does.
        return;
      case "CLOSE":
        return stop();
      default:
        // No adapter should ever say this: a request that is none.
        return host.emit({ type: "asked", sessionID: idOf(FIRST), request: undefined as never });
    }
  };

  return {
    stage,
    drive: async (step) => {
      await act(step);
      await settled();
      await settled();
    },
    standing: () => {
      const nameOf = (id: string) => [...ids].find(([, known]) => known === id)?.[0] ?? id;
      const { value, context } = newest ?? { value: "open", context: { tasks: [], outboxes: [] } };
      return {
        value: String(value),
        tasks: context.tasks.map(nameOf).sort(),
        outboxes: [...context.outboxes],
      };
    },
    events,
    end: () => {
      stop();
      disk.remove();
    },
  };
};
