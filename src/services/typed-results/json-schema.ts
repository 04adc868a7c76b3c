import { Ajv, type ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { ResultSchema } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";

/** Schemas that say so are read as draft-07, all others as draft 2020-12. */
const DRAFT_07 = /draft-07/;

/** Keywords that a misspelling hides are errors; that a schema could be more exact is none. */
const SETTINGS = {
  allErrors: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  logger: false,
} as const;

/** @throws Error where the schema is none */
const compile = (schema: ResultSchema) => {
  const ajv = DRAFT_07.test(String(schema.$schema)) ? new Ajv(SETTINGS) : new Ajv2020(SETTINGS);
  formats.default(ajv);
  const validate = ajv.compile(schema);
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

/** One value of each kind: a schema that can be used can be asked about each. */
const SAMPLES = [null, true, 0, "", [], {}];

/** Returns why a schema cannot be used; undefined where it can. */
export const schemaProblem = (schema: ResultSchema): string | undefined => {
  try {
    const validate = compile(schema);
    for (const sample of SAMPLES) validate(sample);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
};

/** Returns what of a value does not fit a schema; none where it fits. */
export const schemaMisfits = (schema: ResultSchema, value: unknown): string[] => {
  try {
    const validate = compile(schema);
    return validate(value) ? [] : [...new Set((validate.errors ?? []).map(inWords))];
  } catch (error) {
    return [`it could not be checked: ${errorMessage(error)}`];
  }
};
