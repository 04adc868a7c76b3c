import type { HostEvent, MessageInfo } from "../../src/machines/host-events.ts";
import type { Prompt } from "../../src/machines/task/events.ts";
import type { CallFault, HostCall } from "./calls.ts";
import type { EventFault } from "./event-stream.ts";

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
