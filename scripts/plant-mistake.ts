import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { fleetMistakes } from "../test/chaos/fleet/planted-mistakes.ts";
import { plantedMistakes, replacementsOf } from "../test/chaos/planted-mistakes.ts";

/*
 * Loaded before everything else (`node --import`), this has modules loaded with a mistake in them: the one that the
 * environment variable PLANTED_MISTAKE names.
 */

const name = process.env.PLANTED_MISTAKE;
const planted = [...plantedMistakes, ...fleetMistakes].find((mistake) => mistake.name === name);
if (!planted) throw new Error(`PLANTED_MISTAKE names no mistake: ${name}`);

const sources = new Map<string, string>();
for (const { file, code, mistake } of replacementsOf(planted)) {
  const place = new URL(`../${file}`, import.meta.url).href;
  const source = sources.get(place) ?? readFileSync(fileURLToPath(place), "utf8");
  if (source.split(code).length !== 2) {
    throw new Error(`"${planted.name}": ${file} does not have this text once, so it cannot be replaced: ${code}`);
  }
  sources.set(
    place,
    source.replace(code, () => mistake),
  );
}

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const source = sources.get(url);
    return source === undefined ? loaded : { ...loaded, source };
  },
});
