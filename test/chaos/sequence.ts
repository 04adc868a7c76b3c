import type { HostEvent, MessageInfo } from "../../src/machines/host-events.ts";
import type { Prompt } from "../../src/machines/task/events.ts";
import type { CallFault, HostCall } from "./calls.ts";
import type { EventFault } from "./event-stream.ts";

/** A line of the diagram: a message with its arrow, or a note over a lifeline. */
type Line = { from: string; to: string; words: string; arrow: Arrow } | { over: string; words: string };

/** Kind of message: `call`, its `answer`, an `event`, or `lost` for one that does not arrive. */
type Way = "call" | "answer" | "event" | "lost";
type Arrow = "->>" | "-->>" | "-)" | "-x";

const ARROWS: Record<Way, Arrow> = { call: "->>", answer: "-->>", event: "-)", lost: "-x" };

/** Maximum characters of a message. */
const LONGEST = 90;

/** Records what happened, for a Mermaid sequence diagram. */
export interface Sequence {
  say(from: string, way: Way, to: string, words: string): void;
  note(over: string, words: string): void;
  /** The same diagram for the process with this number: its engine and its host have lifelines of their own. */
  of(place: number): Sequence;
  /** Returns the diagram's source. `kinds` gives the kind of a participant, such as `task`. */
  diagram(kinds: (participant: string) => string): string;
}

/** Replaces `;` and `#`, which Mermaid reads as the end of a statement and as an entity. */
const plain = (words: string): string => {
  const line = words.replace(/[;#]/g, ",").replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
};

const drawn = (line: Line): string =>
  "over" in line
    ? `  note over ${line.over}: ${plain(line.words)}`
    : `  ${line.from}${line.arrow}${line.to}: ${plain(line.words)}`;

/** Merges equal lines that follow each other. */
const folded = (lines: string[]): string[] => {
  const runs: { line: string; times: number }[] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last?.line === line) last.times += 1;
    else runs.push({ line, times: 1 });
  }
  return runs.map(({ line, times }) => (times > 1 ? `${line} (${times} times)` : line));
};

export const createSequence = (): Sequence => {
  const lines: Line[] = [];
  const sequence: Sequence = {
    say: (from, way, to, words) => void lines.push({ from, to, words, arrow: ARROWS[way] }),
    note: (over, words) => void lines.push({ over, words }),
    of: (place) => {
      if (place === 0) return sequence;
      const own = (names: string) => names.replace(/\b(engine|host)\b/g, `$1${place + 1}`);
      return {
        ...sequence,
        say: (from, way, to, words) => sequence.say(own(from), way, own(to), words),
        note: (over, words) => sequence.note(own(over), words),
      };
    },
    diagram: (kindOf) => {
      const participants = new Set(
        lines.flatMap((line) => ("over" in line ? line.over.split(",") : [line.from, line.to])),
      );
      return [
        "sequenceDiagram",
        ...[...participants].map((name) => `  participant ${name} as ${kindOf(name)}`),
        ...folded(lines.map(drawn)),
      ].join("\n");
    },
  };
  return sequence;
};

/** Calls that are so frequent that the diagram leaves them out. */
const ROUTINE: ReadonlySet<string> = new Set<HostCall>(["busy", "toast", "agents"]);

/** True for a call that the diagram leaves out. */
export const isRoutine = (name: HostCall): boolean => ROUTINE.has(name);

const messageWords = ({ role, id, finish, error }: MessageInfo): string =>
  [role, "message", id, error?.name ?? finish ?? ""].filter(Boolean).join(" ");

const whatWords = (event: HostEvent): string => {
  switch (event.type) {
    case "message":
      return messageWords(event.message);
    case "toolCall":
      return `tool call ${event.callID} ${event.stage}`;
    case "error":
      return event.error.name;
    default:
      return event.type;
  }
};

const wireWords = (fault: EventFault): string => ("by" in fault ? `${fault.is} by ${fault.by} ms` : fault.is);

/** Describes an event of the host, and the fault applied to it. */
export const eventLabel = (event: HostEvent, fault?: EventFault): string =>
  `${whatWords(event)} in ${event.sessionID}${fault ? ` (${wireWords(fault)})` : ""}`;

const faultWords = ({ is, ms }: CallFault): string => (is.startsWith("late") ? `${is} by ${ms} ms` : is);

/** Describes a call to the host, and the fault applied to it. */
export const callLabel = (name: HostCall, [first]: unknown[], fault?: CallFault): string => {
  const { sessionID, messageID } = (typeof first === "object" ? first : {}) as Partial<Prompt>;
  const whom = name === "prompt" ? `${sessionID} with ${messageID}` : typeof first === "string" ? first : "";
  return `${name} ${whom}${fault ? ` (${faultWords(fault)})` : ""}`;
};
