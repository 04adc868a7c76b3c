import type { StatelyInspectionEvent } from "@statelyai/inspect";

/** What Stately's page is sent, in its own words. */
export interface StatelyMessages {
  /** Number of the newest message. */
  upTo: number;
  messages: StatelyInspectionEvent[];
}
