import type { AnyEventObject, AnyMachineSnapshot, AnyStateMachine, InspectionEvent } from "xstate";
import { createStage, PARENT } from "../../test/fakes/stage.ts";

/** One event that a chart took in the plain run, whether it changed its state or not. */
export interface Step {
  event: AnyEventObject;
  /** Undefined for the first step, which is the chart's beginning. */
  before: AnyMachineSnapshot | undefined;
  after: AnyMachineSnapshot;
}

/** The steps of each chart in the plain run, by the chart's name: that of its machine. */
export type PlainRun = Record<string, Step[]>;

/** A recorder of what the actors of the charts do. Of several actors of a chart, the first one is recorded. */
export const createStepRecorder = () => {
  const steps: PlainRun = {};
  const actors: Record<string, string> = {};
  return {
    steps,
    inspect: (observation: InspectionEvent): void => {
      if (observation.type !== "@xstate.snapshot") return;
      const { actorRef } = observation;
      // The id of an actor that is over differs from run to run.
      const type = observation.event.type.replace(/^(xstate\.(?:done|error)\.actor)\..*/, "$1.one");
      const event = { ...observation.event, type };
      const after = observation.snapshot as AnyMachineSnapshot;
      const { id: chart } = after.machine as AnyStateMachine;
      actors[chart] ??= actorRef.sessionId;
      if (actors[chart] !== actorRef.sessionId || after.status === "stopped") return;
      const before = steps[chart]?.at(-1)?.after;
      if (!before || before.can(event)) steps[chart] = [...(steps[chart] ?? []), { event, before, after }];
    },
  };
};

/**
 * Plays the plain run on the whole plugin with a fake OpenCode: an agent launches a task and ends its turn, the task is
 * answered, its notice is read, and OpenCode is closed.
 */
export const playPlainRun = async (): Promise<PlainRun> => {
  const { inspect, steps } = createStepRecorder();
  const stage = createStage({ inspect });
  const taskId = await stage.launch();
  await stage.rest();
  await stage.finish(taskId, "12");
  await stage.finish(PARENT, "Thanks.");
  stage.engine.stop();
  return steps;
};
