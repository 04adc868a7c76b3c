import type { StatelyMessages } from "../../src/services/inspection/stately-protocol.ts";

/** Where Stately's page comes from: nobody else is sent anything, or heard. */
const STATELY = "https://stately.ai";

/** What that page says when it is ready to be sent messages. */
const READY = "@statelyai.connected";

/** Messages that are kept for a Stately's page that is not ready yet, or loads again: the newest. */
const KEPT = 5_000;

const status = document.querySelector("p");
const frame = document.querySelector("iframe");
let messages: StatelyMessages["messages"] = [];
let isReady = false;

const say = (words: string) => {
  if (status) status.textContent = words;
};

const pass = (some: StatelyMessages["messages"]) => {
  for (const message of some) frame?.contentWindow?.postMessage(message, STATELY);
};

addEventListener("message", ({ origin, source, data }) => {
  if (origin !== STATELY || source !== frame?.contentWindow || data?.type !== READY) return;
  isReady = true;
  say("Stately's page is connected. It is shown states and the names of events, nothing of what was said.");
  pass(messages);
});

const read = ({ data }: MessageEvent<string>): StatelyMessages["messages"] =>
  (JSON.parse(data) as StatelyMessages).messages;

say(`Waiting for ${STATELY}, which needs the internet.`);
const events = new EventSource(`${location.pathname}/events`);
let hasBegun = false;
events.addEventListener("begin", (event) => {
  // Stately's page cannot be told to forget: after a lost connection it begins anew.
  if (hasBegun) return location.reload();
  hasBegun = true;
  messages = read(event);
  if (isReady) pass(messages);
});
events.addEventListener("more", (event) => {
  const some = read(event);
  messages = [...messages, ...some].slice(-KEPT);
  if (isReady) pass(some);
});
events.addEventListener("error", () => say("The connection to OpenCode is lost."));
