import { type BudgetedUsage, noProgress } from "../../../task.ts";
import type { EngineContext } from "../context.ts";

/** What a task and its descendants have used. */
interface TreeUsage extends BudgetedUsage {
  /** How many descendants it has. */
  tasks: number;
}

interface Node {
  parent: string | undefined;
  children: Set<string>;
  own: BudgetedUsage;
  sum: TreeUsage;
}

export const NOTHING_USED: TreeUsage = { toolCalls: 0, tokens: 0, cost: 0, tasks: 0 };

const add = (sum: TreeUsage, more: TreeUsage): TreeUsage => ({
  toolCalls: sum.toolCalls + more.toolCalls,
  tokens: sum.tokens + more.tokens,
  cost: sum.cost + more.cost,
  tasks: sum.tasks + more.tasks,
});

const difference = (now: BudgetedUsage, before: BudgetedUsage): TreeUsage => ({
  toolCalls: now.toolCalls - before.toolCalls,
  tokens: now.tokens - before.tokens,
  cost: now.cost - before.cost,
  tasks: 0,
});

/** Where tasks that are not known yet are read from. */
interface UsageSource {
  /** Returns what a task has used itself, in all its runs. */
  ownUsage(taskId: string): BudgetedUsage;
  /** Returns the tasks that a task launched, ended ones included. */
  childTasks(taskId: string): string[];
}

/** Reads tasks as they are stored, those that run with what was counted since. */
export const storedUsage = ({ progress, store }: Pick<EngineContext, "progress" | "store">): UsageSource => ({
  ownUsage: (taskId) => progress.of(taskId) ?? store.get(taskId)?.task.progress ?? noProgress(""),
  childTasks: (parentTaskId) => store.list({ parentTaskId }).map(({ sessionID }) => sessionID),
});

/** Returns what a task and its descendants have used so far, in all their runs. */
export const usedSoFar = (ctx: Pick<EngineContext, "progress" | "store">, taskId: string): BudgetedUsage => {
  const source = storedUsage(ctx);
  const tree = createBudgetTree(source);
  tree.set(taskId, undefined, source.ownUsage(taskId));
  const { toolCalls, tokens, cost } = tree.of(taskId) ?? NOTHING_USED;
  return { toolCalls, tokens, cost };
};

/** Returns what was used since then. */
export const usedSince = (used: TreeUsage, { toolCalls, tokens, cost }: BudgetedUsage = NOTHING_USED): TreeUsage => ({
  ...used,
  toolCalls: used.toolCalls - toolCalls,
  tokens: used.tokens - tokens,
  cost: used.cost - cost,
});

/**
 * Creates an empty tree of what tasks have used together with their descendants. A task is read from its source once, with its
 * descendants; from then on each change costs an addition for every ancestor, and no query.
 */
export const createBudgetTree = ({ ownUsage, childTasks }: UsageSource) => {
  const nodes = new Map<string, Node>();

  /** Returns the task and its known ancestors, nearest first. */
  const upwards = (taskId: string): string[] => {
    const chain: string[] = [];
    for (let id: string | undefined = taskId; id !== undefined; id = nodes.get(id)?.parent) {
      if (!nodes.has(id) || chain.includes(id)) break;
      chain.push(id);
    }
    return chain;
  };

  const addUpwards = (taskId: string | undefined, more: TreeUsage) => {
    for (const id of taskId === undefined ? [] : upwards(taskId)) {
      const node = nodes.get(id);
      if (node) node.sum = add(node.sum, more);
    }
  };

  /** Reads a task with its descendants. Those that are known already are used as they are. */
  const load = (taskId: string, parent: string | undefined, own: BudgetedUsage): Node => {
    const node: Node = { parent, children: new Set(), own, sum: { ...NOTHING_USED, ...own } };
    nodes.set(taskId, node);
    for (const childId of childTasks(taskId)) {
      const child = nodes.get(childId) ?? load(childId, taskId, ownUsage(childId));
      node.children.add(childId);
      node.sum = add(node.sum, { ...child.sum, tasks: child.sum.tasks + 1 });
    }
    return node;
  };

  const remove = (taskId: string) => {
    const node = nodes.get(taskId);
    nodes.delete(taskId);
    for (const childId of node?.children ?? []) remove(childId);
  };

  return {
    /** Records what a task has used itself by now. `parentTaskId` names the task that launched it. */
    set: (taskId: string, parentTaskId: string | undefined, own: BudgetedUsage) => {
      const node = nodes.get(taskId);
      if (node) {
        addUpwards(taskId, difference(own, node.own));
        node.own = own;
        return;
      }
      const { sum } = load(taskId, parentTaskId, { toolCalls: own.toolCalls, tokens: own.tokens, cost: own.cost });
      const parent = parentTaskId === undefined ? undefined : nodes.get(parentTaskId);
      if (!parent) return;
      parent.children.add(taskId);
      addUpwards(parentTaskId, { ...sum, tasks: sum.tasks + 1 });
    },
    /** Returns the known ancestors of a task and the task itself, topmost first; none when it is not known. */
    lineage: (taskId: string): string[] => upwards(taskId).reverse(),
    of: (taskId: string): TreeUsage | undefined => nodes.get(taskId)?.sum,
    /** Forgets a task that has ended, with its descendants. A descendant of a known task is kept, for it counts there. */
    release: (taskId: string) => {
      const parent = nodes.get(taskId)?.parent;
      if (parent === undefined || !nodes.has(parent)) remove(taskId);
    },
  };
};
