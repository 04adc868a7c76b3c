import type { ResultSchema } from "../../task.ts";
import { type OwnText, own, quoteLine } from "../text/own-text.ts";

// What a check does not count while it runs is bounded before: numbers of schemas, levels and characters.

/** Characters of a schema as JSON. It goes with each prompt of its task. */
const MAX_CHARS = 100_000;

/** What of a schema becomes code of its own: schemas, and names in `dependentRequired`. 500 take 0.4 s (measured). */
const MAX_PARTS = 500;

/** Levels of arrays and objects, in a schema and in an answer. What reads them is recursive. */
const MAX_DEPTH = 64;

/** Characters of the path to a value of an answer. Each error about the value has it. */
const MAX_PATH_CHARS = 1_000;

/** The keyword that says in each schema what one look at it costs. */
export const COST = "taskchartCost";

/** Keywords whose values are no schemas, but data. */
const DATA: readonly string[] = ["enum", "const", "default", "examples", "dependentRequired", "$vocabulary"];

/** Keywords whose values are schemas by a name that the author chose. */
const BY_NAME: readonly string[] = [
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
];

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Returns why JSON cannot be worked on, nested too deeply or with names that are too long; undefined where it can. */
export const shapeProblem = (json: unknown): string | undefined => {
  const open: { value: unknown; depth: number; path: number }[] = [{ value: json, depth: 0, path: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth, path } = next;
    if (!isObject(value)) continue;
    if (depth === MAX_DEPTH) return `it is nested more than ${MAX_DEPTH} levels deep`;
    for (const [name, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      const length = path + 1 + (typeof name === "string" ? name.length : 0);
      if (length > MAX_PATH_CHARS) {
        return `the names that lead to one of its values have more than ${MAX_PATH_CHARS} characters`;
      }
      open.push({ value: inner, depth: depth + 1, path: length });
    }
  }
  return undefined;
};

/** Returns a copy of a schema in which each schema, at any depth, is what `change` makes of it, beginning with the innermost. */
const mapSchemas = (schema: unknown, change: (schema: ResultSchema) => ResultSchema): unknown => {
  const within = (inner: unknown): unknown => mapSchemas(inner, change);
  if (Array.isArray(schema)) return schema.map(within);
  if (!isObject(schema)) return schema;
  const copy = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (DATA.includes(keyword)) return [keyword, value];
    if (!BY_NAME.includes(keyword) || !isObject(value)) return [keyword, within(value)];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, within(inner)]))];
  });
  return change(Object.fromEntries(copy));
};

/** Returns the keywords of all schemas in a schema. */
const keywordsIn = (schema: ResultSchema): ReadonlySet<string> => {
  const keywords = new Set<string>();
  mapSchemas(schema, (inner) => {
    for (const keyword of Object.keys(inner)) keywords.add(keyword);
    return inner;
  });
  return keywords;
};

/** How many values JSON has. */
const valuesIn = (json: unknown): number =>
  isObject(json) ? Object.values(json).reduce<number>((sum, inner) => sum + valuesIn(inner), 1) : 1;

/** Itself, the schemas in it that are only true or false, and names that depend on others. */
const partsOf = (schema: ResultSchema): number =>
  Object.entries(schema).reduce((sum, [keyword, value]) => {
    if (keyword === "dependentRequired" || keyword === "dependencies") return sum + valuesIn(value);
    if (DATA.includes(keyword) || !isObject(value)) return sum;
    return sum + Object.values(value).filter((inner) => typeof inner === "boolean").length;
  }, 1);

/** Returns which bound a schema goes beyond; undefined where it goes beyond none. */
export const schemaBoundsProblem = (schema: ResultSchema): string | undefined => {
  const shape = shapeProblem(schema);
  if (shape !== undefined) return shape;
  const { length } = JSON.stringify(schema);
  if (length > MAX_CHARS) return `it has ${length} characters of JSON, and at most ${MAX_CHARS} are taken`;
  let parts = 0;
  mapSchemas(schema, (inner) => {
    parts += partsOf(inner);
    return inner;
  });
  return parts > MAX_PARTS
    ? `it has ${parts} schemas and dependent names within, and at most ${MAX_PARTS} are taken`
    : undefined;
};

/** What a schema has itself: its keywords, the names in it, and the data that values are compared with. */
const costOf = (schema: ResultSchema): number =>
  Object.entries(schema).reduce((sum, [keyword, value]) => {
    if (DATA.includes(keyword)) return sum + valuesIn(value);
    return (
      sum + 1 + (isObject(value) && (Array.isArray(value) || BY_NAME.includes(keyword)) ? Object.keys(value).length : 0)
    );
  }, 1);

/** Returns a schema that fits the same values, and says in each schema within what one look at it costs. */
export const withCosts = (schema: ResultSchema): ResultSchema =>
  mapSchemas(schema, (inner) => ({ ...inner, [COST]: costOf(inner) })) as ResultSchema;

/** Characters of a schema as JSON that a launch may name: it goes with each prompt of the task, and is stored with it. */
const MAX_CHARS_OF_MODEL = 20_000;

/**
 * Keywords that a schema of a model may not have: regular expressions, and references, of which a few multiply. Checks with
 * them are bounded, too; a model does without.
 */
const COSTLY = ["pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef"];

/** Returns why a schema that a model wrote is not used, whether or not it is one. Undefined where nothing is against it. */
export const modelSchemaRefusal = (schema: ResultSchema): OwnText | undefined => {
  const shape = shapeProblem(schema);
  if (shape !== undefined) return own`The schema cannot be used: ${quoteLine(shape)}. Nothing was launched.`;
  const { length } = JSON.stringify(schema);
  if (length > MAX_CHARS_OF_MODEL)
    return own`The schema has ${length} characters of JSON, and at most ${MAX_CHARS_OF_MODEL} are taken. Nothing was launched.`;
  const keywords = keywordsIn(schema);
  const keyword = COSTLY.find((costly) => keywords.has(costly));
  return keyword === undefined
    ? undefined
    : own`The schema has the keyword ${quoteLine(keyword)}, which only schemas in the options may have. Leave it out.`;
};
