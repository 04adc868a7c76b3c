import type { InspectorMessage, InspectorStep } from "../../../src/services/inspection/protocol.ts";
import { createRecorder } from "../../../src/services/inspection/recorders.ts";
import { systemClock } from "../../../src/services/platform/clock.ts";
import { createStage, type Stage, type StageOptions } from "../../fakes/stage.ts";

/** The whole plugin on a fake host, with a recorder. */
export interface RecordedStage extends Stage {
  showing(): InspectorMessage;
  /** Each step as a line: `supervisor → ses_0001: SLOT_GRANTED, sending`. */
  lines(): string[];
}

/** Returns the short name of an actor: its id or its kind. */
const shortKey = (key: string | null): string => {
  const [, kind = "", id = ""] = key?.split(" ") ?? [];
  if (key === null) return "outside";
  return kind === "task" ? id : kind;
};

const line = ({ from, to, event, entered, taken }: InspectorStep): string => {
  const end = taken ? entered.map((state) => state.slice(state.lastIndexOf(".") + 1)).join(" ") : "ignored";
  return `${shortKey(from)} → ${shortKey(to)}: ${event}${end && `, ${end}`}`;
};

export const createRecordedStage = (options: StageOptions = {}): RecordedStage => {
  const recorder = createRecorder(systemClock);
  const { inspect } = recorder.record("/project");
  const stage = createStage({ ...options, inspect });
  return Object.assign(stage, {
    showing: () => recorder.since(0),
    lines: () => recorder.since(0).steps.map(line),
  });
};
