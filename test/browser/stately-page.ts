import { createBrowserReceiver, type StatelyInspectionEvent } from "@statelyai/inspect";

/** Stands for Stately's own page, which is not to be had here: it receives by means of the same package. */
const received: StatelyInspectionEvent[] = [];
Object.assign(globalThis, { received });
createBrowserReceiver().subscribe((event) => void received.push(event));
