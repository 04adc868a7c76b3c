import fc from "fast-check";
import { expect, test } from "vitest";
import { hasId, type SortedIds, withId, withoutId } from "../../../src/machines/supervisor/machine.ts";
import { seed } from "../../seed.ts";

const changes = fc.array(fc.record({ id: fc.string({ maxLength: 3 }), add: fc.boolean() }), { maxLength: 60 });

test("a list has the ids that were added and not removed again, each once and in order", () => {
  fc.assert(
    fc.property(changes, fc.string({ maxLength: 3 }), (list, other) => {
      const expected = new Set<string>();
      let ids: SortedIds = [];
      for (const { id, add } of list) {
        if (add) expected.add(id);
        else expected.delete(id);
        ids = add ? withId(ids, id) : withoutId(ids, id);
        expect(hasId(ids, id)).toBe(add);
      }
      expect(ids).toEqual([...expected].sort());
      expect(hasId(ids, other)).toBe(expected.has(other));
    }),
    { seed },
  );
});

test("a change leaves the list before it as it was, and one that changes nothing returns the very same list", () => {
  const before: SortedIds = Object.freeze(["a", "c"]);
  expect(withId(before, "b")).toEqual(["a", "b", "c"]);
  expect(withoutId(before, "a")).toEqual(["c"]);
  expect(withId(before, "c")).toBe(before);
  expect(withoutId(before, "b")).toBe(before);
});
