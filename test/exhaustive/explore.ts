/** One way in which a world goes on. */
export interface Move<World> {
  /** What happens, in words. */
  name: string;
  after: World;
  /** True for what happens by itself where nothing fails and nobody interferes: these moves must lead to the end. */
  isExpected: boolean;
}

/** What is explored: all worlds that any moves lead to. */
export interface Space<World> {
  first: World;
  moves(world: World): Move<World>[];
  /** The same for worlds that go on in the same ways, and for no others. */
  keyOf(world: World): string;
  worldOf(key: string): World;
  /** Says which promises a world breaks. */
  faultsOf(world: World): string[];
  /** True where everything that was begun has come to its end. */
  isOver(world: World): boolean;
}

export interface Exploration {
  worlds: number;
  moves: number;
  /** How many moves the farthest world is away from the first. */
  depth: number;
  /** True where no world was left out. */
  isComplete: boolean;
  /** One of each kind, with the fewest moves that lead to it. */
  faults: { what: string; trail: string[] }[];
}

interface Limits {
  /** How many worlds are looked at; beyond that the exploration is not complete. */
  most: number;
  /** True where it is over with the first fault. Default: false. */
  isFirstFaultEnough?: boolean;
}

/** Numbers that a growing list holds in little memory. */
const createNumbers = () => {
  let numbers = new Int32Array(1 << 16);
  let length = 0;
  return {
    push: (number: number) => {
      if (length === numbers.length) {
        const more = new Int32Array(2 * length);
        more.set(numbers);
        numbers = more;
      }
      numbers[length] = number;
      length += 1;
    },
    at: (index: number): number => numbers[index] ?? -1,
    length: () => length,
  };
};

/** Marks the worlds from which expected moves alone lead to an end. */
const canEnd = (
  count: number,
  ends: readonly number[],
  from: ReturnType<typeof createNumbers>,
  to: ReturnType<typeof createNumbers>,
): Uint8Array => {
  // The edges backwards: those that lead to a world stand in a row.
  const starts = new Int32Array(count + 1);
  for (let edge = 0; edge < to.length(); edge += 1) starts[to.at(edge) + 1] = (starts[to.at(edge) + 1] ?? 0) + 1;
  for (let world = 0; world < count; world += 1) starts[world + 1] = (starts[world + 1] ?? 0) + (starts[world] ?? 0);
  const next = starts.slice();
  const before = new Int32Array(to.length());
  for (let edge = 0; edge < to.length(); edge += 1) {
    const target = to.at(edge);
    before[next[target] ?? 0] = from.at(edge);
    next[target] = (next[target] ?? 0) + 1;
  }
  const marked = new Uint8Array(count);
  const open = [...ends];
  for (const end of ends) marked[end] = 1;
  for (let world = open.pop(); world !== undefined; world = open.pop()) {
    for (let edge = starts[world] ?? 0; edge < (starts[world + 1] ?? 0); edge += 1) {
      const source = before[edge] ?? 0;
      if (marked[source]) continue;
      marked[source] = 1;
      open.push(source);
    }
  }
  return marked;
};

/** Walks through all worlds, breadth first: the trail to a fault is the shortest there is. */
export const explore = <World>(space: Space<World>, { most, isFirstFaultEnough = false }: Limits): Exploration => {
  const indexes = new Map<string, number>();
  const keys: string[] = [];
  /** The world that each was first reached from, and how many moves it is away from the first. */
  const [parents, depths] = [createNumbers(), createNumbers()];
  const [from, to] = [createNumbers(), createNumbers()];
  const ends: number[] = [];
  const faults = new Map<string, number>();
  let moves = 0;
  let isComplete = true;

  const add = (world: World, parent: number): number => {
    const key = space.keyOf(world);
    const known = indexes.get(key);
    if (known !== undefined) return known;
    if (keys.length === most) {
      isComplete = false;
      return -1;
    }
    const index = keys.length;
    indexes.set(key, index);
    keys.push(key);
    parents.push(parent);
    depths.push(parent < 0 ? 0 : depths.at(parent) + 1);
    if (space.isOver(world)) ends.push(index);
    for (const what of space.faultsOf(world)) if (!faults.has(what)) faults.set(what, index);
    return index;
  };

  /** Plays the way to a world once more, for the names of its moves. */
  const trailTo = (index: number): string[] => {
    const path = [index];
    for (let at = parents.at(index); at >= 0; at = parents.at(at)) path.unshift(at);
    let world = space.first;
    return path.slice(1).map((step) => {
      const move = space.moves(world).find(({ after }) => space.keyOf(after) === keys[step]);
      if (!move) throw new Error("the same world does not always go on in the same ways");
      world = move.after;
      return move.name;
    });
  };

  add(space.first, -1);
  for (let index = 0; index < keys.length; index += 1) {
    if (isFirstFaultEnough && faults.size > 0) {
      isComplete = false;
      break;
    }
    for (const move of space.moves(space.worldOf(keys[index] ?? ""))) {
      moves += 1;
      const after = add(move.after, index);
      if (after < 0 || !move.isExpected) continue;
      from.push(index);
      to.push(after);
    }
  }

  if (isComplete) {
    const marked = canEnd(keys.length, ends, from, to);
    const stuck = marked.indexOf(0);
    if (stuck >= 0) faults.set("nothing that is expected leads to the end from here", stuck);
  }
  return {
    worlds: keys.length,
    moves,
    depth: depths.at(keys.length - 1),
    isComplete,
    faults: [...faults].map(([what, index]) => ({ what, trail: trailTo(index) })),
  };
};
