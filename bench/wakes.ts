import { startLab } from "../test/e2e/lab/lab.ts";
import type { ModelRequest } from "../test/e2e/lab/model-request.ts";
import { calls, hang, text } from "../test/e2e/lab/reply.ts";
import { childOf, inChild, launching, notified } from "../test/e2e/tasks-and-notices.ts";
import { type Figure, report } from "./figures.ts";

/**
 * What an agent pays to be woken by tasks that end one after the other, in the real host, with a provider that keeps what it
 * was sent for a while: as by default, and with the option `promptCache`. The provider counts what it had in its cache.
 */
const TASKS = 8;
/** Milliseconds from one end to the next. */
const APART_MS = 1_000;
/** Milliseconds for which the provider keeps what it was sent: longer than all tasks take, as minutes are for most. */
const CACHE_MS = 60_000;
/** Characters of the conversation before the launch: about 30,000 tokens. */
const CONVERSATION = "All that was said before, and is read again with each wake. ".repeat(2_000);
/** A provider's price of a token that was in its cache, beside one that was not. */
const CACHED_PRICE = 0.1;
const BYTES_PER_TOKEN = 4;

const plugin = new URL("..", import.meta.url).href;

interface Paid {
  requests: number;
  cached: number;
  uncached: number;
}

/** What the provider counts: the messages that it was sent within `CACHE_MS` are in its cache, up to the first that differs. */
const paidFor = (requests: readonly ModelRequest[], before: ModelRequest): Paid => {
  const paid: Paid = { requests: requests.length, cached: 0, uncached: 0 };
  let last = before;
  for (const request of requests) {
    const texts = request.messages.map((message) => JSON.stringify(message));
    const known = last.messages.map((message) => JSON.stringify(message));
    const isKept = request.at - last.at < CACHE_MS;
    const same = isKept ? texts.findIndex((message, place) => message !== known[place]) : 0;
    const tokens = (some: string[]) => some.join("").length / BYTES_PER_TOKEN;
    const sharedUpTo = same < 0 ? texts.length : same;
    paid.cached += tokens(texts.slice(0, sharedUpTo));
    paid.uncached += tokens(texts.slice(sharedUpTo));
    last = request;
  }
  return paid;
};

const measure = async (options: Record<string, unknown>): Promise<Paid> => {
  // The scripted model's window is smaller than the conversation: without this, OpenCode would sum it up.
  const lab = await startLab({ plugin: [plugin, options], config: { compaction: { auto: false } } });
  try {
    const parent = await lab.session();
    await lab.ask(parent, CONVERSATION);
    const prompts = Array.from({ length: TASKS }, (_, place) => `look for ${place}`);
    const held = prompts.map((prompt) => {
      const reply = hang();
      lab.model.when(inChild(prompt), reply);
      return reply;
    });
    lab.model.when("launch them", [calls(prompts.map((prompt) => launching(prompt))), text("launched")]);
    await lab.ask(parent, "launch them");
    const tasks = await Promise.all(prompts.map((prompt) => childOf(lab, prompt)));
    const ofParent = () => lab.model.requests.filter(({ sessionID }) => sessionID === parent);
    const before = ofParent();
    for (const [place, reply] of held.entries()) {
      await new Promise((resolve) => setTimeout(resolve, APART_MS));
      reply.release(text(`found ${place}`));
    }
    await notified(lab, parent, tasks);
    await lab.idle(parent);
    const last = before.at(-1);
    if (!last) throw new Error("the agent that launched the tasks made no request");
    return paidFor(ofParent().slice(before.length), last);
  } finally {
    await lab.stop();
  }
};

const priceOf = ({ cached, uncached }: Paid): number => cached * CACHED_PRICE + uncached;

const each = await measure({});
const gathered = await measure({ promptCache: CACHE_MS });
const figuresOf = (what: string, paid: Paid): Figure[] => [
  { what: `${what}: requests`, value: paid.requests, unit: "" },
  { what: `${what}: tokens from the cache`, value: paid.cached, unit: "" },
  { what: `${what}: tokens beside it`, value: paid.uncached, unit: "" },
];
report([
  ...figuresOf(`${TASKS} ends, each wakes`, each),
  ...figuresOf(`${TASKS} ends, gathered while cached`, gathered),
  {
    what: "price of what is gathered",
    value: priceOf(gathered) / priceOf(each),
    unit: "x",
    // One wake in place of eight, whose conversation is by far the most of it.
    atMost: 0.4,
    compared: { own: priceOf(gathered), other: priceOf(each), unit: "", with: "each end waking" },
  },
]);
