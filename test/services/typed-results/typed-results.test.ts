import { describe, expect, test } from "vitest";
import * as jsonSchemas from "../../../src/services/typed-results/json-schema.ts";
import { createTypedResults } from "../../../src/services/typed-results/typed-results.ts";
import type { ResultSchema } from "../../../src/task.ts";

const FILES: ResultSchema = {
  type: "object",
  required: ["files"],
  properties: {
    files: { type: "array", items: { type: "string" } },
    kind: { enum: ["a", "b"] },
    version: { const: 2 },
  },
  additionalProperties: false,
};

const create = (agents: Record<string, ResultSchema> = {}) => createTypedResults({ agents }, async () => jsonSchemas);

describe("the JSON of an answer is", () => {
  const json = '{ "files": ["a.ts"] }';
  test.each([
    ["all of it", json],
    ["all of it but empty space", `\n ${json}\n\n`],
    ["a block of code", `Here you are:\n\`\`\`json\n${json}\n\`\`\`\nAnything else?`],
    ["a block of code without a language", `\`\`\`\n${json}\n\`\`\``],
    ["a block after another one", `\`\`\`ts\nconst a = 1;\n\`\`\`\nHere:\n\`\`\`json\n${json}\n\`\`\``],
    ["a block after an empty one", `\`\`\`\n\`\`\`\n\`\`\`json\n${json}\n\`\`\``],
    ["a block in a list, with a longer fence", `- so:\n  \`\`\`\`json\n  ${json}\n  \`\`\`\``],
    ["a block whose end is missing", `\`\`\`json\n{}\n\`\`\`\nOr:\n\`\`\`json\n${json}`],
    ["the last block that is JSON", `\`\`\`json\n{}\n\`\`\`\n\`\`\`JSON\n${json}\n\`\`\`\n\`\`\`\nls -l\n\`\`\``],
  ])("%s", async (_, answer) => {
    expect(await create().read(FILES, answer)).toEqual({ json });
  });

  test("as it is written: numbers keep all their digits", async () => {
    expect(await create().read({}, "[12345678901234567890, 1.0]")).toEqual({ json: "[12345678901234567890, 1.0]" });
  });
});

describe("an answer does not fit", () => {
  test.each([
    ["that is empty", " ", ["it is empty"]],
    ["without JSON", "I found two files: a.ts and b.ts.", ["it is not JSON"]],
    ["with broken JSON", '{"files": [}', ["it is not JSON"]],
    [
      "that was cut in a block after one that is whole",
      '```json\n{ "files": [] }\n```\nOr:\n```json\n{ "files": ["a',
      ["it is not JSON"],
    ],
    ["of another type", "[]", ["the value must be object"]],
    [
      "in several places",
      '{"files": ["a.ts", 7], "kind": "c", "version": 1, "more": true}',
      [
        'the value must not have the property "more"',
        "/files/1 must be string",
        '/kind must be one of ["a","b"]',
        "/version must be 2",
      ],
    ],
    ["that lacks something", "{}", ["the value must have required property 'files'"]],
  ])("%s", async (_, answer, misfits) => {
    expect(await create().read(FILES, answer)).toEqual({ misfits });
  });

  test("with a date that is none", async () => {
    expect(await create().read({ type: "string", format: "date" }, '"tomorrow"')).toEqual({
      misfits: ['the value must match format "date"'],
    });
  });
});

describe("a schema", () => {
  test("is that of the launch, or else the agent's, or none", async () => {
    const results = create({ explore: FILES });
    expect(await results.schemaFor("explore", { type: "array" })).toEqual({ ok: true, value: { type: "array" } });
    expect(await results.schemaFor("explore", undefined)).toEqual({ ok: true, value: FILES });
    expect(await results.schemaFor("general", undefined)).toEqual({ ok: true, value: undefined });
    expect(await results.schemaFor("toString", undefined)).toEqual({ ok: true, value: undefined });
  });

  test("that is empty is none: models send it for an argument that they leave out", async () => {
    expect(await create({ explore: FILES }).schemaFor("explore", {})).toEqual({ ok: true, value: FILES });
  });

  test("is read as the draft that it names", async () => {
    const tuple = { items: [{ type: "string" }] };
    expect(await create().schemaFor("explore", tuple)).toMatchObject({ ok: false });
    const older = { $schema: "http://json-schema.org/draft-07/schema#", ...tuple };
    expect(await create().schemaFor("explore", older)).toMatchObject({ ok: true });
    expect(await create().read(older, "[1]")).toEqual({ misfits: ["/0 must be string"] });
    const newest = { $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "string" }] };
    expect(await create().read(newest, "[1]")).toEqual({ misfits: ["/0 must be string"] });
  });

  test.each<[string, ResultSchema, RegExp]>([
    ["with a misspelt keyword", { typ: "object" }, /unknown keyword: \\"typ\\"/],
    ["with a type that is none", { type: "strng" }, /schema is invalid: data\/type/],
    ["that is checked later", { $async: true, type: "object" }, /\$async is not supported/],
    [
      "of a draft that is not known",
      { $schema: "http://json-schema.org/draft-04/schema#" },
      /no schema with key or ref/,
    ],
  ])("%s cannot be used, and the reason is said", async (_, schema, reason) => {
    const named = await create().schemaFor("explore", schema);
    expect(named).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
    const configured = await create({ explore: schema }).schemaFor("explore", undefined);
    expect(configured).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
    expect(configured).toMatchObject({ reason: expect.stringContaining("schema.agents has no usable JSON Schema") });
  });

  test.each<[string, ResultSchema, RegExp]>([
    ["lies elsewhere", { $ref: "http://127.0.0.1/x.json" }, /can't resolve reference/],
    ["never ends", { allOf: [{ $ref: "#" }] }, /Maximum call stack|too much recursion/],
  ])("of the options that %s cannot be used, and the reason is said", async (_, schema, reason) => {
    const configured = await create({ explore: schema }).schemaFor("explore", undefined);
    expect(configured).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  test("that a model wrote has no keyword that can take for ever, and is not larger than 20,000 characters", async () => {
    const pattern = { properties: { name: { type: "string", pattern: "^(a+)+$" } } };
    expect(await create().schemaFor("explore", pattern)).toEqual({
      ok: false,
      reason: 'The schema has the keyword "pattern", which only schemas in the options may have. Leave it out.',
      cause: undefined,
    });
    const doubling = { $defs: { a: { allOf: [{ $ref: "#/$defs/b" }, { $ref: "#/$defs/b" }] }, b: {} } };
    expect(await create().schemaFor("explore", doubling)).toMatchObject({ reason: expect.stringContaining('"$ref"') });
    const named = { properties: { pattern: { enum: [{ pattern: 1 }] } }, required: ["pattern"] };
    expect(await create().schemaFor("explore", named)).toEqual({ ok: true, value: named });
    expect(await create({ explore: pattern }).schemaFor("explore", undefined)).toMatchObject({ ok: true });
    const large = { description: "x".repeat(20_000) };
    expect(await create().schemaFor("explore", large)).toMatchObject({
      reason: "The schema has 20018 characters of JSON, and at most 20000 are taken.",
    });
  });
});
