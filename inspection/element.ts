/** Returns the element that matches the selector. Throws when the page has none. */
export const find = <E extends Element>(selector: string, within: ParentNode = document): E => {
  const found = within.querySelector<E>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
};

/** Creates an element with this class and this text or these children. */
export const make = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] => {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.append(...content);
  return element;
};
