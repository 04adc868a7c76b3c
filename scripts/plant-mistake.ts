import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { plantedMistakes } from "../test/chaos/planted-mistakes.ts";

/*
 * Loaded before everything else (`node --import`), this has one module loaded with a mistake in it: the one that the
 * environment variable PLANTED_MISTAKE names.
 */

const name = process.env.PLANTED_MISTAKE;
const planted = plantedMistakes.find((mistake) => mistake.name === name);
if (!planted) throw new Error(`PLANTED_MISTAKE names no mistake: ${name}`);

const place = new URL(`../${planted.file}`, import.meta.url).href;
const source = readFileSync(fileURLToPath(place), "utf8");
if (source.split(planted.code).length !== 2) {
  throw new Error(
    `"${planted.name}": ${planted.file} does not have this text once, so it cannot be replaced: ${planted.code}`,
  );
}

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    return url === place ? { ...loaded, source: source.replace(planted.code, () => planted.mistake) } : loaded;
  },
});
