import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { fleetMistakes } from "../test/chaos/fleet/planted-mistakes.ts";
import { plantedMistakes, type Replacement, replacementsOf } from "../test/chaos/planted-mistakes.ts";
import { replaced } from "./replaced.ts";

/*
 * Loaded before everything else (`node --import`), this has modules loaded with a mistake in them: the one that the
 * environment variable PLANTED_MISTAKE names, or the one that PLANTED_REPLACEMENT has as JSON.
 */

const named = (name: string | undefined): Replacement[] => {
  const planted = [...plantedMistakes, ...fleetMistakes].find((mistake) => mistake.name === name);
  if (!planted) throw new Error(`PLANTED_MISTAKE names no mistake: ${name}`);
  return replacementsOf(planted);
};

const { PLANTED_MISTAKE, PLANTED_REPLACEMENT } = process.env;
const replacements =
  PLANTED_REPLACEMENT === undefined ? named(PLANTED_MISTAKE) : [JSON.parse(PLANTED_REPLACEMENT) as Replacement];

const sources = new Map<string, string>();
for (const replacement of replacements) {
  const place = new URL(`../${replacement.file}`, import.meta.url).href;
  sources.set(place, replaced(sources.get(place) ?? readFileSync(fileURLToPath(place), "utf8"), replacement));
}

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const source = sources.get(url);
    return source === undefined ? loaded : { ...loaded, source };
  },
});
