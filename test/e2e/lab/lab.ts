import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Config, OpencodeClient } from "@opencode-ai/sdk/v2/client";
import { PATIENCE_MS } from "../../patience.ts";
import { type Events, subscribe } from "./events.ts";
import { newHome, type OpenCodeOptions, type PluginSpec, removeHome } from "./home.ts";
import { type OpenCode, startOpenCode } from "./opencode.ts";
import { poll } from "./polling.ts";
import { now } from "./recording.ts";
import { refuseEndedTest } from "./running-test.ts";
import { type ScriptedModel, startModel } from "./scripted-model.ts";
import { isSettled } from "./settled.ts";
import { type SessionMessage, transcript } from "./transcript.ts";

export type LabOptions = {
  /** Default: this repository, built, as the README names it, and without options. */
  plugin?: PluginSpec | "none";
  /** Merged into the configuration. By default nothing asks for permission. */
  config?: Config;
  /** Merged into OpenCode's environment; `undefined` takes a variable away. */
  env?: Record<string, string | undefined>;
  /** A home that exists already and stays. Default: a new one, removed at the end. */
  home?: string;
  /** A model that answers already and goes on. Default: a new one, stopped at the end. */
  model?: ScriptedModel;
};

/** A prompt's own choice; what is left out is OpenCode's default, which is not always the session's. */
type PromptOptions = { agent?: string; model?: { providerID: string; modelID: string }; variant?: string };

/** A real OpenCode with a scripted model, and the verbs that scenarios are written in. Waits give up after `PATIENCE_MS`. */
export type Lab = {
  readonly model: ScriptedModel;
  readonly opencode: OpenCode;
  readonly client: OpencodeClient;
  readonly events: Events;
  /** How OpenCode was started: to start a second one, or `opencode run`, in the same home. */
  readonly options: OpenCodeOptions & { home: string };
  /** Creates a session, a root one unless `parentID` is given, and resolves to its id. Default title: "lab". */
  session(options?: SessionOptions): Promise<string>;
  /** Sends a prompt and does not wait for the answer. */
  prompt(sessionID: string, text: string, options?: PromptOptions): Promise<void>;
  /** Sends a prompt, waits until the session is idle again, and resolves to all its messages. */
  ask(sessionID: string, text: string, options?: PromptOptions): Promise<SessionMessage[]>;
  /** Waits until the session has worked since the last prompt that this lab sent to it, and is at rest. */
  idle(sessionID: string, options?: { timeoutMs?: number }): Promise<void>;
  messages(sessionID: string): Promise<SessionMessage[]>;
  /** The session as short lines, for assertions; see `transcript`. */
  texts(sessionID: string): Promise<string[]>;
  /**
   * Asks until the answer is truthy, and resolves to it: when OpenCode tells of an event, and every 50 to 100 ms. Rejects
   * after `timeoutMs` with `what`.
   */
  until<T>(
    condition: () => T | Promise<T>,
    options: { what: string; timeoutMs?: number },
  ): Promise<Exclude<T, undefined | null | false>>;
  /**
   * Starts OpenCode again in the same home, after stopping it if it still runs; for a crash, `opencode.kill()` first.
   * `opencode`, `client` and `events` are new then. Options that are left out stay as they were.
   */
  restart(changes?: Pick<LabOptions, "plugin" | "config" | "env">): Promise<void>;
  /** Ends everything, and removes a home that was made for it. */
  stop(): Promise<void>;
};

type SessionOptions = NonNullable<Parameters<OpencodeClient["session"]["create"]>[0]>;

/**
 * Whether a session has answered the newest message with that text, or one after it. A prompt that comes while the session
 * ends its turn before is answered in a turn of its own: the idle in between says nothing.
 */
const hasAnswerTo = (text: string, messages: SessionMessage[]): boolean => {
  const place = messages.findLastIndex(
    ({ info, parts }) => info.role === "user" && parts.some((part) => part.type === "text" && part.text === text),
  );
  const prompts = messages.slice(Math.max(0, place)).flatMap(({ info }) => (info.role === "user" ? info.id : []));
  return messages.some(
    ({ info }) => info.role === "assistant" && prompts.includes(info.parentID) && info.time.completed !== undefined,
  );
};

const repository = new URL("../../..", import.meta.url);
const builtPlugin = new URL("dist/index.js", repository);

/** Starts a scripted model and an OpenCode that uses it, and resolves when both can be used; takes about 2 s. */
export async function startLab(labOptions: LabOptions = {}): Promise<Lab> {
  const plugins = pluginsOf(labOptions.plugin);
  const model = labOptions.model ?? (await startModel());
  const home = labOptions.home ?? (await newHome());
  let options: Lab["options"] = { modelURL: model.url, home, plugins, ...pick(labOptions) };

  /** Ends what outlives a server. */
  async function clear(): Promise<void> {
    if (labOptions.model === undefined) await model.stop();
    if (labOptions.home === undefined) await removeHome(home);
  }

  let { opencode, events } = await startWatched(options).catch(async (error: unknown) => {
    await clear();
    throw error;
  });
  /** When this lab last prompted a session: "idle" means after that. */
  const promptedAt = new Map<string, number>();

  async function stopOpenCode(): Promise<void> {
    events.stop();
    await opencode.stop();
  }

  const lab: Lab = {
    model,
    get opencode() {
      return opencode;
    },
    get client() {
      return opencode.client;
    },
    get events() {
      return events;
    },
    get options() {
      return options;
    },
    async session(sessionOptions = {}) {
      // A title of its own, or OpenCode would ask the model for one.
      const created = await lab.client.session.create({ title: "lab", ...sessionOptions }, { throwOnError: true });
      return created.data.id;
    },
    async prompt(sessionID, text, promptOptions = {}) {
      refuseEndedTest();
      promptedAt.set(sessionID, now());
      const parts = [{ type: "text" as const, text }];
      await lab.client.session.promptAsync({ sessionID, parts, ...promptOptions }, { throwOnError: true });
    },
    async ask(sessionID, text, promptOptions) {
      await lab.prompt(sessionID, text, promptOptions);
      const answered = async () => {
        await lab.idle(sessionID);
        const messages = await lab.messages(sessionID);
        return hasAnswerTo(text, messages) && messages;
      };
      return lab.until(answered, { what: `session ${sessionID} has answered "${text}"` });
    },
    async idle(sessionID, { timeoutMs = PATIENCE_MS } = {}) {
      const since = promptedAt.get(sessionID) ?? 0;
      const ends = new Set(["session.status", "session.error", "message.updated"]);
      const what = `session ${sessionID} did not work and come to rest`;
      const settled = () => isSettled(events.of(sessionID), since);
      await events.waitFor((event) => ends.has(event.type) && settled(), { sessionID, timeoutMs, what });
    },
    async messages(sessionID) {
      return (await lab.client.session.messages({ sessionID }, { throwOnError: true })).data;
    },
    async texts(sessionID) {
      return transcript(await lab.messages(sessionID));
    },
    async until(condition, { what, timeoutMs = PATIENCE_MS }) {
      const answer = await poll(condition, timeoutMs, () => events.next());
      if (answer === undefined) throw new Error(`not within ${timeoutMs} ms: ${what}`);
      return answer;
    },
    async restart(changes = {}) {
      refuseEndedTest();
      await stopOpenCode();
      const changed = changes.plugin === undefined ? options.plugins : pluginsOf(changes.plugin);
      options = { ...options, ...pick(changes), plugins: changed };
      ({ opencode, events } = await startWatched(options));
    },
    async stop() {
      await stopOpenCode();
      await clear();
    },
  };
  return lab;
}

async function startWatched(options: OpenCodeOptions): Promise<{ opencode: OpenCode; events: Events }> {
  const opencode = await startOpenCode(options);
  try {
    return { opencode, events: await subscribe(opencode.client) };
  } catch (error) {
    // A configuration that OpenCode refuses shows only now, and only its other answers say what is wrong with it.
    const refusal = await opencode.client.config.get({}, { signal: AbortSignal.timeout(2000) });
    await opencode.kill();
    throw new Error(
      `${String(error)} ${JSON.stringify(refusal.error ?? "")}. The end of OpenCode's log:\n${opencode.log().slice(-4000)}`,
    );
  }
}

function pick({ config, env }: LabOptions): Pick<OpenCodeOptions, "config" | "env"> {
  return { ...(config && { config }), ...(env && { env }) };
}

/** The specs of a plugin as a lab is told of it; by default, of this repository as it is built. */
export function pluginsOf(plugin?: LabOptions["plugin"]): PluginSpec[] {
  if (plugin === "none") return [];
  if (plugin !== undefined) return [plugin];
  if (!existsSync(builtPlugin)) throw new Error(`${fileURLToPath(builtPlugin)} is missing: npm run build makes it`);
  return [repository.href];
}
