import { CALL_STAGES, PARENT_STAGES, SESSION_STAGES, WORKTREE_STAGES, type World, WRONGS } from "./world.ts";

/** As many numbers as the largest world has, and more. */
const codes = new Uint16Array(256);
const bytes = Buffer.from(codes.buffer);

/** Writes flags and small numbers into one number, each with so many bits. */
const packed = (...fields: [value: number | boolean, bits: number][]): number =>
  fields.reduceRight((sum, [value, bits]) => (sum << bits) | Number(value), 0);

/** Reads what `packed` wrote, field by field. */
const unpack = (number: number) => {
  let left = number;
  const next = (bits: number): number => {
    const value = left & ((1 << bits) - 1);
    left >>= bits;
    return value;
  };
  return {
    flag: () => next(1) === 1,
    number: next,
    one: <T>(of: readonly T[], bits: number): T => of[next(bits)] as T,
  };
};

/** Writes a world as a short string, a character for each number. */
export const encode = (world: World): string => {
  let length = 0;
  const put = (number: number) => {
    codes[length] = number;
    length += 1;
  };
  for (const { isStale, charts, operations } of world.processes) {
    put(Number(isStale));
    charts.forEach(put);
    operations.forEach(put);
  }
  for (const { owner, isLeft } of world.rows) put(packed([isLeft, 1], [owner, 3]));
  for (const { stage, isMarked, isCut, hasPreamble, isDyingBy, isOf } of world.sessions) {
    const flags: [boolean, number][] = [isMarked, isCut, hasPreamble].map((is) => [is, 1]);
    put(packed(...flags, [isDyingBy, 2], [SESSION_STAGES.indexOf(stage), 2], [isOf, 3]));
  }
  world.requests.forEach(put);
  for (const { call, task, worktree, isSwept, isOffered } of world.launches) {
    const stages: [number, number][] = [
      [CALL_STAGES.indexOf(call), 1],
      [WORKTREE_STAGES.indexOf(worktree), 2],
    ];
    put(packed([isSwept, 1], [isOffered, 1], ...stages, [task, 3]));
  }
  put(packed([world.isAborted, 1], [PARENT_STAGES.indexOf(world.parent), 2], [WRONGS.indexOf(world.wrong), 4]));
  return bytes.toString("utf16le", 0, length * codes.BYTES_PER_ELEMENT);
};

/** Reads what `encode` wrote of so many launches. */
export const decode = (key: string, launches: number): World => {
  let at = 0;
  const number = (): number => key.charCodeAt(at++);
  const fields = () => unpack(number());
  const many = <T>(count: number, read: () => T): T[] => Array.from({ length: count }, read);
  const slots = 3 * launches;
  const rows = 2 * launches;
  return {
    processes: many(2, () => ({
      isStale: number() === 1,
      charts: many(slots, number),
      operations: many(slots, number),
    })),
    rows: many(rows, () => {
      const row = fields();
      return { isLeft: row.flag(), owner: row.number(3) };
    }),
    sessions: many(rows, () => {
      const session = fields();
      return {
        isMarked: session.flag(),
        isCut: session.flag(),
        hasPreamble: session.flag(),
        isDyingBy: session.number(2),
        stage: session.one(SESSION_STAGES, 2),
        isOf: session.number(3),
      };
    }),
    requests: many(rows, number),
    launches: many(launches, () => {
      const launch = fields();
      return {
        isSwept: launch.flag(),
        isOffered: launch.flag(),
        call: launch.one(CALL_STAGES, 1),
        worktree: launch.one(WORKTREE_STAGES, 2),
        task: launch.number(3),
      };
    }),
    ...lastOf(fields()),
  };
};

const lastOf = (last: ReturnType<typeof unpack>): Pick<World, "isAborted" | "parent" | "wrong"> => ({
  isAborted: last.flag(),
  parent: last.one(PARENT_STAGES, 2),
  wrong: last.one(WRONGS, 4),
});
