// The compiler asks for quotes around what others wrote: docs/decisions/100-messages-are-made-of-own-text.md
import { escapeUnprintable, truncate, truncateLine } from "../platform/plain-text.ts";

declare const isOwn: unique symbol;
declare const isLine: unique symbol;

/**
 * A text that the plugin may present as its own: its own words, and the words of others only as quotations. Agents, models,
 * providers, tools and files can write anything, including text that pretends to come from the plugin or the user. The
 * compiler treats every `string` as foreign until a function of this module has quoted it.
 * @example own`Task ${nameOf(taskId)} failed: ${quoteLine(error.message)}`
 */
export type OwnText = string & { readonly [isOwn]: true };

/** A line that ends with foreign words without quotation marks, so nothing may follow them on that line. */
export type OwnLine = string & { readonly [isLine]: true };

/** Characters that a quotation has at most unless the caller says otherwise: a task's description always fits. */
const QUOTED_CHARS = 200;

/** Appears in the compiler's error message for a foreign text. */
interface QuoteItFirst {
  readonly quoteItFirst: "with quoteLine, quoteBlock, nameOf or endWith";
}

/** Accepts literals and own text; rejects what the compiler knows only as a `string`. */
type Own<Value> = string extends Value ? QuoteItFirst : unknown;
type OwnOnItsLine<Value> = Value extends OwnLine ? QuoteItFirst : Own<Value>;

/** Template tag that creates own text. Only numbers, literals and own text may be inserted. */
export const own = <Values extends readonly (string | number)[]>(
  words: TemplateStringsArray,
  ...values: Values & { [Index in keyof Values]: OwnOnItsLine<Values[Index]> }
): OwnText => words.reduce((text, word, index) => `${text}${values[index - 1]}${word}`) as OwnText;

/** Joins own texts, each on a line of its own. Empty and undefined parts are left out. */
export const lines = <Values extends readonly (string | undefined)[]>(
  ...parts: Values & { [Index in keyof Values]: Own<Values[Index]> }
): OwnText => parts.filter((part) => part !== undefined && part !== "").join("\n") as OwnText;

/** Joins own texts with a separator. Undefined parts are left out. */
export const join = (parts: readonly (OwnText | undefined)[], separator: " " | ", " | "; " | " · " | "\n\n"): OwnText =>
  parts.filter((part) => part !== undefined).join(separator) as OwnText;

/** Declares a plain string to be own text: one from a library, or from the command line that started this process. */
export const vouchFor = (text: string): OwnText => text as OwnText;

/**
 * Quotes foreign words on one line, cut after `most` characters. Quotation marks and backslashes inside are escaped with a
 * backslash.
 */
export const quoteLine = (text: string, most = QUOTED_CHARS): OwnText =>
  `"${truncateLine(text, most).replaceAll(/["\\]/g, "\\$&")}"` as OwnText;

/** Returns an id, or the name of an agent, a model, a tool or a state: unchanged if it is one plain word, otherwise quoted. */
export const nameOf = (text: string): OwnText =>
  /^[\w./:@-][\w./:@#-]{0,99}$/.test(text) ? (text as OwnText) : quoteLine(text, 100);

/** Everything that any program treats as the end of a line. */
export const LINE_END = /\r\n|[\n\r\v\f\x85\u2028\u2029]/;

/**
 * Quotes foreign words as a block, each line after `> `. Control characters and lone surrogates are replaced by `�`,
 * since some providers refuse them.
 */
export const quoteBlock = (text: string): OwnText =>
  text
    .toWellFormed()
    .split(LINE_END)
    .map((line) => (line === "" ? ">" : `> ${line.replaceAll(/[^\P{Cc}\t]/gu, "\uFFFD")}`))
    .join("\n") as OwnText;

/**
 * Returns own words followed by foreign words up to the end of the line, without quotation marks or escapes: for a user
 * who has to judge the exact text. More than `most` characters are cut.
 */
export const endWith = (words: OwnText, text: string, most: number): OwnLine =>
  `${words} ${truncateLine(text, most)}` as OwnLine;

/** Returns own words followed by a value as JSON up to the end of the line. More than `most` characters are cut. */
export const endWithJson = (words: OwnText, value: unknown, most: number): OwnLine => {
  const json = escapeUnprintable(JSON.stringify(value) ?? "");
  return `${words} ${truncate(json, most)}${json.length > most ? "…" : ""}` as OwnLine;
};
