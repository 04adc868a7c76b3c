import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { optionsPage } from "./options-page.ts";

/** Writes `docs/options.md` from the schema in `src/options.ts`. */
writeFileSync(fileURLToPath(new URL("../docs/options.md", import.meta.url)), optionsPage());
process.stdout.write("docs/options.md written\n");
