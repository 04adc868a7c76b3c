import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { anchorOf } from "../../scripts/anchor.ts";
import { decisionFiles, decisionsOfHistory } from "../../scripts/decisions.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ".changeset/README.md",
  "docs/specifications/README.md",
  ...["docs", "docs/decisions"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
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

/** The numbers and titles in the index of a document, each with where it leads to. */
const indexOf = (document: string) =>
  [...read(document).matchAll(/^- \[(ADR-\d{3})\]\(([^)]+)\) (.+)$/gm)].map(
    ([, number = "", link = "", title = ""]) => ({ number, title, place: link }),
  );

describe("decisions:", () => {
  const [files, history] = [decisionFiles(), decisionsOfHistory()];
  const all = [...files, ...history];

  test("each file has one, and its name begins with its number", () => {
    const names = readdirSync(join(root, "docs/decisions")).filter((name) => name !== "README.md");
    expect(files.map(({ place }) => place)).toEqual(names.map((name) => `decisions/${name}`).toSorted());
  });

  test("docs/decisions/README.md lists every file", () => {
    const index = indexOf("docs/decisions/README.md").map(({ place, ...rest }) => ({
      ...rest,
      place: `decisions/${place}`,
    }));
    expect(index.toSorted((one, other) => (one.place < other.place ? -1 : 1))).toEqual(files);
  });

  test("docs/history.md lists every one of its own, in the order of the page", () => {
    const index = indexOf("docs/history.md").map(({ place, ...rest }) => ({ ...rest, place: `history.md${place}` }));
    expect(index).toEqual(history);
  });

  test("no two have the same number", () => {
    const numbers = all.map(({ number }) => number);
    expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
  });

  test("every one that the code or a document names is there: in a file of docs/decisions, or in docs/history.md", () => {
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => `src/${path}`);
    const known = new Set(all.map(({ number }) => number));
    const unknown = [...sources, ...documents].flatMap((path) =>
      [...read(path).matchAll(/ADR-\d{3}/g)].filter(([id]) => !known.has(id)).map(([id]) => `${path}: ${id}`),
    );
    expect(unknown).toEqual([]);
  });
});
