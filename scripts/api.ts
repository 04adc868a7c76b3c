import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { apiPage } from "./api-page.ts";

/** Writes `docs/api.md` from what the status API says of itself. */
writeFileSync(fileURLToPath(new URL("../docs/api.md", import.meta.url)), apiPage());
process.stdout.write("docs/api.md written\n");
