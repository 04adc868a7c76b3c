import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, extname } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { apiDocument } from "./api-document.ts";
import { writeReference } from "./api-html.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The pages, each with the document that it is made from. */
const DOCUMENTS = {
  live: "inspection/live/index.html",
  stately: "inspection/stately/index.html",
  board: "board/index.html",
  reference: "board/reference.html",
} as const;

/** The name of a page, and of the file that it becomes. */
export type PageName = keyof typeof DOCUMENTS;
export const PAGES = Object.keys(DOCUMENTS) as PageName[];

/** A script for a browser with all that it imports, small. `metafile`: where the bundler says what went into it. */
export const bundleForBrowser = (script: string, metafile?: string): string => {
  const account = metafile === undefined ? [] : [`--metafile=${metafile}`];
  return execFileSync(`${root}/node_modules/.bin/bun`, ["build", script, "--target=browser", "--minify", ...account], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", "pipe", "inherit"],
  }).replaceAll("</script", "<\\/script");
};

/** A chart without what belongs to a file of its own; ids would be there once for each chart. */
const drawn = (file: string): string => {
  const text = readFileSync(file, "utf8");
  return text
    .slice(text.indexOf("<svg"))
    .replaceAll(/<!--.*?-->|<style.*?<\/style>/gs, "")
    .replaceAll(/ (?:id|xml:space|xmlns:xlink)="[^"]*"/g, "")
    .trim();
};

/** The sheets of a chart, each in a template by its name. */
const sheetsOf = (chart: string): string =>
  readdirSync(`${root}/statecharts/sheets`)
    .filter((name) => name.startsWith(`${chart}.`))
    .map(
      (name) =>
        `<template data-sheet="${basename(name, ".svg")}">${drawn(`${root}/statecharts/sheets/${name}`)}</template>`,
    )
    .join("\n");

/** Where a file is put in: `{{task.svg}}`, `{{task.sheets}}`, and in a style or a script as a comment. `{{nonce}}` names no file. */
const PLACE = /\/\* \{\{([\w-]+\.\w+)\}\} \*\/|\{\{([\w-]+\.\w+)\}\}/g;

/**
 * Returns a page as one document with all that it needs. `{{reference}}` stands for the description of the API; `{{nonce}}`, and
 * what else has no extension, stays for whoever serves it. `account` returns where the bundler is to say what went into a script.
 */
export const buildPage = (page: PageName, account?: () => string): string => {
  const path = `${root}/${DOCUMENTS[page]}`;
  const fileOf = (name: string): string => {
    const own = `${dirname(path)}/${name}`;
    return existsSync(own) ? own : `${root}/inspection/chart/${name}`;
  };
  const contentOf = (name: string): string => {
    switch (extname(name)) {
      case ".ts":
      case ".tsx":
        return bundleForBrowser(fileOf(name), account?.());
      case ".svg":
        return drawn(`${root}/statecharts/${name}`);
      case ".sheets":
        return sheetsOf(basename(name, ".sheets"));
      default:
        return readFileSync(fileOf(name), "utf8");
    }
  };
  return readFileSync(path, "utf8")
    .replaceAll("{{reference}}", () => writeReference(apiDocument()))
    .replaceAll(PLACE, (_, inCode?: string, inText?: string) => contentOf(inCode ?? inText ?? ""));
};

/** Kilobytes of a built page's scripts as a server would compress them. */
export const compressedScriptKB = (html: string): number => {
  const scripts = [...html.matchAll(/<script[^>]*>(.*?)<\/script>/gs)].map(([, script = ""]) => script);
  return gzipSync(scripts.join("\n")).length / 1_000;
};
