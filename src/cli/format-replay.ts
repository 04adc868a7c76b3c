import { statePath } from "../machines/chart.ts";
import type { LaunchStep } from "../machines/launch/replay.ts";
import type { TaskEffect, TaskEvent } from "../machines/task/events.ts";
import type { StoredSnapshot } from "../machines/task/machine.ts";
import type { Replay, ReplayStep } from "../machines/task/replay.ts";
import type { Receipt } from "../receipt.ts";
import { wrap } from "../services/platform/columns.ts";
import { toSingleLine, truncate, truncateStart } from "../services/platform/plain-text.ts";
import { type Difference, snapshotDifferences } from "../services/replay/differences.ts";
import { duration } from "../services/text/amounts.ts";
import { receiptSummary } from "../services/text/result-text.ts";
import { clockTime, count, date, type Style, type Terminal } from "./terminal.ts";

/** A line of a step: what it says of the step, after a label. */
interface Row {
  label: string;
  text: string;
  style?: Style;
}

/** Columns from which on there is room for the time that passed since the step before. */
const WIDE = 96;

/** How many characters of a text are shown. */
const SHOWN = 60;

const quoted = (text: string): string => {
  const whole = toSingleLine(text);
  const shown = truncate(whole, SHOWN);
  // Ids, names and the placeholders of texts that were left out are not quoted.
  return /^[\w.:-]+$|^‹.*›$/.test(whole) && shown === whole ? whole : `"${shown}${shown === whole ? "" : "…"}"`;
};

/** Formats the value of a field, as one line. `at`: the time of the event that it belongs to. */
export const shown = (field: string, value: unknown, at: number): string => {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number" && (field.endsWith("At") || field === "since")) return clockTime(value);
  if (typeof value !== "object" || value === null) return String(value);
  // The whole of it is shown by `opencode-taskchart receipt`.
  if (field === "receipt") return receiptSummary(value as Receipt);
  return fieldsOf(value, at)
    .map(([inner, part]) => shown(inner, part, at))
    .join(" ");
};

/** The fields worth showing: not the time of the event, nor an id that comes with a better known one. */
export const fieldsOf = (value: object, at: number): [string, unknown][] =>
  Object.entries(value).filter(([field, part]) => part !== at && field !== "type" && field !== "partID");

/** The fields of an event in addition to its name and its time, as text. */
const payloadOf = (event: TaskEvent): string =>
  fieldsOf(event, event.at)
    .map(([field, value]) => `${toSingleLine(field)} ${shown(field, value, event.at)}`)
    .join(", ");

type Describe<Type extends TaskEffect["type"]> = (effect: Extract<TaskEffect, { type: Type }>) => string;

const EFFECTS: { [Type in TaskEffect["type"]]: Describe<Type> } = {
  requestSlot: () => "ask for a slot",
  sendPrompt: ({ prompt }) => `prompt ${prompt.messageID}`,
  sendSteering: ({ instruction }) => `instruction ${instruction.messageID}`,
  checkRun: ({ checkId }) => `check ${checkId}`,
  changeModel: ({ model }) => `go on with ${model.providerID}/${model.modelID}`,
  endTurn: () => "end the turn",
  completeReceipt: ({ run }) => `complete the receipt of run ${run}`,
  runGate: ({ gateRun }) => `run the gate, run ${gateRun}`,
  runGateBefore: () => "run the gate before the agent begins",
  stopGate: () => "end the gate",
  writeReceipt: ({ run }) => `write the receipt of run ${run}`,
  stopSession: ({ requests }) => ["stop", ...requests.map(({ id }) => `reject ${id}`)].join(", "),
  enqueueJob: ({ run }) => `offer run ${run} to the fleet`,
  readRun: ({ run }) => `read what became of run ${run} in the fleet`,
  requestRemoteStop: ({ run }) => `ask the server to stop run ${run}`,
  closeRun: ({ run }) => `close run ${run} in the fleet`,
  reportEnd: ({ parentTaskId }) => `notify ${parentTaskId} of the end`,
  beginNextRun: ({ next }) => `begin the next run, ${next.begins === "RETRY" ? "a retry" : "a resume"}`,
  queueNotice: ({ end }) => `queue the notice of run ${end.run}, ${end.outcome}`,
  withdrawNotice: ({ run }) => `withdraw the notice of run ${run}`,
};

/** Describes what an effect does. */
export const describeEffect = (effect: TaskEffect): string =>
  (EFFECTS[effect.type] as (of: TaskEffect) => string)(effect);

/** Says from which state of a region a step led to which, each without the states around both. */
const movement = (from: string, to: string): string => {
  const [was, is] = [from.split("."), to.split(".")];
  const shared = was.findIndex((name, depth) => name !== is[depth]);
  // The arrow stays on the line of the state that it leads to.
  return `${was.slice(shared).join(".")} →\u00a0${is.slice(shared).join(".")}`;
};

/** Returns what a step led to, line by line. */
export const stepRows = ({ event, from, to, raised, effects, changed, refused }: ReplayStep): Row[] => {
  const payload = payloadOf(event);
  const given: Row[] = payload === "" ? [] : [{ label: "with", text: payload, style: "gray" }];
  if (refused !== undefined)
    return [{ label: "refused", text: `task ${toSingleLine(refused)}`, style: "red" }, ...given];
  const moved = (region: keyof typeof to): Row[] =>
    from[region] === to[region] ? [] : [{ label: region, text: movement(from[region], to[region]) }];
  const moves = [
    ...moved("lifecycle"),
    ...moved("run"),
    ...raised.map((inner) => ({ label: "raises", text: [inner.type, payloadOf(inner)].filter(Boolean).join(", ") })),
    ...moved("steering"),
    ...moved("notice"),
    ...moved("nextRun"),
    ...moved("attention"),
    ...effects.map((effect) => ({ label: "effect", text: toSingleLine(describeEffect(effect)) })),
  ];
  const quiet: Row = { label: "changed", text: changed.join(", ") || "nothing new" };
  return [...given, ...(moves.length > 0 ? moves : [quiet])];
};

const LABEL = "lifecycle".length;

/**
 * Formats the steps of a journal as a table as wide as the screen: their numbers, when, which event, and what came of it.
 * @param from how many are left out at the beginning (none by default); the table is as wide as with them
 * @param to the number of the last one (default: that of the last step)
 */
export const formatSteps = (steps: readonly ReplayStep[], screen: Terminal, from = 0, to = steps.length): string[] => {
  const isWide = screen.columns >= WIDE;
  const gap = isWide ? "  " : " ";
  const widest = Math.max(...steps.map(({ event }) => event.type.length), 0);
  const dim = (text: string) => screen.style("gray", text);

  const digits = String(steps.length).length;

  const timeOf = ({ event: { at } }: ReplayStep, before: ReplayStep | undefined): string => {
    const passed = at - (before?.event.at ?? at);
    const pause = passed > 0 ? `+${duration(passed)}` : "";
    return isWide ? `${clockTime(at)}${pause.padStart(9)}` : clockTime(at);
  };

  const linesOf = (step: ReplayStep, index: number): string[] => {
    const before = steps[index - 1];
    const today = date(step.event.at);
    const isNewDay = before === undefined || date(before.event.at) !== today;
    const time = `${String(index + 1).padStart(digits)}${gap}${timeOf(step, before)}`;
    const indent = time.length + gap.length + widest + gap.length + LABEL + gap.length;
    const lines = stepRows(step).flatMap(({ label, text, style }) => {
      const paint = (line: string) => (style ? screen.style(style, line) : line);
      return wrap(text, screen.columns - indent).map((line, row) => ({
        label: dim((row === 0 ? label : "").padEnd(LABEL)),
        text: paint(line.replaceAll("\u00a0", " ")),
      }));
    });
    const head = `${dim(time)}${gap}${screen.style("bold", toSingleLine(step.event.type).padEnd(widest))}`;
    const blank = " ".repeat(time.length + gap.length + widest);
    return [
      ...(isNewDay ? [dim(today)] : []),
      ...lines.map(({ label, text }, row) => `${row === 0 ? head : blank}${gap}${label}${gap}${text}`),
    ];
  };

  return steps
    .slice(from, to)
    .flatMap((step, place) => [
      ...((step.event.type === "RESUME" || step.event.type === "RETRY") && step.refused === undefined ? [""] : []),
      ...linesOf(step, from + place),
    ]);
};

/** Formats the launch of a task, which its own journal does not have: a line for each event, with the state that it led to. */
export const formatLaunch = (steps: readonly LaunchStep[], screen: Terminal): string[] => {
  const widest = Math.max(...steps.map(({ event }) => event.type.length), 0);
  return [
    screen.style("bold", "The launch"),
    ...steps.map(({ event, to }) => {
      const line = `${clockTime(event.at)}  ${toSingleLine(event.type).padEnd(widest)}  ${to}`;
      return truncate(line, screen.columns);
    }),
  ];
};

/** Characters of each value that are shown. */
const SHOWN_CHARS = 70;

/** Characters that are shown before the first difference within a long value. */
const LEAD_CHARS = 20;

const text = (value: unknown): string => (value === undefined ? "nothing" : toSingleLine(JSON.stringify(value)));

/** Writes both values; long ones from shortly before the first difference. */
const formatValues = ({ journal, stored }: Difference): [string, string] => {
  const [one, other] = [text(journal), text(stored)];
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const start = one.length <= SHOWN_CHARS && other.length <= SHOWN_CHARS ? 0 : Math.max(0, same - LEAD_CHARS);
  const shown = (whole: string) => {
    const rest = truncateStart(whole, start);
    return `${start > 0 ? "…" : ""}${truncate(rest, SHOWN_CHARS)}${rest.length > SHOWN_CHARS ? "…" : ""}`;
  };
  return [shown(one), shown(other)];
};

/** Compares a replay with the stored snapshot. A refused event is a difference too: a journal holds accepted events only. */
export const compareReplay = ({ steps, snapshot }: Replay, stored: StoredSnapshot, terminal: Terminal) => {
  const found = snapshotDifferences(snapshot, stored);
  const refused = steps.filter((step) => step.refused !== undefined).length;
  const regions = Object.entries(stored.value).map(([region, value]) => `${region} ${statePath(value)}`);
  if (found.length === 0 && refused === 0) {
    const words = `The journal replays to the stored snapshot: ${count(steps.length, "event")}, ${regions.join(", ")}.`;
    return {
      isSame: true,
      lines: wrap(toSingleLine(words), terminal.columns).map((line) => terminal.style("green", line)),
    };
  }
  const all = [
    ...(refused > 0 ? [`${count(refused, "event")} refused, see above`] : []),
    ...(found.length > 0 ? [count(found.length, "difference")] : []),
  ];
  return {
    isSame: false,
    lines: [
      terminal.style("red", `The journal does not replay to the stored snapshot: ${all.join("; ")}.`),
      ...found.flatMap((difference) => {
        const [journal, kept] = formatValues(difference);
        return [
          `  ${toSingleLine(difference.path)}`,
          `    ${terminal.style("gray", "journal")}  ${journal}`,
          `    ${terminal.style("gray", "stored ")}  ${kept}`,
        ];
      }),
    ],
  };
};
