import { PATIENCE_MS } from "../../patience.ts";
import { refuseEndedTest } from "./running-test.ts";

/** What has been seen so far, in order of arrival, and a way to wait for what has not been seen yet. */
export type Recording<Item> = {
  readonly all: readonly Item[];
  add(item: Item): void;
  /** Resolves when the next item is added. */
  next(): Promise<void>;
  /** The first item that matches, already recorded or still to come. Rejects after `timeoutMs` and lists what was seen. */
  waitFor(matches: (item: Item) => boolean, options?: WaitOptions<Item>): Promise<Item>;
};

export type WaitOptions<Item> = {
  /** Milliseconds until the wait is given up. Default: `PATIENCE_MS`. */
  timeoutMs?: number;
  /** Look only at what was recorded behind this item. Default: look at everything. */
  after?: Item;
  /** What is to be said when nothing comes, without the time. Default: "no matching …". */
  what?: string;
};

/** How many of the latest items an error lists: enough to see the story, few enough to read. */
const listed = 25;

/**
 * @param name what one item is called in the error of a wait that was given up, e.g. "model request"
 * @param inShort one line for one item in that error
 */
export function record<Item>(name: string, inShort: (item: Item) => string): Recording<Item> {
  const all: Item[] = [];
  const watchers = new Set<(item: Item) => void>();
  let next = Promise.withResolvers<void>();
  return {
    all,
    add(item) {
      all.push(item);
      for (const watcher of [...watchers]) watcher(item);
      next.resolve();
      next = Promise.withResolvers();
    },
    next: () => next.promise,
    waitFor(matches, { timeoutMs = PATIENCE_MS, after, what = `no matching ${name}` } = {}) {
      refuseEndedTest();
      const from = after === undefined ? 0 : all.indexOf(after) + 1;
      const known = all.slice(from).find(matches);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve, reject) => {
        const watcher = (item: Item): void => {
          if (!matches(item)) return;
          clearTimeout(timer);
          watchers.delete(watcher);
          resolve(item);
        };
        const timer = setTimeout(() => {
          watchers.delete(watcher);
          const seen = all.slice(-listed).map((item) => `\n  ${inShort(item)}`);
          reject(
            new Error(`${what} within ${timeoutMs} ms; of ${all.length} ${name}s the latest are:${seen.join("")}`),
          );
        }, timeoutMs);
        watchers.add(watcher);
      });
    },
  };
}

/** Milliseconds since the epoch, with the fraction that benchmarks need. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
