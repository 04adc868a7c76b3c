import { quoted } from "../arguments.ts";

/** A reference to something that the child needs: a line of text, or an object of such lines, as Coauthor has them. */
export type ArtifactRef = string | Record<string, unknown>;

const isLine = (text: string): boolean => text.trim() !== "" && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);

/** What says where it is; the other fields say more about it. */
const PLACES = ["path", "uri", "url"];

/** A field's value as text; undefined for what cannot stand on a line. */
const lineOf = (value: unknown): string | undefined => {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && isLine(value) ? value : undefined;
};

/** A reference on one line, such as `docs/plan.md (kind: file_range, lineStart: 3)`; undefined where that is impossible. */
const textOf = (ref: ArtifactRef): string | undefined => {
  if (typeof ref === "string") return lineOf(ref);
  const fields = Object.entries(ref).filter(([, value]) => value !== null);
  const lines = fields.map(([name, value]) => ({ name, line: isLine(name) ? lineOf(value) : undefined }));
  if (lines.length === 0 || lines.some(({ line }) => line === undefined)) return undefined;
  const place = lines.find(({ name }) => PLACES.includes(name));
  const others = lines.filter((field) => field !== place).map(({ name, line }) => `${name}: ${line}`);
  if (place === undefined) return others.join(", ");
  return others.length === 0 ? place.line : `${place.line} (${others.join(", ")})`;
};

/**
 * What the child is asked.
 * @throws Error for a reference that cannot be written on one line.
 */
export const promptOf = (title: string, intent: string | undefined, artifactRefs: ArtifactRef[]): string => {
  const lines = artifactRefs.map((ref) => {
    const line = textOf(ref);
    if (line !== undefined) return `- ${line}`;
    throw new Error(
      `artifactRefs holds ${quoted(ref)}, but each must be a line of text, or an object of such lines with a path or a URI.`,
    );
  });
  const prompt = intent ?? title;
  return lines.length === 0 ? prompt : `${prompt}\n\nArtifacts for this, as references:\n${lines.join("\n")}`;
};
