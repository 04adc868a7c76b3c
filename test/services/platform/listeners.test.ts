import { expect, test } from "vitest";
import { createListeners } from "../../../src/services/platform/listeners.ts";

test("every listener is called with the arguments, in order, until it is removed", () => {
  const calls: string[] = [];
  const listeners = createListeners<[name: string, count: number]>();
  const remove = listeners.add((name, count) => calls.push(`first ${name} ${count}`));
  listeners.add((name) => calls.push(`second ${name}`));
  listeners.notify("a", 1);
  remove();
  remove();
  listeners.notify("b", 2);
  expect(calls).toEqual(["first a 1", "second a", "second b"]);
});

test("a listener that is added or removed during a call does not disturb it", () => {
  const calls: string[] = [];
  const listeners = createListeners();
  const removeFirst = listeners.add(() => {
    calls.push("first");
    removeFirst();
    listeners.add(() => calls.push("added"));
  });
  listeners.add(() => calls.push("second"));
  listeners.notify();
  expect(calls).toEqual(["first", "second"]);
  listeners.notify();
  expect(calls).toEqual(["first", "second", "second", "added"]);
});

test("a listener's error is reported and the others are still called, or it is thrown", () => {
  const errors: unknown[] = [];
  const calls: string[] = [];
  const broken = new Error("broken");
  const reporting = createListeners<[name: string]>((error, name) => errors.push([error, name]));
  const throwing = createListeners<[name: string]>();
  for (const listeners of [reporting, throwing]) {
    listeners.add(() => {
      throw broken;
    });
    listeners.add((name) => calls.push(name));
  }
  reporting.notify("a");
  expect({ errors, calls }).toEqual({ errors: [[broken, "a"]], calls: ["a"] });
  expect(() => throwing.notify("b")).toThrow(broken);
});
