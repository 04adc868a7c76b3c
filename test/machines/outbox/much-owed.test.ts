import { expect, test } from "vitest";
import { isMuch } from "../../../src/machines/outbox/setup.ts";
import { endOf } from "./driven-outbox.ts";

/** Ends with texts of so many characters; with `earlierText`, those of the answer before. */
const ends = (sizes: readonly number[], field: "result" | "earlierText" = "result") =>
  sizes.map((size, index) => endOf(`ses_${index}`, 0, { result: "", [field]: "x".repeat(size) }));

test("of more than 16,000 characters it is asked whether there is room for them; each end takes 700 beside its text", () => {
  expect(isMuch(ends([15_300]))).toBe(false);
  expect(isMuch(ends([15_301]))).toBe(true);
  expect(isMuch(ends([7_300, 7_300]))).toBe(false);
  expect(isMuch(ends([7_300, 7_301]))).toBe(true);
  expect(isMuch([])).toBe(false);
});

test("an end without an answer has the text that came before it, or none", () => {
  expect(isMuch(ends([15_300], "earlierText"))).toBe(false);
  expect(isMuch(ends([15_301], "earlierText"))).toBe(true);
  const textless = Array.from({ length: 21 }, (_, index) => endOf(`ses_${index}`, 0, { result: "" }));
  expect(isMuch([...textless, ...ends([600])])).toBe(false);
  expect(isMuch([...textless, ...ends([601])])).toBe(true);
});
