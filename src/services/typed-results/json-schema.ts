// Schema and answer may be made to cost: the code that checks an answer counts what it does, and ends beyond a bound.
import { _, Ajv, type ErrorObject, type FormatDefinition, Name } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { RE2JS } from "re2js";
import type { ResultSchema } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import { truncateLine } from "../platform/plain-text.ts";
import { COST, schemaBoundsProblem, shapeProblem, withCosts } from "./schema-bounds.ts";

export { modelSchemaRefusal } from "./schema-bounds.ts";

/** Schemas that say so are read as draft-07, all others as draft 2020-12. */
const DRAFT_07 = /draft-07/;

/** What the check of an answer may cost: about how many keywords are looked at, for one value after the other. */
const MAX_COST = 2_000_000;

/** Characters of a text that cost as much as a keyword. */
const CHARS_PER_COST = 8;

/** Errors that are kept at once. Alternatives have errors even in an answer that fits. */
const MAX_ERRORS = 10_000;

/** Errors that are put into words, and characters of each. */
const MAX_WORDED = 50;
const ERROR_CHARS = 300;

/** Characters of the reason why a schema cannot be used. */
const REASON_CHARS = 1_000;

/** Characters of a string that a format is checked in: no date, address or number is longer. */
const FORMAT_CHARS = 2_000;

/** Keywords that a misspelling hides are errors; that a schema could be more exact is none. */
const SETTINGS = {
  allErrors: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  logger: false,
  // Code of what is referred to twice would be made twice, and so on for what that refers to.
  inlineRefs: false,
  // As would be code for each of many names and values.
  loopRequired: 10,
  loopEnum: 10,
} as const;

/** The variable of Ajv's code that has the errors so far. */
const ERRORS = new Name("vErrors");

/** A check that costs more than it may; with the errors that it has found so far. */
class TooCostly extends Error {
  readonly found: readonly ErrorObject[];

  constructor(message: string, found: readonly ErrorObject[] = []) {
    super(message);
    this.found = found;
  }
}

/** Counts what a check costs. */
const createMeter = () => {
  let spent = 0;
  const spend = (cost: number) => {
    spent += cost;
    if (spent > MAX_COST) throw new TooCostly(`it takes more than ${MAX_COST} comparisons`);
  };
  return {
    spend,
    /** Called by the code of each schema, whenever a value is checked by it. */
    look: (cost: number, value: unknown, errors: readonly ErrorObject[] | null) => {
      if (errors && errors.length > MAX_ERRORS) {
        throw new TooCostly(`more than ${MAX_ERRORS} of its parts do not fit`, errors);
      }
      spend(cost + widthOf(value));
    },
  };
};

/** How much of a value is looked at by the schema for it, beside the schemas for its parts. */
const widthOf = (value: unknown): number => {
  if (typeof value === "string") return value.length / CHARS_PER_COST;
  return Object.keys(value ?? {}).length;
};

/** JSON with the names of objects in order: the same text for equal values. */
const canonical = (json: unknown): string =>
  JSON.stringify(json, (_name, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const names = Object.keys(value).toSorted();
    return Object.fromEntries(names.map((name) => [name, value[name]]));
  });

/** Adds the formats of strings, each for strings that are not too long. Of numbers and of bytes there is nothing to bound. */
const addFormats = (ajv: Ajv) => {
  formats.default(ajv);
  for (const [name, format] of Object.entries(ajv.formats)) {
    const definition = (format instanceof RegExp || typeof format === "function" ? { validate: format } : format) as
      | FormatDefinition<string>
      | (FormatDefinition<number> & { type: "number" })
      | true;
    if (name === "byte" || definition === true || definition.type === "number") continue;
    const { validate } = definition;
    const fits =
      validate instanceof RegExp ? (text: string) => validate.test(text) : (validate as (text: string) => boolean);
    ajv.addFormat(name, { ...definition, validate: (text: string) => text.length <= FORMAT_CHARS && fits(text) });
  }
};

/** @throws Error where RE2 does not know it */
const compileRegExp = (source: string) => {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    throw new Error(`the pattern ${JSON.stringify(source)} cannot be used: ${errorMessage(error)}`);
  }
};

/** @throws Error where the schema is none, or goes beyond a bound */
const compile = (schema: ResultSchema) => {
  const problem = schemaBoundsProblem(schema);
  if (problem !== undefined) throw new Error(problem);
  const meter = createMeter();

  /** RE2 takes time in proportion to the text: regular expressions of JavaScript may take for ever. */
  const regExp = (source: string) => {
    const expression = compileRegExp(source);
    const size = expression.programSize();
    return {
      test: (text: string) => {
        meter.spend(size + (text.length * size) / CHARS_PER_COST);
        return expression.matcher(text).find();
      },
      toString: () => source,
    };
  };
  regExp.code = "regExp";

  const Draft = DRAFT_07.test(String(schema.$schema)) ? Ajv : Ajv2020;
  const ajv = new Draft({ ...SETTINGS, code: { regExp, optimize: false } });
  addFormats(ajv);
  ajv.addKeyword({
    keyword: COST,
    code: ({ gen, data, schema: cost }) => {
      const look = gen.scopeValue("func", { ref: meter.look });
      gen.code(_`${look}(${cost}, ${data}, ${ERRORS})`);
    },
  });
  // Ajv compares each with each.
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    error: { message: "must not have equal items" },
    validate: (isUnique: boolean, items: unknown[]) => {
      if (!isUnique) return true;
      const texts = items.map(canonical);
      meter.spend(texts.reduce((sum, text) => sum + text.length, 0) / CHARS_PER_COST);
      return new Set(texts).size === texts.length;
    },
  });
  const validate = ajv.compile(withCosts(schema));
  if ("$async" in validate) throw new Error("$async is not supported");
  return validate;
};

/** What is wrong, and where, as a path into the value such as `/items/0`. */
const inWords = ({ instancePath, message = "does not fit", keyword, params }: ErrorObject): string => {
  const where = instancePath === "" ? "the value" : instancePath;
  switch (keyword) {
    case "additionalProperties":
    case "unevaluatedProperties":
      return `${where} must not have the property ${JSON.stringify(params.additionalProperty ?? params.unevaluatedProperty)}`;
    case "enum":
      return `${where} must be one of ${JSON.stringify(params.allowedValues)}`;
    case "const":
      return `${where} must be ${JSON.stringify(params.allowedValue)}`;
    default:
      return `${where} ${message}`;
  }
};

const worded = (errors: readonly ErrorObject[]): string[] => {
  const shown = errors.slice(0, MAX_WORDED).map((error) => truncateLine(inWords(error), ERROR_CHARS));
  return [...new Set(shown)];
};

/** One value of each kind: a schema that can be used can be asked about each. */
const SAMPLES = [null, true, 0, "", [], {}];

const reasonOf = (error: unknown): string => truncateLine(errorMessage(error), REASON_CHARS);

/** Returns why a schema cannot be used; undefined where it can. */
export const schemaProblem = (schema: ResultSchema): string | undefined => {
  try {
    const validate = compile(schema);
    for (const sample of SAMPLES) validate(sample);
    return undefined;
  } catch (error) {
    return error instanceof TooCostly ? `even of a small value ${error.message}` : reasonOf(error);
  }
};

/** Returns what of a value does not fit a schema, `MAX_WORDED` at most; none where it fits. */
export const schemaMisfits = (schema: ResultSchema, value: unknown): string[] => {
  const shape = shapeProblem(value);
  if (shape !== undefined) return [`it cannot be checked: ${shape}`];
  try {
    const validate = compile(schema);
    return validate(value) ? [] : worded(validate.errors ?? []);
  } catch (error) {
    const found = error instanceof TooCostly ? worded(error.found) : [];
    return [`it cannot be checked: ${reasonOf(error)}`, ...found];
  }
};
