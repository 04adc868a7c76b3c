import type { HostSession, PermissionRule } from "../../../machines/host-events.ts";
import { type ModelRef, shortDescription } from "../../../task.ts";
import type { HostAgent, HostFailure, HostModel } from "../../host/host.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import type { HostReads } from "../../runtime/host-reads.ts";
import { modelName } from "../../text/model-and-server.ts";
import { join, nameOf, type OwnText, own, quoteLine } from "../../text/own-text.ts";
import type { EngineContext } from "../context.ts";
import type { LaunchPlan, LaunchRequest } from "../requests.ts";

/** Returns the agent's own model, or the parent's model if the agent has none. */
const modelFor = (agent: HostAgent, parent: HostSession): ModelRef | undefined => agent.model ?? parent.model;

/** Returns the rules that a child inherits: whatever the parent may not do, its child may not do either. */
const inheritedRules = ({ permission }: HostSession): PermissionRule[] =>
  permission.filter((rule) => rule.action === "deny" || rule.permission === "external_directory");

const notRead = (what: OwnText, { message }: HostFailure) =>
  fail(own`OpenCode did not ${what}: ${quoteLine(message)}. Try again.`, "host");

/** The names that a batch may have. A name that cannot be displayed is rejected, not changed: batches are found by name. */
const BATCH_NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u;

/**
 * Finds an agent by its name, in another case where only one has it so. A hidden one can be named, as with the host's own
 * tool, but is not suggested: only the host's own helpers, which are hidden and no subagents, are nobody's to launch.
 */
const findAgent = async (reads: HostReads, name: string): Promise<Outcome<HostAgent>> => {
  const agents = await reads.agents();
  if (!agents.ok) return notRead(own`say which agents there are`, agents.failure);
  const known = agents.value.filter(({ hidden, isPrimary }) => !(hidden && isPrimary));
  const inAnyCase = known.filter((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
  const exact = inAnyCase.find((candidate) => candidate.name === name);
  const agent = exact ?? (inAnyCase.length === 1 ? inAnyCase[0] : undefined);
  if (agent) return { ok: true, value: agent };
  const problem = name === "" ? own`Name the agent.` : own`There is no agent ${quoteLine(name)}.`;
  const names = join(
    known.filter(({ hidden }) => !hidden).map((candidate) => nameOf(candidate.name)),
    ", ",
  );
  return fail(own`${problem} Agents: ${names}.`, "agent");
};

/** Finds the model that a caller named; undefined if it named none. */
export const namedModel = async (
  reads: HostReads,
  name: string | undefined,
): Promise<Outcome<ModelRef | undefined>> => {
  if (name === undefined) return { ok: true, value: undefined };
  const models = await reads.models();
  return models.ok ? findModel(models.value, name) : notRead(own`say which models there are`, models.failure);
};

/**
 * Checks a launch against the host and the store, without creating anything. A failure says what is wrong with the
 * request. Permission is asked for only once the request is known to be possible, and the parent session is read after
 * that, because a user may take long to reply.
 * @throws whatever `permit` throws
 */
export const planLaunch = async (ctx: EngineContext, request: LaunchRequest): Promise<Outcome<LaunchPlan>> => {
  const { reads, typedResults, sessionTree } = ctx;
  const { maxDepth } = ctx.options;
  const description = shortDescription(request.description);
  if (description === "") return fail("The task is not described: say in a few words what it is.");
  if (request.prompt.trim() === "") return fail("The prompt is empty: say what the agent should do.");
  if (request.batchId !== undefined && !BATCH_NAME.test(request.batchId)) {
    return fail(
      own`${quoteLine(request.batchId, 100)} cannot be a batch_id: give one line of at most 100 characters without control characters, or leave it out.`,
    );
  }
  const agent = await findAgent(reads, request.agent);
  if (!agent.ok) return agent;
  const named = await namedModel(reads, request.model);
  if (!named.ok) return named;
  const schema = await typedResults.schemaFor(agent.value.name, request.schema);
  if (!schema.ok) return schema;
  await request.permit(agent.value.name);
  const [parent, batchId] = await Promise.all([
    reads.session(request.parentSessionID),
    request.batchId ?? ctx.turns.batchOf(request.parentSessionID, request.parentMessageID),
  ]);
  if (!parent.ok) return notRead(own`find the calling session`, parent.failure);
  if (parent.value.parentID) await sessionTree.loadAncestors(request.parentSessionID);
  const ancestors = sessionTree.ancestorTasks(request.parentSessionID);
  // Where another server launched the task, the levels there count as well.
  const depth = ancestors.length + (request.job?.run.depth ?? ancestors.at(-1)?.job?.depth ?? 1);
  if (depth > maxDepth) {
    return fail(
      `This task would run ${depth} levels deep, and ${maxDepth} is the limit (option "maxDepth"). Do the work here instead.`,
    );
  }
  return {
    ok: true,
    value: {
      description,
      agent: agent.value.name,
      batchId,
      model: named.value ?? modelFor(agent.value, parent.value),
      permission: [...inheritedRules(parent.value), ...(request.job?.denied ?? [])],
      schema: schema.value,
      callerDirectory: parent.value.directory ?? request.directory,
      parentTask: ancestors[0],
    },
  };
};

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
