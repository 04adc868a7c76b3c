import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { anchorOf } from "./anchor.ts";

/** A decision: its number, such as `ADR-012`, its title, and where it is: a path from `docs`, with an anchor in the history. */
export interface Decision {
  number: string;
  title: string;
  place: string;
}

const docs = fileURLToPath(new URL("../docs/", import.meta.url));

/** The decisions whose headings begin with `marks` in a document. */
const decisionsIn = (document: string, marks: string): Decision[] =>
  [...readFileSync(docs + document, "utf8").matchAll(/^(#+) ((ADR-\d{3}): (.+))$/gm)]
    .filter(([, mark]) => mark === marks)
    .map(([, , heading = "", number = "", title = ""]) => ({
      number,
      title,
      place: marks === "#" ? document : `${document}#${anchorOf(heading)}`,
    }));

/** The decisions that have a file of their own, by its name. One whose name does not begin with the decision's number is left out. */
export const decisionFiles = (): Decision[] =>
  readdirSync(`${docs}decisions`)
    .filter((name) => name !== "README.md")
    .toSorted()
    .flatMap((name) =>
      decisionsIn(`decisions/${name}`, "#").filter(({ number }) => number === `ADR-${name.slice(0, "000".length)}`),
    );

/** The decisions of the history, in its order. */
export const decisionsOfHistory = (): Decision[] => decisionsIn("history.md", "###");
