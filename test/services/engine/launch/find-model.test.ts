import { describe, expect, test } from "vitest";
import { findModel, nearestNames } from "../../../../src/services/engine/launch/launch-plan.ts";

const of = (providerID: string, modelID: string, variants: string[] = []) => ({ providerID, modelID, variants });

const MODELS = [
  of("anthropic", "claude-opus-4-5", ["low", "high"]),
  of("anthropic", "claude-sonnet-4-5", ["low", "high"]),
  of("anthropic", "claude-haiku-4-5"),
  of("openai", "gpt-6"),
  of("openai", "gpt-6-mini"),
  of("openrouter", "anthropic/claude-opus-4.5"),
  of("fireworks", "accounts/x#prod"),
  of("fireworks", "accounts/x", ["prod", "thinking"]),
];

const reasonOf = (wanted: string, models = MODELS) => {
  const found = findModel(models, wanted);
  return found.ok ? undefined : found.reason;
};

describe("a model is found by its name", () => {
  test.each([
    ["openai/gpt-6", { providerID: "openai", modelID: "gpt-6" }],
    ["anthropic/claude-opus-4-5#high", { providerID: "anthropic", modelID: "claude-opus-4-5", variant: "high" }],
    ["openrouter/anthropic/claude-opus-4.5", { providerID: "openrouter", modelID: "anthropic/claude-opus-4.5" }],
    ["fireworks/accounts/x#prod", { providerID: "fireworks", modelID: "accounts/x#prod" }],
    ["fireworks/accounts/x#thinking", { providerID: "fireworks", modelID: "accounts/x", variant: "thinking" }],
  ])("%s", (wanted, value) => {
    expect(findModel(MODELS, wanted)).toEqual({ ok: true, value });
  });
});

describe("what is unknown is named, with the names that are most like it", () => {
  test.each([
    [
      "anthropic/claude-opus-45x",
      'Provider "anthropic" has no model "claude-opus-45x". Its models: anthropic/claude-opus-4-5, anthropic/claude-haiku-4-5, anthropic/claude-sonnet-4-5.',
    ],
    [
      "antropic/claude-haiku",
      /^OpenCode has no provider "antropic"\. The nearest models: anthropic\/claude-haiku-4-5, /,
    ],
    ["sonnet 4.5", /^"sonnet 4\.5" names no model: give .* The nearest models: anthropic\/claude-sonnet-4-5, /],
    ["/gpt-6", /^OpenCode has no provider ""\. The nearest models: openai\/gpt-6, /],
    [
      "anthropic/claude-opus-4-5#hihg",
      'Model "anthropic/claude-opus-4-5" has no variant "hihg". Its variants: high, low.',
    ],
    ["anthropic/claude-opus-4-5#", /has no variant ""\. Its variants: low, high\.$/],
    ["openai/gpt-6#high", 'Model "openai/gpt-6" has no variants: leave out "#high".'],
  ])("%s", (wanted, reason) => {
    expect(reasonOf(wanted)).toEqual(typeof reason === "string" ? reason : expect.stringMatching(reason));
  });

  test("of many models of a provider, only the nearest", () => {
    const many = Array.from({ length: 300 }, (_, index) => of("router", `vendor/model-${index}`));
    expect(reasonOf("router/vendor/modell-77", many)).toMatch(/The nearest models: router\/vendor\/model-77, /);
    expect(reasonOf("router/vendor/modell-77", many)?.length).toBeLessThan(250);
  });

  test("without any model", () => {
    expect(reasonOf("a/b", [])).toBe(
      'OpenCode has no provider "a". It has no models at all: connect a provider first.',
    );
  });
});

test("names are as near as they share neighbouring letters, whatever separates or orders their parts", () => {
  const names = ["google/gemini-3-pro", "openai/gpt-6", "openai/gpt-6-codex", "xai/grok-5"];
  expect(nearestNames("GPT6 codex", names, 2)).toEqual(["openai/gpt-6-codex", "openai/gpt-6"]);
  expect(nearestNames("pro gemini", names, 1)).toEqual(["google/gemini-3-pro"]);
  expect(nearestNames("", names, 9)).toEqual(names);
});
