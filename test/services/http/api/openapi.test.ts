import { expect, test } from "vitest";
import { serve } from "../served.ts";

/** A part of the document, which is read as it comes. */
type Part = { [name: string]: unknown };

const isPart = (value: unknown): value is Part => typeof value === "object" && value !== null && !Array.isArray(value);

const partsOf = (value: unknown): [string, Part][] =>
  Object.entries(isPart(value) ? value : {}).filter((entry): entry is [string, Part] => isPart(entry[1]));

const openapi = async (): Promise<Part> => (await serve()).json("/v1/openapi.json");

const operationsOf = ({ paths }: Part): [string, Part][] =>
  partsOf(paths).flatMap(([path, methods]) =>
    partsOf(methods).map(([method, operation]): [string, Part] => [`${method} ${path}`, operation]),
  );

/** Every schema in the document with where it stands, however deep, and whether it is the schema of a field. */
function* schemasIn(value: unknown, where: string, isField = false): Generator<[string, Part, boolean]> {
  if (!isPart(value)) return;
  yield [where, value, isField];
  for (const [name, field] of partsOf(value.properties)) yield* schemasIn(field, `${where}.${name}`, true);
  yield* schemasIn(value.items, `${where}[]`);
  yield* schemasIn(value.additionalProperties, `${where}.*`);
  for (const part of [value.allOf, value.anyOf, value.oneOf].flat()) yield* schemasIn(part, where);
}

function* allSchemas(document: Part): Generator<[string, Part, boolean]> {
  const components = isPart(document.components) ? document.components : {};
  for (const [name, schema] of partsOf(components.schemas)) yield* schemasIn(schema, name);
  for (const [where, { parameters, requestBody, responses }] of operationsOf(document)) {
    for (const parameter of Array.isArray(parameters) ? (parameters as Part[]) : []) {
      yield* schemasIn(parameter.schema, `${where} ?${parameter.name}`);
    }
    for (const [status, { content }] of [...partsOf(responses), ...partsOf({ body: requestBody })]) {
      for (const [, { schema }] of partsOf(content)) yield* schemasIn(schema, `${where} ${status}`);
    }
  }
}

const says = (description: unknown): boolean => typeof description === "string" && /^[A-Z`].*\.$/s.test(description);

const FITS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  array: Array.isArray,
  object: isPart,
};

test("every operation has an id of its own and a summary, and describes each parameter and response in a sentence", async () => {
  const operations = operationsOf(await openapi());
  const ids = operations.map(([, { operationId }]) => operationId);
  expect(operations.length).toBeGreaterThan(10);
  expect(new Set(ids).size).toBe(ids.length);
  const unsaid = operations.flatMap(([where, { operationId, summary, parameters = [], responses }]) => [
    ...(typeof operationId === "string" && /^[a-z][A-Za-z]+$/.test(operationId) ? [] : [`${where}: operationId`]),
    ...(typeof summary === "string" && summary !== "" ? [] : [`${where}: summary`]),
    ...(parameters as Part[]).flatMap(({ name, description }) => (says(description) ? [] : [`${where} ?${name}`])),
    ...partsOf(responses).flatMap(([status, { description }]) => (says(description) ? [] : [`${where} ${status}`])),
  ]);
  expect(unsaid).toEqual([]);
});

test("every field of every body has a description, or is a schema that has one", async () => {
  const document = await openapi();
  const fields = [...allSchemas(document)].filter(([, , isField]) => isField);
  expect(fields.length).toBeGreaterThan(80);
  expect(fields.flatMap(([where, { description, $ref }]) => (says(description) || $ref ? [] : [where]))).toEqual([]);
  const components = isPart(document.components) ? partsOf(document.components.schemas) : [];
  expect(components.flatMap(([name, { description }]) => (says(description) ? [] : [name]))).toEqual([]);
});

test("every default fits its type, and numbers in a query are numbers", async () => {
  const document = await openapi();
  const defaults = [...allSchemas(document)].filter(([, schema]) => "default" in schema);
  const listed = defaults.map(([where, schema]) => [where, schema.type, schema.default]);
  expect(listed).toEqual([
    ["get /v1/tasks ?limit", "integer", 50],
    ["get /v1/tasks ?offset", "integer", 0],
  ]);
  for (const [where, { type, default: value }] of defaults) {
    expect({ where, fits: FITS[String(type)]?.(value) }).toEqual({ where, fits: true });
  }
});
