// ADR-249 in docs/decisions.md
import type { ResultSchema } from "../../task.ts";
import { fail, type Outcome } from "../platform/result.ts";
import { own, quoteLine } from "../text/own-text.ts";

/** Knows JSON Schema. It is large, and is loaded when the first schema is used. */
export interface JsonSchemas {
  /** Returns why a schema cannot be used; undefined where it can. */
  schemaProblem(schema: ResultSchema): string | undefined;
  /** Returns what of a value does not fit a schema; none where it fits. */
  schemaMisfits(schema: ResultSchema, value: unknown): string[];
}

/** Which schemas the results of which agents must fit. */
export interface SchemaRules {
  /** The schema of each agent, by its name. */
  agents: Readonly<Record<string, ResultSchema>>;
}

/** An answer that fits its schema, as the JSON that is in it, or what of it does not fit. */
export type ReadAnswer = { json: string } | { misfits: string[] };

/** Knows which results must fit a JSON Schema, and whether they do. */
export interface TypedResults {
  /** The schema of a task of that agent: the one that its launch names, or that of the options, or none. */
  schemaFor(agent: string, named: ResultSchema | undefined): Promise<Outcome<ResultSchema | undefined>>;
  /** Reads the JSON in an answer, and checks it. */
  read(schema: ResultSchema, answer: string): Promise<ReadAnswer>;
}

/** Characters of a schema as JSON that a launch may name: it goes with each prompt of the task, and is stored with it. */
const MAX_CHARS = 20_000;

/** Keywords with regular expressions: one that a model writes could keep this process busy for ever. */
const PATTERNS = ["pattern", "patternProperties"];

/** A block of code in Markdown, with or without `json` behind its fence. */
const CODE_BLOCK = /^```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n```[ \t]*$/gim;

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Finds the JSON in an answer: all of it, or its last block of code that is JSON. */
const jsonIn = (answer: string): string | undefined => {
  const blocks = [...answer.matchAll(CODE_BLOCK)].map(([, code = ""]) => code);
  return [...blocks, answer].map((text) => text.trim()).findLast(isJson);
};

/** The first of these keys in a value, at any depth. */
const firstKey = (value: unknown, keys: readonly string[]): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined;
  const here = keys.find((key) => Object.hasOwn(value, key));
  if (here !== undefined && !Array.isArray(value)) return here;
  for (const inner of Object.values(value)) {
    const found = firstKey(inner, keys);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** Creates the reader of typed results. `load` is called with the first schema. */
export const createTypedResults = ({ agents }: SchemaRules, load: () => Promise<JsonSchemas>): TypedResults => {
  /** Why a schema that a model wrote is not used, whether or not it is one. */
  const refusalOf = (schema: ResultSchema) => {
    const { length } = JSON.stringify(schema);
    if (length > MAX_CHARS)
      return own`The schema has ${length} characters of JSON, and at most ${MAX_CHARS} are taken.`;
    const pattern = firstKey(schema, PATTERNS);
    return pattern === undefined
      ? undefined
      : own`The schema has ${quoteLine(pattern)}: a regular expression is taken from the options only. Leave it out.`;
  };

  return {
    schemaFor: async (agent, named) => {
      const refusal = named && refusalOf(named);
      if (refusal !== undefined) return fail(refusal);
      const schema = named ?? (Object.hasOwn(agents, agent) ? agents[agent] : undefined);
      const problem = schema && (await load()).schemaProblem(schema);
      if (problem === undefined) return { ok: true, value: schema };
      return fail(
        named
          ? own`The schema is no JSON Schema that can be used: ${quoteLine(problem)}.`
          : own`The option schema.agents has no JSON Schema that can be used for the agent ${quoteLine(agent)}: ${quoteLine(problem)}. Nothing was launched.`,
      );
    },
    read: async (schema, answer) => {
      const json = jsonIn(answer);
      if (json === undefined) return { misfits: [answer.trim() === "" ? "it is empty" : "it is no JSON"] };
      const misfits = (await load()).schemaMisfits(schema, JSON.parse(json));
      return misfits.length === 0 ? { json } : { misfits };
    },
  };
};
