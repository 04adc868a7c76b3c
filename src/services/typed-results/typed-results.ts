import type { ResultSchema } from "../../task.ts";
import { fail, type Outcome } from "../platform/result.ts";
import { own, quoteLine } from "../text/own-text.ts";

/** The checks of JSON Schema. Their code is large, and is loaded when the first schema is used. */
export type JsonSchemas = Pick<
  typeof import("./json-schema.ts"),
  "modelSchemaRefusal" | "schemaProblem" | "schemaMisfits"
>;

/** Which schemas the results of which agents must fit. */
export interface SchemaRules {
  /** The schema of each agent, by its name. */
  agents: Readonly<Record<string, ResultSchema>>;
}

/** An answer that fits its schema, as the JSON that is in it, or what of it does not fit. */
type ReadAnswer = { json: string } | { misfits: string[] };

/** Characters of an answer that are read. A model writes at most half as many. */
const MAX_ANSWER_CHARS = 1_000_000;

/**
 * A line, without the space around it, that begins a block of code in Markdown, or ends one: its fence, the language, and whatever
 * else is said of the block, such as a title.
 */
const FENCE = /^(`{3,}|~{3,})\s*([^\s`]*)(?:\s[^`]*)?$/;

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/**
 * Returns the blocks of code in a text in Markdown that may be JSON by their language, or have none. Where the last one is not
 * closed, the text was cut in it, or its end was forgotten: whatever is in the blocks before it is not the answer.
 */
const codeBlocks = (text: string): string[] => {
  const blocks: string[] = [];
  let open: { fence: string; language: string; lines: string[] } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, fence = "", language = ""] = FENCE.exec(line.trim()) ?? [];
    if (!open) {
      if (fence !== "") open = { fence, language: language.toLowerCase(), lines: [] };
    } else if (language === "" && fence.startsWith(open.fence)) {
      if (open.language === "" || open.language === "json") blocks.push(open.lines.join("\n"));
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  const isOpen = open !== undefined && (open.language === "" || open.language === "json");
  return isOpen && open ? [open.lines.join("\n")] : blocks;
};

/** Finds the JSON in an answer: all of it, or its last block of code that is JSON. */
const jsonIn = (answer: string): string | undefined =>
  [...codeBlocks(answer), answer].map((text) => text.trim()).findLast(isJson);

/** Creates what knows which results must fit a JSON Schema, and whether they do. `load` is called with the first schema. */
export const createTypedResults = ({ agents }: SchemaRules, load: () => Promise<JsonSchemas>) => ({
  /** The schema of a task of that agent: the one that its launch names, or that of the options, or none. */
  schemaFor: async (agent: string, given: ResultSchema | undefined): Promise<Outcome<ResultSchema | undefined>> => {
    // Models send {} for an argument that they leave out.
    const named = given && Object.keys(given).length > 0 ? given : undefined;
    const refusal = named && (await load()).modelSchemaRefusal(named);
    if (refusal !== undefined) return fail(refusal);
    const schema = named ?? (Object.hasOwn(agents, agent) ? agents[agent] : undefined);
    const problem = schema && (await load()).schemaProblem(schema);
    if (problem === undefined) return { ok: true, value: schema };
    return fail(
      named
        ? own`This is not a usable JSON Schema: ${quoteLine(problem)}. Nothing was launched.`
        : own`The option schema.agents has no usable JSON Schema for the agent ${quoteLine(agent)}: ${quoteLine(problem)}. Nothing was launched.`,
    );
  },
  /** Reads the JSON in an answer, and checks it. */
  read: async (schema: ResultSchema, answer: string): Promise<ReadAnswer> => {
    if (answer.length > MAX_ANSWER_CHARS) {
      return { misfits: [`it has ${answer.length} characters, and at most ${MAX_ANSWER_CHARS} are read`] };
    }
    const json = jsonIn(answer);
    if (json === undefined) return { misfits: [answer.trim() === "" ? "it is empty" : "it is not JSON"] };
    const misfits = (await load()).schemaMisfits(schema, JSON.parse(json));
    return misfits.length === 0 ? { json } : { misfits };
  },
});
