import { tool } from "@opencode-ai/plugin";
import type { z } from "zod";
import { truncateLine } from "../services/platform/plain-text.ts";
import { fail, type Outcome } from "../services/platform/result.ts";

/** What a tool takes, by name: the model is shown it, and what the model sends is read by it. */
export type Shape = z.ZodRawShape;

/** The arguments of a tool, once they are read. */
export type Arguments<S extends Shape> = z.infer<z.ZodObject<S>>;

/** Characters of a wrong value, or of an unknown name, that an error repeats. */
const REPEATED = 60;

/** Faults that one error names: whoever sent a thousand wrong values learns no more from a thousand sentences. */
const NAMED = 3;

/** A number as models write it in a string. Not `1e3` or `0x10`: whoever writes those may mean the text. */
const NUMERIC = /^-?\d{1,15}(\.\d{1,15})?$/;

const RULES: Record<string, string> = {
  string: "be a string",
  number: "be a number",
  boolean: "be true or false",
  array: "be a list",
  object: "be an object",
};

/** A whole number, from `least` on. The rule is not in the schema: it would cost bytes in every model request. */
export const wholeNumber = (least: number) => {
  const rule = `be a whole number from ${least} on`;
  return tool.schema.number(rule).refine((count) => Number.isInteger(count) && count >= least, rule);
};

/** A value in an error: as JSON, on one line, cut where it is long. */
export const quoted = (value: unknown): string =>
  truncateLine(typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "undefined"), REPEATED);

type Kind = z.core.$ZodTypeDef["type"];

/** The kinds of value that a schema takes. */
const kindsOf = (schema: z.core.$ZodType): Kind[] => {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional") return kindsOf(def.innerType);
  if (def.type === "union") return def.options.flatMap(kindsOf);
  return [def.type];
};

/** `"true"`, `"false"` and `"5"` where a boolean or a number is wanted: models send them, and nothing else can be meant. */
const asMeant = (schema: z.core.$ZodType, value: unknown): unknown => {
  if (typeof value !== "string") return value;
  const text = value.trim();
  const kinds = kindsOf(schema);
  if (kinds.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return kinds.includes("number") && NUMERIC.test(text) ? Number(text) : value;
};

const isBlank = (value: unknown): boolean => typeof value === "string" && value.trim() === "";

/** Models send null, or "" where the schema lets them leave it out, for what they leave out. */
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

/** What is wrong, in a sentence. The issue's message is the rule that was broken: what the value must be, or not be. */
const faultOf = ({ path, message }: z.core.$ZodIssue, values: unknown): string => {
  const value = at(values, path);
  return value === undefined
    ? `${nameOf(path)} is missing: it must ${message}.`
    : `${nameOf(path)} is ${quoted(value)}, but must ${message}.`;
};

const unknownOf = (names: string[], shape: Shape): string => {
  const some = names.slice(0, NAMED).map(quoted).join(", ");
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return `There is no argument ${some}${more}. Arguments: ${Object.keys(shape).join(", ")}.`;
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** How arguments are read. */
export interface Reading {
  /** Null and "" are refused for what may be left out, not taken for it: leaving it out means more than giving it. */
  refusesBlank?: boolean | undefined;
  /**
   * Names that the tool does not have are dropped, not refused. For tools that launch: models bring along what other task
   * tools take, and what such a call needs is required, so a misspelt name launches nothing by accident.
   */
  ignoresUnknown?: boolean | undefined;
}

/**
 * Reads the arguments of a tool call, which the host hands on as the model sent them: any JSON. What may be left out may
 * be null or blank, too. A name that the tool does not have is refused, whatever its value: a `clear` that ignored
 * `taskid` would remove all.
 */
export const readArguments = <S extends Shape>(
  shape: S,
  sent: unknown,
  { refusesBlank = false, ignoresUnknown = false }: Reading = {},
): Outcome<Arguments<S>> => {
  const given = sent ?? {};
  if (!isRecord(given)) return fail(`The arguments are ${quoted(given)}, but must be an object.`);
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(shape, name));
  const strange = unknown.length > 0 ? unknownOf(unknown, shape) : "";
  if (strange && !ignoresUnknown) return fail(strange);
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(shape)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const isLeftOut = refusesBlank ? value === undefined : isAbsent(schema, value);
    if (!isLeftOut) values[name] = asMeant(schema, value);
  }
  const read = tool.schema.object(shape).safeParse(values, { error: ruleOf });
  if (read.success) return { ok: true, value: read.data as Arguments<S> };
  const faults = read.error.issues.slice(0, NAMED).map((issue) => faultOf(issue, values));
  return fail([...faults, strange].filter(Boolean).join(" "));
};
