import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { statechartFiles } from "./statecharts/files.ts";

/** Writes `statecharts/`: pictures, data and a page that explains them, all made from the machines. */
const folder = fileURLToPath(new URL("../statecharts", import.meta.url));
const files = await statechartFiles();
rmSync(folder, { recursive: true, force: true });
for (const inside of ["sheets", "stories"]) mkdirSync(`${folder}/${inside}`, { recursive: true });
for (const [name, text] of Object.entries(files)) writeFileSync(`${folder}/${name}`, text);
process.stdout.write(`statecharts: ${Object.keys(files).length} files written\n`);
