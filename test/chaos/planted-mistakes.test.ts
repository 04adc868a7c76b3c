import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fleetMistakes } from "./fleet/planted-mistakes.ts";
import { plantedMistakes, replacementsOf } from "./planted-mistakes.ts";

const rootOf = (file: string): URL => new URL(`../../${file}`, import.meta.url);

const mistakes = [...plantedMistakes, ...fleetMistakes];

const places = mistakes.flatMap((mistake) =>
  replacementsOf(mistake).map((replacement) => ({ ...replacement, name: mistake.name })),
);

test.each(places)("the code is there in which is planted: $name ($file)", ({ file, code, mistake }) => {
  const source = readFileSync(rootOf(file), "utf8");
  expect(source.split(code), "a changed file needs its planted mistake changed, too").toHaveLength(2);
  expect(mistake).not.toBe(code);
});

test("each planted mistake has a name of its own", () => {
  const names = mistakes.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
