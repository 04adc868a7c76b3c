/** Where a generated text stands in a page: between two comments that name it. */
const find = (page: string, name: string): [from: number, to: number] => {
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`The page has no place for its ${name}: it stands between "${begin.trim()}" and "${end}"`);
  return [from + begin.length, to];
};

/** The text in the place of that name. */
export const textIn = (page: string, name: string): string => page.slice(...find(page, name)).trim();

/** The page with another text in the place of that name. */
export const placed = (page: string, name: string, text: string): string => {
  const [from, to] = find(page, name);
  return `${page.slice(0, from)}\n${text}\n\n${page.slice(to)}`;
};
