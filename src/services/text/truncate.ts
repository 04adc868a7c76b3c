/**
 * The first `length` characters (UTF-16 units), but never half of a pair: a lone surrogate makes a request that providers
 * refuse. What several pairs make together, such as a flag, may be cut.
 */
export const truncate = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");

/** The text without its first `length` characters, and without the other half of a pair that is cut so. */
export const truncateStart = (text: string, length: number): string =>
  length <= 0 ? text : text.slice(length).replace(/^[\uDC00-\uDFFF]/, "");
