import { escapeUnprintable, truncate, truncateLine } from "../platform/plain-text.ts";

declare const isOwn: unique symbol;
declare const isLine: unique symbol;

/**
 * A text that messages of ours are made of: our own words, and the words of others as quotations only. Agents, models,
 * providers, tools and files write the rest, and any of it may read as if we, or the user, had said it. The compiler
 * takes every `string` for theirs until it has been through a function of this module.
 */
export type OwnText = string & { readonly [isOwn]: true };

/** A line that ends with the words of others, without quotation marks: nothing can follow on it. */
export type OwnLine = string & { readonly [isLine]: true };

/** Characters that a quotation has at most unless the caller says otherwise: a task's description always fits. */
const QUOTED_CHARS = 200;

/** What the compiler says of a text that may be anybody's. */
interface QuoteItFirst {
  readonly quoteItFirst: "with quoteLine, quoteBlock, nameOf or endWith";
}

/** Literals are our own words too; what the compiler knows only as a `string` is not. */
type Own<Value> = string extends Value ? QuoteItFirst : unknown;
type OwnOnItsLine<Value> = Value extends OwnLine ? QuoteItFirst : Own<Value>;

/** Own text from a template. Only numbers, literals and own text fit in it. */
export const own = <Values extends readonly (string | number)[]>(
  words: TemplateStringsArray,
  ...values: Values & { [Index in keyof Values]: OwnOnItsLine<Values[Index]> }
): OwnText => String.raw({ raw: words }, ...values) as OwnText;

/** Own text on lines of its own; what is empty or undefined is left out. */
export const lines = <Values extends readonly (string | undefined)[]>(
  ...parts: Values & { [Index in keyof Values]: Own<Values[Index]> }
): OwnText => parts.filter((part) => part !== undefined && part !== "").join("\n") as OwnText;

/** Own texts, one after the other; what is undefined is left out. */
export const join = (parts: readonly (OwnText | undefined)[], separator: " " | ", " | " · " | "\n\n"): OwnText =>
  parts.filter((part) => part !== undefined).join(separator) as OwnText;

/** A text that is ours though it comes as a mere string, from a library or from the command line that we are called by. */
export const vouchFor = (text: string): OwnText => text as OwnText;

/**
 * The words of others in quotation marks, on one line; longer ones are cut after `most` characters. A mark or a backslash
 * within has a backslash before it.
 */
export const quoteLine = (text: string, most = QUOTED_CHARS): OwnText =>
  `"${truncateLine(text, most).replaceAll(/["\\]/g, "\\$&")}"` as OwnText;

/** An id, or the name of an agent, a tool or a state: as it is where it is one plain word, otherwise quoted. */
export const nameOf = (text: string): OwnText =>
  /^[\w./:@-]{1,100}$/.test(text) ? (text as OwnText) : quoteLine(text, 100);

/** What anything takes for the end of a line. */
const LINE_END = /\r\n|[\n\r\v\f\x85\u2028\u2029]/;

/**
 * The words of others, as many lines as they have, each after `> `. They are as they were, but for control characters
 * and halves of characters: `�` stands for each, since providers refuse some.
 */
export const quoteBlock = (text: string): OwnText =>
  text
    .toWellFormed()
    .split(LINE_END)
    .map((line) => (line === "" ? ">" : `> ${line.replaceAll(/[^\P{Cc}\t]/gu, "\uFFFD")}`))
    .join("\n") as OwnText;

/** Own words, and after them to the end of the line what another said, exactly: for people, who judge it. */
export const endWith = (words: OwnText, text: string, most: number): OwnLine =>
  `${words} ${truncateLine(text, most)}` as OwnLine;

/** Own words, and after them a value as JSON; more than `most` characters of it are cut. */
export const endWithJson = (words: OwnText, value: unknown, most: number): OwnLine => {
  const json = escapeUnprintable(JSON.stringify(value) ?? "");
  return `${words} ${truncate(json, most)}${json.length > most ? "…" : ""}` as OwnLine;
};
