import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const modules = fileURLToPath(new URL("../node_modules/", import.meta.url));

/** A part of what the bundler says of its work with `--metafile`. */
interface Metafile {
  outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
}

/** The package that a file belongs to; of packages within packages, the inner one. */
const PACKAGE = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/** Returns the names of the packages of which there is code in what was bundled, by the bundler's own account. */
export const packagesIn = (metafile: string): string[] => {
  const { outputs } = JSON.parse(readFileSync(metafile, "utf8")) as Metafile;
  const files = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? path : [])),
  );
  return [...new Set(files.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []))];
};

const LICENCE_FILE = /^(licen[cs]e|copying)/i;

/** The licences that a package without a text of its own may name. */
const WITHOUT_TEXT: Readonly<Record<string, string>> = {
  MIT: `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`,
};

interface Manifest {
  version: string;
  license?: string;
  author?: string | { name: string };
}

const licenceOf = (name: string): string => {
  const folder = `${modules}${name}`;
  const manifest = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as Manifest;
  const { version, license = "", author = name } = manifest;
  const [file] = readdirSync(folder).filter((entry) => LICENCE_FILE.test(entry));
  const heading = `${name} ${version} (${license})`;
  if (file !== undefined) return `${heading}\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}`;
  const text = WITHOUT_TEXT[license];
  if (text === undefined) throw new Error(`The package ${name} is bundled, and has no licence text: "${license}".`);
  return `${heading}\n\nCopyright (c) ${typeof author === "string" ? author : author.name}\n\n${text}`;
};

/** Writes the licences of these packages, which their terms want to go with their code. */
export const licencesOf = (packages: Iterable<string>): string => {
  const rule = `\n\n${"-".repeat(80)}\n\n`;
  const heading = "The files of this folder contain code of these packages, each under its own licence.";
  return `${[heading, ...[...new Set(packages)].sort().map(licenceOf)].join(rule)}\n`;
};
