import { expect, test } from "vitest";
import { machineClass, measuredOn } from "../../bench/machine.ts";

test("a machine is told by its cores alone", () => {
  expect(machineClass(2)).toBe("2 cores");
  expect(machineClass(1)).toBe("1 core");
});

test("a measurement is told by its day, and by what else the machine did", () => {
  expect(measuredOn(new Date("2026-01-02T23:00:00Z"), 2.34)).toMatch(/^2026-01-02, \d+ cores?, load 2\.3$/);
});
