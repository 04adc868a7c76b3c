import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { roomRules } from "./room-rules.ts";

/** Writes `biome.rooms.jsonc` from the table in `docs/architecture.md`. */
writeFileSync(fileURLToPath(new URL("../biome.rooms.jsonc", import.meta.url)), roomRules());
process.stdout.write("biome.rooms.jsonc written\n");
