import type { ModelRef } from "../../../task.ts";
import type { HostModel } from "../../host/host.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { modelName } from "../../text/model-and-server.ts";
import { join, nameOf, type OwnText, own, quoteLine } from "../../text/own-text.ts";

/** Names that an error suggests: a provider may have hundreds of models. */
const SUGGESTIONS = 5;

const joinNames = (names: readonly string[]): OwnText => join(names.map(nameOf), ", ");

const nearest = (kind: "models" | "variants", wanted: string, names: readonly string[]): OwnText => {
  if (names.length === 0) return own`There are none.`;
  const listed = joinNames(nearestNames(wanted, names, SUGGESTIONS));
  return names.length > SUGGESTIONS ? own`The nearest ${kind}: ${listed}.` : own`Its ${kind}: ${listed}.`;
};

const withoutVariant = ({ providerID, modelID }: HostModel): string => modelName({ providerID, modelID });

/**
 * Finds the model that a caller named as `provider/model` or `provider/model#variant`. The provider ends at the first
 * slash, since names of models may have slashes; they may have a `#`, too, so a model of the whole name comes first.
 * A failure names the part that is unknown, and the names that are most like it.
 */
export const findModel = (models: readonly HostModel[], wanted: string): Outcome<ModelRef> => {
  const find = (name: string) => models.find((model) => withoutVariant(model) === name);
  const whole = find(wanted);
  if (whole) return { ok: true, value: { providerID: whole.providerID, modelID: whole.modelID } };
  const mark = wanted.lastIndexOf("#");
  const name = mark < 0 ? wanted : wanted.slice(0, mark);
  const variant = mark < 0 ? undefined : wanted.slice(mark + 1);
  const model = find(name);
  if (!model) return unknownModel(models, name);
  const { providerID, modelID, variants } = model;
  if (variant !== undefined && variants.includes(variant)) return { ok: true, value: { providerID, modelID, variant } };
  if (variants.length === 0) {
    return fail(own`Model ${quoteLine(name)} has no variants: leave out ${quoteLine(`#${variant ?? ""}`)}.`);
  }
  const known = nearest("variants", variant ?? "", variants);
  return fail(own`Model ${quoteLine(name)} has no variant ${quoteLine(variant ?? "")}. ${known}`);
};

const unknownModel = (models: readonly HostModel[], name: string): Outcome<never> => {
  const slash = name.indexOf("/");
  const provider = slash < 0 ? undefined : name.slice(0, slash);
  const ofProvider = models.filter(({ providerID }) => providerID === provider);
  if (provider !== undefined && ofProvider.length > 0) {
    const known = nearest("models", name, ofProvider.map(withoutVariant));
    return fail(own`Provider ${quoteLine(provider)} has no model ${quoteLine(name.slice(slash + 1))}. ${known}`);
  }
  const problem =
    provider === undefined
      ? own`${quoteLine(name)} names no model: give "provider/model" or "provider/model#variant".`
      : own`OpenCode has no provider ${quoteLine(provider)}.`;
  const names = nearestNames(name, models.map(withoutVariant), SUGGESTIONS);
  if (names.length === 0) return fail(own`${problem} It has no models at all: connect a provider first.`);
  return fail(own`${problem} The nearest models: ${joinNames(names)}.`);
};

/** Returns the pairs of neighbouring letters and digits in a name, and how often it has each. Case and punctuation do not count. */
const pairsOf = (name: string): Map<string, number> => {
  const letters = name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
  const pairs = new Map<string, number>();
  for (let index = 0; index + 1 < letters.length; index += 1) {
    const pair = letters.slice(index, index + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
};

const total = (pairs: ReadonlyMap<string, number>): number =>
  [...pairs.values()].reduce((sum, count) => sum + count, 0);

/**
 * Returns the names that are most like the one that was asked for, the likest first; those that have nothing in common with
 * it come last. Compares pairs of letters (Dice's coefficient), since names of models are misremembered rather than
 * mistyped: parts are missing, in another order or separated in another way.
 */
export const nearestNames = (wanted: string, names: readonly string[], count: number): string[] => {
  const wantedPairs = pairsOf(wanted);
  const likeness = (name: string): number => {
    const pairs = pairsOf(name);
    const shared = [...wantedPairs].reduce((sum, [pair, times]) => sum + Math.min(times, pairs.get(pair) ?? 0), 0);
    return (2 * shared) / Math.max(1, total(wantedPairs) + total(pairs));
  };
  return names
    .map((name) => ({ name, like: likeness(name) }))
    .sort((a, b) => b.like - a.like)
    .slice(0, count)
    .map(({ name }) => name);
};
