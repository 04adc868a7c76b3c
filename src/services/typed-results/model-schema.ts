import type { ResultSchema } from "../../task.ts";
import { type OwnText, own, quoteLine } from "../text/own-text.ts";
import { keywordsIn, shapeProblem } from "./schema-bounds.ts";

/** Characters of a schema as JSON that a launch may name: it goes with each prompt of the task, and is stored with it. */
const MAX_CHARS = 20_000;

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
  if (length > MAX_CHARS)
    return own`The schema has ${length} characters of JSON, and at most ${MAX_CHARS} are taken. Nothing was launched.`;
  const keywords = keywordsIn(schema);
  const keyword = COSTLY.find((costly) => keywords.has(costly));
  return keyword === undefined
    ? undefined
    : own`The schema has the keyword ${quoteLine(keyword)}, which only schemas in the options may have. Leave it out.`;
};
