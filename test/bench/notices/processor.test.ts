import { describe, expect, test } from "vitest";
import { canReadCpu, cpuUse, processMs } from "../../../bench/notices/processor.ts";

describe("what a process has used of the processor", () => {
  test("is its user and its system time, in ticks of 10 ms", () => {
    const stat = "4711 (opencode) S 1 4711 4711 0 -1 4194560 7 8 9 10 250 50 11 12 20 0 30 0 1234";
    expect(processMs(stat)).toBe(3000);
  });

  test("is found behind a name with spaces and parentheses", () => {
    const stat = "4711 (a (very) odd name) S 1 4711 4711 0 -1 4194560 7 8 9 10 1 2 11 12 20 0 30 0 1234";
    expect(processMs(stat)).toBe(30);
  });

  test("is an error when the line is not one of the kernel's", () => {
    expect(() => processMs("4711 (short) S 1")).toThrow("not a line of /proc/<pid>/stat");
  });

  test.runIf(canReadCpu)("grows while this process computes", () => {
    const before = cpuUse(process.pid);
    while ((cpuUse(process.pid)?.mainThread ?? 0) < (before?.mainThread ?? 0) + 20);
    const after = cpuUse(process.pid);
    expect(after?.process).toBeGreaterThan(before?.process ?? 0);
  });
});
