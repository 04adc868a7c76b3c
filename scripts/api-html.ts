import type { ApiDocument, ApiSchema, Content, Operation } from "./api-document.ts";

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? "");

/** Writes text in which `…` stands for code. */
const prose = (text = ""): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf("/") + 1);

/** Writes what a value is, such as `integer`, or `list of Task` with a link. */
const typeOf = ({ $ref, type, format, enum: choices, const: only, items, additionalProperties }: ApiSchema): string => {
  if ($ref !== undefined) return `<a href="#schema-${escapeHtml(nameOf($ref))}">${escapeHtml(nameOf($ref))}</a>`;
  if (only !== undefined) return `<code>${escapeHtml(JSON.stringify(only))}</code>`;
  if (choices) return choices.map((choice) => `<code>${escapeHtml(String(choice))}</code>`).join(" ");
  if (items) return `list of ${typeOf(items)}`;
  if (typeof additionalProperties === "object") return `object of ${typeOf(additionalProperties)} by name`;
  if (format === "date-time") return "time, ISO 8601";
  return escapeHtml([type ?? "anything"].flat().join(" or "));
};

/** Returns the fields of an object, or of the objects in a list. */
const fieldsOf = ({ properties, items }: ApiSchema): Record<string, ApiSchema> =>
  properties ?? (items && items.$ref === undefined ? fieldsOf(items) : {});

const field = (name: string, schema: ApiSchema, isRequired: boolean, description = schema.description): string => {
  const byDefault = schema.default === undefined ? "" : `, default ${escapeHtml(JSON.stringify(schema.default))}`;
  const need = isRequired ? "" : "optional";
  return `<div class="field"><dt><code>${escapeHtml(name)}</code> <span>${typeOf(schema)}${byDefault}</span> <i>${need}</i></dt><dd>${prose(description)}${fieldList(schema)}</dd></div>`;
};

const fieldList = (schema: ApiSchema): string => {
  const required = schema.required ?? schema.items?.required ?? [];
  const fields = Object.entries(fieldsOf(schema)).map(([name, inner]) => field(name, inner, required.includes(name)));
  return fields.length === 0 ? "" : `<dl>${fields.join("")}</dl>`;
};

const body = (title: string, content: Content): string =>
  Object.entries(content)
    .map(([type, { schema }]) => {
      const what = fieldList(schema) === "" ? typeOf(schema) : fieldList(schema);
      return `<section><h4>${title} <span>${escapeHtml(type)}</span></h4><div class="what">${what}</div></section>`;
    })
    .join("");

const operation = (path: string, method: string, given: Operation): string => {
  const { operationId = "", summary = "", security, parameters = [], requestBody, responses } = given;
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const failures = Object.entries(responses).filter(([status]) => !status.startsWith("2"));
  const id = escapeHtml(operationId);
  return [
    `<article id="${id}" aria-labelledby="${id}-title"><h3 id="${id}-title"><b class="${method}">${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code></h3>`,
    `<p>${prose(summary)}.${security ? " <em>Needs the token.</em>" : ""}</p>`,
    parameters.length === 0
      ? ""
      : `<section><h4>Parameters</h4><dl>${parameters.map(({ name, schema, required = false, description }) => field(name, schema, required, description)).join("")}</dl></section>`,
    requestBody ? body("Body", requestBody.content) : "",
    successes
      .map(([, { description, content = {} }]) => `<p>${prose(description)}</p>${body("Response", content)}`)
      .join(""),
    `<details><summary>Errors</summary><dl>${failures.map(([status, { description }]) => `<div class="field"><dt><code>${status}</code></dt><dd>${prose(description)}</dd></div>`).join("")}</dl></details></article>`,
  ].join("\n");
};

/** Writes the description of an API as HTML, of its OpenAPI document alone. Whatever a text contains stays text. */
export const writeReference = ({ info, paths, components }: ApiDocument): string => {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, given]) => ({ path, method, given })),
  );
  const link = ({ path, method, given }: (typeof operations)[number]) =>
    `<li><a href="#${escapeHtml(given.operationId ?? "")}"><b class="${method}">${method.toUpperCase()}</b> ${escapeHtml(path)}</a></li>`;
  const schemas = Object.entries(components?.schemas ?? {});
  return [
    `<header><h1>${escapeHtml(info.title)} <span>${escapeHtml(info.version)}</span></h1><p>${prose(info.description)}</p></header>`,
    `<nav class="routes" aria-label="Routes"><ul>${operations.map(link).join("")}</ul></nav>`,
    `<main><h2>Routes</h2>${operations.map(({ path, method, given }) => operation(path, method, given)).join("\n")}`,
    `<h2>Shapes</h2>${schemas.map(([name, schema]) => `<article id="schema-${escapeHtml(name)}"><h3>${escapeHtml(name)}</h3><p>${prose(schema.description)}</p>${fieldList(schema)}</article>`).join("\n")}</main>`,
  ].join("\n");
};
