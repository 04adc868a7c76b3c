import type { StatelyMessages } from "../../src/services/inspection/protocol.ts";
import { ownServerIsBack } from "../own-server.ts";

/** The origin of Stately's inspector: messages go to it, and are accepted from it, alone. */
const STATELY = "https://stately.ai";

/** The message by which that page says that it is ready. */
const READY = "@statelyai.connected";

/** The newest messages are kept for Stately's page, which may not be ready yet or reload. */
const MAX_MESSAGES = 5_000;

const status = document.querySelector("p");
const frame = document.querySelector("iframe");
let messages: StatelyMessages["messages"] = [];
let isReady = false;

const showStatus = (text: string) => {
  if (status) status.textContent = text;
};

const forward = (some: StatelyMessages["messages"]) => {
  for (const message of some) frame?.contentWindow?.postMessage(message, STATELY);
};

addEventListener("message", ({ origin, source, data }) => {
  if (origin !== STATELY || source !== frame?.contentWindow || data?.type !== READY) return;
  isReady = true;
  showStatus("Stately's page is connected. It receives states and the names of events, and no text of conversations.");
  forward(messages);
});

const read = ({ data }: MessageEvent<string>): StatelyMessages["messages"] =>
  (JSON.parse(data) as StatelyMessages).messages;

showStatus(`Waiting for ${STATELY}, which needs the internet.`);
let hasBegun = false;

/** Reads the events, and reconnects whenever the connection is lost, once the page's server has proven to be there again. */
const connect = () => {
  const events = new EventSource(`${location.pathname}/events`);
  events.addEventListener("begin", (event) => {
    // Stately's page cannot be reset: after a lost connection, everything is loaded again.
    if (hasBegun) return location.reload();
    hasBegun = true;
    messages = read(event);
    if (isReady) forward(messages);
  });
  events.addEventListener("more", (event) => {
    const some = read(event);
    messages = [...messages, ...some].slice(-MAX_MESSAGES);
    if (isReady) forward(some);
  });
  events.addEventListener("error", async () => {
    showStatus("The connection to OpenCode is lost.");
    events.close();
    await ownServerIsBack();
    connect();
  });
};
connect();
