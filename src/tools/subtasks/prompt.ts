import { quoted } from "../arguments.ts";

/**
 * A reference to something that the subtask needs: a line of text, or an object whose values are such lines, as the
 * specification (from a system called Coauthor) has them.
 */
export type ArtifactRef = string | Record<string, unknown>;

const isLine = (text: string): boolean => text.trim() !== "" && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);

/** Fields that say where the artifact is; other fields give details. */
const LOCATION_FIELDS = ["path", "uri", "url"];

/** Returns a field's value as text, or undefined if it does not fit on one line. */
const lineOf = (value: unknown): string | undefined => {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && isLine(value) ? value : undefined;
};

/** Writes a reference on one line, such as `docs/plan.md (kind: file_range, lineStart: 3)`; undefined if that is impossible. */
const textOf = (ref: ArtifactRef): string | undefined => {
  if (typeof ref === "string") return lineOf(ref);
  const fields = Object.entries(ref).filter(([, value]) => value !== null);
  const lines = fields.map(([name, value]) => ({ name, line: isLine(name) ? lineOf(value) : undefined }));
  if (lines.length === 0 || lines.some(({ line }) => line === undefined)) return undefined;
  const location = lines.find(({ name }) => LOCATION_FIELDS.includes(name));
  const others = lines.filter((field) => field !== location).map(({ name, line }) => `${name}: ${line}`);
  if (location === undefined) return others.join(", ");
  return others.length === 0 ? location.line : `${location.line} (${others.join(", ")})`;
};

/**
 * Writes the prompt of a subtask: the intent (without one, the title) and its artifacts.
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
