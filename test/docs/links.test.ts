import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { anchorOf } from "../../scripts/anchor.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ".changeset/README.md",
  "docs/specifications/README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

const headingsOf = (text: string) => [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);

/** The anchors of a document, by its path. */
const anchors = new Map<string, Set<string>>();

const anchorsOf = (document: string) => {
  const known = anchors.get(document) ?? new Set(headingsOf(read(document)).map(anchorOf));
  anchors.set(document, known);
  return known;
};

/** The links of a document that lead into the repository. */
const linksOf = (text: string) =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));

test.for(documents)("every link in %s leads somewhere", (document) => {
  const text = read(document);
  const dead = linksOf(text).filter((link) => {
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? document : join(dirname(document), path);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !anchorsOf(target).has(anchor);
  });
  expect(dead).toEqual([]);
});

describe("docs/decisions.md", () => {
  const text = read("docs/decisions.md");
  const decisions = headingsOf(text).filter((heading) => heading.startsWith("ADR-"));

  test("the index has every decision, in the order of the page", () => {
    const index = [...text.matchAll(/^- \[(ADR-\d{3})\]\(#[^)]+\) (.+)$/gm)].map(([, id, title]) => `${id}: ${title}`);
    expect(index).toEqual(decisions);
  });

  test("no two decisions have the same number", () => {
    const numbers = decisions.map((heading) => heading.slice(0, "ADR-000".length));
    expect(new Set(numbers).size).toBe(decisions.length);
  });

  test("every decision that the code or a document names is there", () => {
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => `src/${path}`);
    const known = new Set(decisions.map((heading) => heading.slice(0, "ADR-000".length)));
    const unknown = [...sources, ...documents].flatMap((path) =>
      [...read(path).matchAll(/ADR-\d{3}/g)].filter(([id]) => !known.has(id)).map(([id]) => `${path}: ${id}`),
    );
    expect(unknown).toEqual([]);
  });
});
