import type { HostEvent, MessageInfo } from "../../src/machines/host-events.ts";
import type { Prompt } from "../../src/machines/task/events.ts";
import type { CallFault, HostCall } from "./calls.ts";
import type { WireFault } from "./wire.ts";

/** Calls that are made all the time and say nothing. */
const ROUTINE: ReadonlySet<string> = new Set<HostCall>(["busy", "toast", "agents"]);

/** True for a call that is not worth a line. */
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

const wireWords = (fault: WireFault): string => ("by" in fault ? `${fault.is} by ${fault.by} ms` : fault.is);

/** An event of the host, and what became of it on its way. */
export const eventWords = (event: HostEvent, fault?: WireFault): string =>
  `${whatWords(event)} in ${event.sessionID}${fault ? ` (${wireWords(fault)})` : ""}`;

const faultWords = ({ is, ms }: CallFault): string => (is.startsWith("late") ? `${is} by ${ms} ms` : is);

/** A call to the host, and what became of it. */
export const callWords = (name: HostCall, [first]: unknown[], fault?: CallFault): string => {
  const { sessionID, messageID } = (typeof first === "object" ? first : {}) as Partial<Prompt>;
  const whom = name === "prompt" ? `${sessionID} with ${messageID}` : typeof first === "string" ? first : "";
  return `${name} ${whom}${fault ? ` (${faultWords(fault)})` : ""}`;
};
