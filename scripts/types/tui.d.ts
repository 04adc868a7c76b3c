/** The panel, as the terminal interface of OpenCode 1 starts it. Its options are described in docs/panel.md. */
declare const panel: {
  readonly id: string;
  tui(api: never, options?: Readonly<Record<string, unknown>>): Promise<void>;
};

export default panel;
