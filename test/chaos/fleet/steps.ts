/** What a server asks of the broker, each with its own fate: entries of a log apart by their type, and what is done with a job. */
export const BROKER_CALLS = [
  ...(["append claimed", "append asked", "append replied", "append ended"] as const),
  ...(["append stopRequested", "append received"] as const),
  ...(["read", "enqueue", "isQueued", "take", "renew", "done", "requeue"] as const),
  ...(["acquire", "holder", "release", "limits", "ask"] as const),
];
export type BrokerCall = (typeof BROKER_CALLS)[number];

/** What becomes of a call: it does not arrive, or its answer does not; it arrives late, or its answer does; it is refused. */
export const TROUBLES = ["lostThere", "lostBack", "lateThere", "lateBack", "refused"] as const;
export type Trouble = (typeof TROUBLES)[number];

/**
 * The server to which something happens: any; one whose own run is in the fleet; one that has a run of another one in hand; each
 * of those that work for others.
 */
export type Who = "any" | "origin" | "worker" | "workers";

interface OfServer {
  who: Who;
  server: number;
}

/**
 * One step of a schedule of a fleet. Numbers select among what is there at that moment: modulo its count, and from the end
 * where they are negative. Where nothing is, the step does nothing. Times are milliseconds.
 */
export type FleetStep =
  // Agents.
  | { do: "launch"; origin: number; agent: "explore" | "general" }
  | { do: "finish"; work: number }
  | { do: "fail"; work: number }
  /** It ends a step in which it has called a tool. */
  | { do: "callTool"; work: number }
  | { do: "ask"; work: number }
  // People.
  | { do: "answerAtOrigin"; task: number }
  | { do: "answerThere"; work: number }
  | { do: "cancel"; task: number }
  | { do: "resume"; task: number }
  | { do: "retry"; task: number }
  | { do: "limit"; model: string; most: number | null }
  /** A server is to take no more jobs, or is again. */
  | ({ do: "drain" } & OfServer)
  | { do: "undrain" }
  // Servers.
  | ({ do: "die" } & OfServer)
  /** It dies at one of its next calls. */
  | ({ do: "dieAfter"; calls: number } & OfServer)
  | { do: "restart"; server: number }
  | ({ do: "pause" } & OfServer)
  | { do: "wake" }
  /** It reaches the broker no more, and goes on. */
  | ({ do: "unplug" } & OfServer)
  | { do: "plug" }
  /** Its next calls of that name meet with trouble. */
  | ({ do: "strike"; call: BrokerCall; is: Trouble; times: number } & OfServer)
  /** For so long it hears no hint, and nobody hears those that it gives. */
  | ({ do: "deafen"; ms: number } & OfServer)
  /** From now on it takes so long to begin a run. */
  | { do: "beginSlowly"; ms: number }
  // The broker.
  | { do: "cutOff" }
  | { do: "bringBack" }
  | { do: "wipe" }
  /** Copies what the broker has; it is set back to the newest copy. */
  | { do: "copy" }
  | { do: "setBack" }
  | { do: "loseJobs" }
  | { do: "time"; ms: number };

/** The servers of a fleet, and what happens to them. */
export interface FleetSchedule {
  origins: number;
  /** How many runs each of the workers takes at once. */
  workers: readonly number[];
  /** True where those that launch work for the others as well. */
  originsWork: boolean;
  steps: FleetStep[];
}

export const LEASE = 60_000;

/** Returns what happens in a step, in words. */
export const wordsOf = ({ do: what, ...how }: FleetStep): string =>
  [what, ...Object.entries(how).map(([name, value]) => `${name} ${value}`)].join(", ");
