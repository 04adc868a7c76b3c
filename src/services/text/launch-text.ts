import type { AnyStateNode } from "xstate";
import { launchMachine } from "../../machines/launch/machine.ts";
import { withAllAround } from "../../machines/place.ts";
import { type OwnText, own, quoteLine } from "./own-text.ts";

/** What the chart says of a state of a launch. */
const descriptionOf = (state: string): string => {
  const inside = (node: AnyStateNode | undefined, name: string): AnyStateNode | undefined => node?.states[name];
  return state.split(".").reduce(inside, launchMachine.root)?.description ?? "";
};

/** Says what a launch is doing, by the state of its chart: of those around that state, the next one says what that is for. */
export const launchState = (states: readonly string[]): string =>
  states
    .flatMap((state) => withAllAround(state).slice(0, 2).reverse())
    .map(descriptionOf)
    .join(" ");

/** Says what becomes of a launch that is stored, and not carried out by this process. */
export const launchElsewhere = (of: "other" | "ended", directory: string): OwnText =>
  of === "other"
    ? own`Another OpenCode process carries it out, or removes what it has left.`
    : own`Its process has ended. The session that may have been created for it is deleted when ${quoteLine(directory)} is opened in OpenCode.`;
