/** The first `length` characters, but never half of one: a lone surrogate makes a request that providers refuse. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
