import { type ApiSchema, apiDocument, type Content, type Operation } from "./api-document.ts";

const HEAD = `# API reference

<!-- Generated from the API's own description by \`npm run api\`. Edit the descriptions in src/*-schema.ts and src/services/http/contract. -->

Every route of the [status API](status-api.md), which says where it is served, who may read, and what errors mean.
The same is served as a page at \`/docs\`, and for programs at \`/v1/openapi.json\`.
`;

const cell = (text = ""): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

const shapeOf = ($ref: string): string => $ref.slice($ref.lastIndexOf("/") + 1);

/** Writes what a value is, such as \`integer\`, or \`list of Task\` with a link. */
const typeOf = (schema: ApiSchema): string => {
  const { $ref, type, format, enum: choices, items, anyOf, additionalProperties } = schema;
  if ($ref !== undefined) return `[${shapeOf($ref)}](#${shapeOf($ref).toLowerCase()})`;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (choices) return choices.map((choice) => `\`${choice}\``).join(", ");
  if (anyOf) return anyOf.map(typeOf).join(" or ");
  if (items) return `list of ${typeOf(items)}`;
  if (typeof additionalProperties === "object") return `object of ${typeOf(additionalProperties)} by name`;
  return format === "date-time" ? "time, ISO 8601" : [type ?? "anything"].flat().join(" or ");
};

/** Writes a row for each field, and for the fields of those that are objects themselves. */
const fieldRows = (schema: ApiSchema, path = ""): string[] => {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const within = `${path}${name}`;
    const optional = required.includes(name) ? "" : "optional; ";
    const standard = field.default === undefined ? "" : `, default \`${JSON.stringify(field.default)}\``;
    const row = `| \`${within}\` | ${optional}${typeOf(field)}${standard} | ${cell(field.description)} |`;
    const inner = field.items ?? field;
    return [row, ...fieldRows(inner, field.items ? `${within}[].` : `${within}.`)];
  });
};

const table = (rows: string[]): string =>
  rows.length === 0 ? "" : ["| field | value | meaning |", "|---|---|---|", ...rows].join("\n");

/** Writes what is sent or answered: its shape by name, or its fields. */
const contentOf = (title: string, content: Content = {}): string =>
  Object.entries(content)
    .map(([type, { schema }]) => {
      const fields = table(fieldRows(schema.items ?? schema));
      return [`${title} (\`${type}\`): ${fields === "" ? typeOf(schema) : `${schema.type ?? "object"}`}`, fields]
        .filter(Boolean)
        .join("\n\n");
    })
    .join("\n\n");

const operation = (path: string, method: string, given: Operation): string => {
  const { operationId, summary, security, parameters = [], requestBody, responses } = given;
  const all = Object.entries(responses);
  const done = all.filter(([status]) => status.startsWith("2"));
  const errors = all.filter(([status]) => !status.startsWith("2"));
  const parameterRows = parameters.map(
    ({ name, required = false, schema, description }) =>
      `| \`${name}\` | ${required ? "" : "optional; "}${typeOf(schema)} | ${cell(description ?? schema.description)} |`,
  );
  return [
    `### \`${method.toUpperCase()} ${path}\``,
    `${summary}${security ? ". Needs the token" : ""}. Called \`${operationId}\`.`,
    table(parameterRows),
    requestBody ? contentOf("Body", requestBody.content) : "",
    ...done.map(([, { description, content }]) => [description, contentOf("Answer", content)].join("\n\n")),
    errors.length === 0
      ? ""
      : [
          "| error | when |",
          "|---|---|",
          ...errors.map(([status, { description }]) => `| ${status} | ${cell(description)} |`),
        ].join("\n"),
  ]
    .filter((part) => part.trim() !== "")
    .join("\n\n");
};

/** Returns `docs/api.md`: a section for each route, and for each shape that several of them have. */
export const apiPage = (): string => {
  const { paths, components } = apiDocument();
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, given]) => operation(path, method, given)),
  );
  const shapes = Object.entries(components.schemas).map(([name, schema]) =>
    [`### ${name}`, schema.description, table(fieldRows(schema))].filter(Boolean).join("\n\n"),
  );
  return `${[HEAD.trimEnd(), "## Routes", ...routes, "## Shapes", ...shapes].join("\n\n")}\n`;
};
