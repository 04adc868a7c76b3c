// In one directory, both the plugin and other plugins that use the entry `elisha` want an engine, and there is one
// (docs/decisions/306-elishas-exports-share-the-engine.md).
import type { Hooks, PluginInput } from "@opencode-ai/plugin";
import type { Engine } from "./services/engine/engine.ts";
import { createProcessParts, type DirectoryStart, type StartSettings, startIn } from "./start.ts";
import type { Tool } from "./tools/define-tool.ts";

/** A directory in which the plugin is started, for all who ask for it there. */
interface SharedStart {
  start: DirectoryStart;
  settings: StartSettings;
  /** True once the plugin itself is started here. */
  isPluginHere: boolean;
  /** By whose hooks OpenCode is heard: two that hand it the same ones would report all twice. */
  heardBy: symbol | undefined;
  /** True once OpenCode has closed the directory. */
  isClosed: boolean;
}

const createShared = () => ({
  parts: createProcessParts(),
  /**
   * By OpenCode's client and the directory. OpenCode makes a client each time that it opens a directory, and hands the same
   * one to all plugins there (seen in 1.18.33).
   */
  starts: new WeakMap<object, Map<string, SharedStart>>(),
});

const inProcess = globalThis as { [key: symbol]: ReturnType<typeof createShared> | undefined };
const REGISTER = Symbol.for("opencode-taskchart");
inProcess[REGISTER] ??= createShared();

/** What all copies of this code in the process share: each entry of the package has one, and OpenCode may load two packages. */
const shared = inProcess[REGISTER];

const startsWith = (client: object): Map<string, SharedStart> => {
  const starts = shared.starts.get(client) ?? new Map<string, SharedStart>();
  shared.starts.set(client, starts);
  return starts;
};

const create = (input: PluginInput, settings: StartSettings): SharedStart => ({
  start: startIn(input, settings, shared.parts),
  settings,
  isPluginHere: false,
  heardBy: undefined,
  isClosed: false,
});

/** Returns hooks that pass on what they are called with for as long as `isHeard`. */
const hooksWhile = (isHeard: () => boolean, hooks: DirectoryStart["hooks"], onDispose: () => void) => {
  const pass =
    <Args extends unknown[]>(hook: ((...args: Args) => Promise<void>) | undefined) =>
    async (...args: Args) => {
      if (isHeard()) await hook?.(...args);
    };
  return {
    config: pass(hooks.config),
    event: pass(hooks.event),
    "tool.execute.before": pass(hooks["tool.execute.before"]),
    "tool.execute.after": pass(hooks["tool.execute.after"]),
    "experimental.session.compacting": pass(hooks["experimental.session.compacting"]),
    "experimental.chat.messages.transform": pass(hooks["experimental.chat.messages.transform"]),
    dispose: pass(async () => {
      onDispose();
      await hooks.dispose?.();
    }),
  } satisfies Hooks;
};

const handOut = (here: SharedStart, name: symbol) =>
  hooksWhile(
    () => here.heardBy === name,
    here.start.hooks,
    () => {
      here.isClosed = true;
    },
  );

/** Returns the start in a directory that `isFit`; otherwise makes one. */
const startOf = (
  input: PluginInput,
  isFit: (here: SharedStart) => boolean,
  settings: () => StartSettings,
): SharedStart => {
  const starts = startsWith(input.client);
  const earlier = starts.get(input.directory);
  const here = earlier && isFit(earlier) ? earlier : create(input, settings());
  starts.set(input.directory, here);
  return here;
};

/**
 * Starts the plugin itself in a directory, with the options as `opencode.json` has them. Another plugin may have asked for its
 * engine before: then that has these options.
 */
export const startPluginIn = (input: PluginInput, given: unknown): Hooks => {
  const isFit = ({ isClosed, isPluginHere }: SharedStart) => !isClosed && !isPluginHere;
  const here = startOf(input, isFit, () => ({ given, handedOut: [] }));
  here.settings.given = given;
  here.isPluginHere = true;
  here.heardBy = Symbol("the plugin");
  return {
    get tool() {
      return here.start.tools();
    },
    ...handOut(here, here.heardBy),
  };
};

/**
 * Joins the start of the plugin in a directory, for another plugin that hands out the tools of the toolset `elisha`. Where the
 * plugin is not started there, this starts it, without options.
 */
const joinElisha = (input: PluginInput): SharedStart => {
  const settings = () => ({ given: { toolsets: ["elisha"] }, handedOut: [] });
  const here = startOf(input, ({ isClosed }) => !isClosed, settings);
  here.settings.handedOut = ["elisha"];
  return here;
};

/** Creates the tools of the toolset `elisha`, each time anew: what they are created with counts as it is then. */
export const elishaToolsIn = (input: PluginInput): (() => Record<string, Tool>) => {
  const { start } = joinElisha(input);
  return () => start.toolsOf("elisha");
};

/** Returns the hooks that such a plugin hands to OpenCode. They do nothing where OpenCode is heard by others already. */
export const elishaHooksIn = (input: PluginInput): Hooks => {
  const here = joinElisha(input);
  const name = Symbol("a plugin with the toolset elisha");
  here.heardBy ??= name;
  return handOut(here, name);
};

/**
 * Resolves to the engine of a directory, for a program that reads tasks.
 * @throws Error where OpenCode has closed the directory, or the engine cannot be started
 */
export const engineIn = async (input: PluginInput): Promise<Engine> => {
  if (startsWith(input.client).get(input.directory)?.isClosed) {
    throw new Error(`OpenCode has closed ${input.directory}: its tasks cannot be read from this plugin any more.`);
  }
  return joinElisha(input).start.engine();
};
