import { globSync, readFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What one line of the table in `docs/architecture.md` says. */
interface Room {
  /** Folders and files, as paths. A folder is itself without the folders in it that have lines of their own. */
  places: string[];
  mayImport: string[];
  /** Its own subfolders, and packages, that it may not import. */
  mayNot: string[];
}

const namesIn = (list: string): string[] => list.split(", ").map((name) => name.trim());

/** Returns the path that a name of the table stands for: it is below `src/services`, or else below `src`. */
const pathOf = (name: string): string => {
  if (name === "package.json") return name;
  const found = [`src/services/${name}`, `src/${name}`].find((path) => globSync(path, { cwd: root }).length > 0);
  if (found === undefined) throw new Error(`docs/architecture.md: there is no ${name} in src or src/services`);
  return found;
};

/**
 * Reads the table of imports: `name → names; not names`, where `name = names` gives several of them one name.
 * @throws Error where a line has no such form, or names what is not there
 */
export const readRooms = (page: string): Room[] => {
  const table = /^## Imports go one way$[\s\S]*?^```\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? "";
  const groups = new Map<string, string[]>();
  const resolved = (names: string[]): string[] => [
    ...new Set(names.flatMap((name) => (name === "nothing" ? [] : (groups.get(name) ?? [pathOf(name)])))),
  ];
  return table.split("\n").flatMap((line): Room[] => {
    if (line.trim() === "") return [];
    const group = /^(\S+) += (.+)$/.exec(line);
    if (group) groups.set(group[1] ?? "", resolved(namesIn(group[2] ?? "")));
    const room = /^(\S+(?:, \S+)*) +→ (.+?)(?:; not (.+))?$/.exec(line);
    if (!group && !room) throw new Error(`docs/architecture.md: this line of the imports is not understood: ${line}`);
    if (!room) return [];
    const [, names = "", mayImport = "", mayNot] = room;
    return [
      {
        places: resolved(namesIn(names)),
        mayImport: resolved(namesIn(mayImport)),
        mayNot: mayNot ? namesIn(mayNot) : [],
      },
    ];
  });
};

const isFile = (place: string): boolean => /\.(ts|json)$/.test(place);

/** Returns the pattern that matches a place's files as an import in a folder writes them. */
const patternOf = (place: string, from: string, places: readonly string[]): string => {
  const path = relative(from, place) || ".";
  const written = path.startsWith(".") ? path : `./${path}`;
  if (isFile(place)) return written;
  return `${written}/${places.some((other) => dirname(other) === place && !isFile(other)) ? "*.ts" : "**"}`;
};

/** Returns the rules of one folder, or of one file. */
const rulesOf = (place: string, { mayImport, mayNot }: Room, places: readonly string[]) => {
  const folder = isFile(place) ? dirname(place) : place;
  const allowed = mayImport.map((other) => `!${patternOf(other, folder, places)}`);
  const refused = mayNot.map((name) =>
    globSync(`${folder}/${name}`, { cwd: root }).length > 0 ? `./${name}/**` : name,
  );
  const group = [...(isFile(place) ? ["./**"] : []), "../**", ...allowed, ...refused];
  return {
    includes: [isFile(place) ? place : `${place}/*.{ts,tsx}`],
    linter: {
      rules: {
        style: {
          noRestrictedImports: {
            level: "error",
            options: { patterns: [{ group, message: `See "Imports go one way" in docs/architecture.md.` }] },
          },
        },
      },
    },
  };
};

/** Returns `biome.rooms.jsonc`, which has Biome check the imports of each folder: an editor shows a wrong one at once. */
export const roomRules = (): string => {
  const rooms = readRooms(readFileSync(`${root}docs/architecture.md`, "utf8"));
  const places = rooms.flatMap((room) => room.places);
  const overrides = rooms
    .flatMap((room) => room.places.map((place) => ({ place, room })))
    // A file's own rules come after those of its folder.
    .toSorted((one, other) => Number(isFile(one.place)) - Number(isFile(other.place)))
    .map(({ place, room }) => rulesOf(place, room, places));
  return `// Written by "npm run rooms" from the table in docs/architecture.md: change that.
{
  "$schema": "./node_modules/@biomejs/biome/configuration_schema.json",
  "linter": { "rules": { "suspicious": { "noImportCycles": { "level": "error", "options": { "ignoreTypes": false } } } } },
  "overrides": [
    ${overrides.map((rules) => JSON.stringify(rules)).join(",\n    ")}
  ]
}
`;
};
