/** The plugin, as OpenCode 1 starts it. Its options are described in docs/options.md. */
declare const plugin: {
  readonly id: "opencode-taskchart";
  /** Starts the plugin for one directory, and resolves to its hooks. */
  server(input: never, options?: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>>;
  /** Says in OpenCode 2 that the plugin does not work there. */
  setup(context: unknown): void;
};

export default plugin;
