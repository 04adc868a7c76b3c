import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The pages in `inspection/`, by folder. */
export const PAGES = ["live", "stately"] as const;

/** A script for a browser with all that it imports, small. */
export const bundleForBrowser = (script: string): string =>
  execFileSync(`${root}/node_modules/.bin/bun`, ["build", script, "--target=browser", "--minify"], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  }).replaceAll("</script", "<\\/script");

/** A chart without what belongs to a file of its own; ids would be there once for each chart. */
const drawn = (file: string): string => {
  const text = readFileSync(file, "utf8");
  return text
    .slice(text.indexOf("<svg"))
    .replaceAll(/<!--.*?-->|<style.*?<\/style>/gs, "")
    .replaceAll(/ (?:id|xml:space|xmlns:xlink)="[^"]*"/g, "")
    .trim();
};

/** Where a file is put in: `{{task.svg}}`, and in a style or a script as a comment. `{{nonce}}` names no file. */
const PLACE = /\/\* \{\{([\w-]+\.\w+)\}\} \*\/|\{\{([\w-]+\.\w+)\}\}/g;

/** A page as one document with all that it needs. `{{nonce}}` stays, for whoever serves it. */
export const buildPage = (page: (typeof PAGES)[number]): string => {
  const folder = `${root}/inspection/${page}`;
  const contentOf = (file: string): string => {
    switch (extname(file)) {
      case ".ts":
        return bundleForBrowser(`${folder}/${file}`);
      case ".svg":
        return drawn(`${root}/statecharts/${file}`);
      default:
        return readFileSync(`${folder}/${file}`, "utf8");
    }
  };
  return readFileSync(`${folder}/index.html`, "utf8").replaceAll(PLACE, (_, inCode?: string, inText?: string) =>
    contentOf(inCode ?? inText ?? ""),
  );
};
