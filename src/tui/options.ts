/** The options of the panel, as `tui.json` gives them. */
export interface PanelOptions {
  /** Opens the list of tasks; undefined: none does. In OpenCode's words, such as `ctrl+t` or `<leader>k`. */
  key: string | undefined;
  /** Goes back from a task to where one was. */
  backKey: string | undefined;
}

/** Free in OpenCode 1.18, and of no meaning in its prompt: `ctrl+b` moves its cursor, and has OpenCode's own subagents go on alone. */
const DEFAULTS: PanelOptions = { key: "<leader>k", backKey: "<leader>j" };

/** Reads the options. What is wrong has its default, and a sentence that says so. */
export const readPanelOptions = (
  given: Readonly<Record<string, unknown>> = {},
): { options: PanelOptions; faults: string[] } => {
  const options: PanelOptions = { ...DEFAULTS };
  const faults: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (name !== "key" && name !== "backKey")
      faults.push(`There is no option "${name}": the panel has "key" and "backKey".`);
    else if (value === false) options[name] = undefined;
    else if (typeof value === "string" && value.trim() !== "") options[name] = value.trim();
    else faults.push(`"${name}" must be a key such as "<leader>k", or false for none; it is "${DEFAULTS[name]}" now.`);
  }
  return { options, faults };
};
