import { expect, test } from "vitest";
import { apiDocument } from "../../scripts/api-document.ts";
import { writeReference } from "../../scripts/api-html.ts";
import { buildPage } from "../../scripts/pages.ts";

test("the page of the API names every operation, and every field", () => {
  const page = buildPage("reference");
  const { paths, components } = apiDocument();
  const missing = Object.values(paths)
    .flatMap((methods) => Object.values(methods).map(({ operationId }) => `id="${operationId}"`))
    .concat(
      Object.values(components.schemas).flatMap(({ properties = {} }) =>
        Object.keys(properties).map((name) => `<code>${name}</code>`),
      ),
    )
    .filter((text) => !page.includes(text));
  expect(missing).toEqual([]);
});

test("no text of an API's document is taken for HTML", () => {
  const hostile = `"><script>alert(1)</script>`;
  const schema = {
    type: hostile,
    description: hostile,
    default: hostile,
    enum: [hostile],
    properties: { [hostile]: { $ref: hostile } },
  };
  const page = writeReference({
    info: { title: hostile, version: hostile, description: hostile },
    paths: {
      [hostile]: {
        get: {
          operationId: hostile,
          summary: hostile,
          parameters: [{ name: hostile, in: "query", schema, description: hostile }],
          requestBody: { content: { [hostile]: { schema } } },
          responses: {
            200: { description: hostile, content: { [hostile]: { schema } } },
            404: { description: hostile },
          },
        },
      },
    },
    components: { schemas: { [hostile]: schema } },
  });
  expect(page).not.toContain("<script");
  expect(page).not.toContain('"">');
});
