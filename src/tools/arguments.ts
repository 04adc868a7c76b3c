// Arguments are read once, by the schema that the model is shown: docs/decisions/089-arguments-are-read-by-their-schema.md
import { tool } from "@opencode-ai/plugin";
import type { z } from "zod";
import { truncateLine } from "../services/platform/plain-text.ts";
import { fail, type Outcome } from "../services/platform/result.ts";

/** The schema of each argument of a tool. The model is shown it, and its calls are checked against it. */
export type Shape = z.ZodRawShape;

/** The arguments of a tool after they have been read. */
export type Arguments<S extends Shape> = z.infer<z.ZodObject<S>>;

/** Characters of an invalid value, or of an unknown name, that an error repeats. */
const REPEATED_CHARS = 60;

/** Problems that one error names at most: a thousand sentences would help a model no more than three. */
const MAX_PROBLEMS = 3;

/** Matches a number as models write it in a string. Not `1e3` or `0x10`, which may be meant as text. */
const NUMERIC = /^-?\d{1,15}(\.\d{1,15})?$/;

const RULES: Record<string, string> = {
  string: "be a string",
  number: "be a number",
  boolean: "be true or false",
  array: "be a list",
  object: "be an object",
};

/** A whole number of at least `least`. The rule is checked in code: in the schema it would cost bytes in every model request. */
export const wholeNumber = (least: number) => {
  const rule = `be a whole number of at least ${least}`;
  return tool.schema.number(rule).refine((count) => Number.isInteger(count) && count >= least, rule);
};

/** Writes a value for an error: as JSON on one line, cut if it is long. */
export const quoted = (value: unknown): string =>
  truncateLine(typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "undefined"), REPEATED_CHARS);

type Kind = z.core.$ZodTypeDef["type"];

/** Returns the kinds of value that a schema accepts. */
const kindsOf = (schema: z.core.$ZodType): Kind[] => {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional") return kindsOf(def.innerType);
  if (def.type === "union") return def.options.flatMap(kindsOf);
  return [def.type];
};

/** Converts `"true"`, `"false"` and `"5"` where the schema wants a boolean or a number: models send those. */
const coerce = (schema: z.core.$ZodType, value: unknown): unknown => {
  if (typeof value !== "string") return value;
  const text = value.trim();
  const kinds = kindsOf(schema);
  if (kinds.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return kinds.includes("number") && NUMERIC.test(text) ? Number(text) : value;
};

const isBlank = (value: unknown): boolean => typeof value === "string" && value.trim() === "";

/** True for a value that means "left out": models send null, or "" for an optional argument. */
const isAbsent = (schema: z.core.$ZodType, value: unknown): boolean =>
  value === null || value === undefined || (schema._zod.optin === "optional" && isBlank(value));

const ruleOf = (issue: z.core.$ZodRawIssue): string | undefined => {
  if (issue.code === "invalid_type") return RULES[issue.expected];
  if (issue.code === "invalid_value")
    return `be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
  return undefined;
};

const at = (value: unknown, path: PropertyKey[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);

const nameOf = (path: PropertyKey[]): string =>
  path
    .map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`))
    .join("");

/** Describes in a sentence what is wrong. The issue's message is the broken rule, as in "must be a number". */
const problemOf = ({ path, message }: z.core.$ZodIssue, values: unknown): string => {
  const value = at(values, path);
  return value === undefined
    ? `${nameOf(path)} is missing: it must ${message}.`
    : `${nameOf(path)} is ${quoted(value)}, but must ${message}.`;
};

const unknownNames = (names: string[], shape: Shape): string => {
  const some = names.slice(0, MAX_PROBLEMS).map(quoted).join(", ");
  const more = names.length > MAX_PROBLEMS ? ` and ${names.length - MAX_PROBLEMS} more` : "";
  return `There is no argument ${some}${more}. Arguments: ${Object.keys(shape).join(", ")}.`;
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** How strictly arguments are read. */
export interface ReadingRules {
  /** Refuses null and "" for an optional argument instead of ignoring it: for a tool that does more if it is left out. */
  refusesBlank?: boolean | undefined;
  /**
   * Ignores unknown arguments instead of refusing them. For tools that launch tasks: models add arguments that other task
   * tools have, and since everything essential is required, a misspelt name launches nothing by accident.
   */
  ignoresUnknown?: boolean | undefined;
}

/** The schemas of tools that were called. A new one for each call took half a millisecond (measured). */
const schemas = new WeakMap<Shape, z.ZodObject>();

const schemaOf = (shape: Shape): z.ZodObject => {
  const known = schemas.get(shape) ?? tool.schema.object(shape);
  schemas.set(shape, known);
  return known;
};

/**
 * Reads the arguments of a tool call, which the host passes on unchecked: any JSON. Optional arguments may also be null or
 * blank. Unknown names are refused: a `clear` that ignored a misspelt `taskid` would remove all tasks. A failure's reason
 * names each invalid argument, its value and the rule.
 */
export const readArguments = <S extends Shape>(
  shape: S,
  sent: unknown,
  { refusesBlank = false, ignoresUnknown = false }: ReadingRules = {},
): Outcome<Arguments<S>> => {
  const given = sent ?? {};
  if (!isRecord(given)) return fail(`The arguments are ${quoted(given)}, but must be an object.`);
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(shape, name));
  const unknownProblem = unknown.length > 0 ? unknownNames(unknown, shape) : "";
  if (unknownProblem && !ignoresUnknown) return fail(unknownProblem);
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(shape)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const isLeftOut = refusesBlank ? value === undefined : isAbsent(schema, value);
    if (!isLeftOut) values[name] = coerce(schema, value);
  }
  // Without `jitless`, Zod writes and compiles a function at the first call, which takes longer than that ever saves here.
  const read = schemaOf(shape).safeParse(values, { error: ruleOf, jitless: true });
  if (read.success) return { ok: true, value: read.data as Arguments<S> };
  const problems = read.error.issues.slice(0, MAX_PROBLEMS).map((issue) => problemOf(issue, values));
  return fail([...problems, unknownProblem].filter(Boolean).join(" "));
};
