import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { onTestFinished } from "vitest";
import { settled } from "./virtual-clock.ts";

// Node lends its collector only to those who ask for it by this flag, which may be set late.
setFlagsFromString("--expose-gc");
const collectGarbage: () => void = process.versions.bun
  ? () => (globalThis as { Bun?: { gc(force: boolean): void } }).Bun?.gc(true)
  : runInNewContext("gc");

/** The entries of all maps and sets that were made since the tracking began, but for these. */
type CountEntries = (but: ReadonlySet<unknown>) => Promise<number>;

/**
 * Tracks the maps and sets that are made from now on until the end of the test. Returns a function that counts the entries of
 * those that are still there: what grows with every run is a leak, however small.
 */
export const trackCollections = (): CountEntries => {
  const made: WeakRef<{ readonly size: number }>[] = [];
  const { Map: RealMap, Set: RealSet } = globalThis;
  globalThis.Map = class<K, V> extends RealMap<K, V> {
    constructor(entries?: Iterable<readonly [K, V]> | null) {
      super(entries);
      made.push(new WeakRef(this));
    }
  } as MapConstructor;
  globalThis.Set = class<T> extends RealSet<T> {
    constructor(values?: Iterable<T> | null) {
      super(values);
      made.push(new WeakRef(this));
    }
  } as SetConstructor;
  onTestFinished(() => {
    globalThis.Map = RealMap;
    globalThis.Set = RealSet;
  });
  return async (but) => {
    // What was referred to in this turn is kept until the next one.
    await settled();
    collectGarbage();
    return made.reduce((sum, reference) => {
      const collection = reference.deref();
      return collection === undefined || but.has(collection) ? sum : sum + collection.size;
    }, 0);
  };
};
