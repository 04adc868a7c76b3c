import { z } from "zod";
import { Options } from "../src/options.ts";

/** The parts of JSON Schema that the options use. */
interface Schema {
  type?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | false;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
}

const HEAD = `# Options

<!-- Generated from src/options.ts by \`npm run options\`. Edit the descriptions there. -->

Every option has a default, so \`"plugin": ["opencode-taskchart"]\` is enough. To set some, put the
package's name and the options in a list of their own in \`opencode.json\`:

\`\`\`json
{ "plugin": [["opencode-taskchart", { "maxDepth": 2, "notice": { "maxResultChars": 4000 } }]] }
\`\`\`

An option written here as \`notice.maxResultChars\` is the key \`maxResultChars\` of the object
\`notice\`. An unknown option or a wrong value is named by a toast and an error in OpenCode's log;
the option's default is used.

Two environment variables concern the [status API](status-api.md): \`ASYNCAGENTS_API_PORT\` sets the
first port it tries, and \`ASYNCAGENTS_API_ENABLED=false\` switches it off.
`;

const WIDTH = 100;

/** Breaks a paragraph into lines of at most `WIDTH` characters, at spaces. */
const wrap = (text: string): string =>
  text
    .split(" ")
    .reduce<string[]>(
      ([line, ...before], word) =>
        line !== undefined && `${line} ${word}`.length <= WIDTH
          ? [`${line} ${word}`, ...before]
          : [word, ...(line === undefined ? [] : [line, ...before])],
      [],
    )
    .toReversed()
    .join("\n");

const code = (value: unknown): string => `\`${JSON.stringify(value)}\``;

/** The values that an option takes, in words. */
const valuesOf = (schema: Schema): string => {
  const { type, anyOf, items, minimum, exclusiveMinimum, maximum } = schema;
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) return schema.enum.map(code).join(", ");
  if (anyOf) return anyOf.map(valuesOf).join(", or ");
  if (type === "boolean") return "`true`, `false`";
  if (type === "array" && items) return items.enum ? `list of ${valuesOf(items)}` : `list of ${valuesOf(items)}s`;
  if (type === "string") return "string";
  if (type === "object" && schema.properties) {
    const fields = Object.entries(schema.properties).map(([name, field]) => `\`${name}\` (${valuesOf(field)})`);
    return `object with ${fields.join(" and ")}`;
  }
  if (type === "object" && schema.additionalProperties) {
    if (Object.keys(schema.additionalProperties).length === 0) return "JSON Schema";
    return `object with a value for each name: ${valuesOf(schema.additionalProperties)}`;
  }
  const kind = type === "integer" ? "whole number" : "number";
  const most = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? "" : ` to ${maximum}`;
  if (exclusiveMinimum !== undefined) return `${kind} above ${exclusiveMinimum}`;
  return minimum === undefined ? kind : most ? `${kind} from ${minimum}${most}` : `${kind}, at least ${minimum}`;
};

/** @throws Error for an option without a description: nobody could use it. */
const sectionsOf = (schema: Schema, path: string[]): string[] => {
  if (schema.properties) {
    return Object.entries(schema.properties).flatMap(([name, inner]) => sectionsOf(inner, [...path, name]));
  }
  const name = path.join(".");
  if (!schema.description) throw new Error(`src/options.ts: the option ${name} has no .describe().`);
  const standard = schema.default === undefined ? "not set" : code(schema.default);
  return [`## \`${name}\`\n\n${wrap(schema.description)}\n\n- Values: ${valuesOf(schema)}\n- Default: ${standard}\n`];
};

/** Returns `docs/options.md`: a section for each option, in the order of the schema. */
export const optionsPage = (): string =>
  [HEAD, ...sectionsOf(z.toJSONSchema(Options, { io: "input" }) as Schema, [])].join("\n");
