import { createBrowserReceiver, type StatelyInspectionEvent } from "@statelyai/inspect";

/** A substitute for Stately's own page, which tests cannot reach: it receives messages with the same package. */
const received: StatelyInspectionEvent[] = [];
Object.assign(globalThis, { received });
createBrowserReceiver().subscribe((event) => void received.push(event));
