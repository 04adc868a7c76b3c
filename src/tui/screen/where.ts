import { hostname, networkInterfaces } from "node:os";
import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { otherMachine, otherMachineText } from "../model/place.ts";

/** Returns the address of the server that the interface is attached to. OpenCode's client has it in a part of its own. */
const addressOf = ({ client }: Pick<TuiPluginApi, "client">): string | undefined => {
  const inner: unknown = Reflect.get(client, "client");
  if (typeof inner !== "object" || inner === null || !("getConfig" in inner)) return undefined;
  const config: unknown = typeof inner.getConfig === "function" ? inner.getConfig() : undefined;
  if (typeof config !== "object" || config === null || !("baseUrl" in config)) return undefined;
  return typeof config.baseUrl === "string" ? config.baseUrl : undefined;
};

/** Returns why the tasks cannot be shown here: they run on another machine; undefined where they can. */
export const whyUnreachable = (api: Pick<TuiPluginApi, "client">): string | undefined => {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
  const other = otherMachine(addressOf(api), new Set([hostname().toLowerCase(), ...addresses]));
  return other === undefined ? undefined : otherMachineText(other);
};
