/** Buckets of one level have up to 2^7 of the next one below: few enough to add up, and few levels to write. */
const BITS = 7;

/** Bits that the buckets of a level leave out of `since`: from buckets of 1 ms to such of a year. */
const LEVELS_OF_TIME = [0, 7, 14, 21, 28, 35];
const TOP = 35;

/** Bits that they leave out of `seq`, among runs of the same millisecond. Stored as negative numbers. */
const LEVELS_OF_SEQ = [7, 14];

/** The buckets that a row is counted in: level, `since` or 0, and number. */
const bucketsOf = (row: "new" | "old"): string[] => [
  ...LEVELS_OF_TIME.map((bits) => `${bits}, 0, ${row}.since >> ${bits}`),
  ...LEVELS_OF_SEQ.map((bits) => `-${bits}, ${row}.since, ${row}.seq >> ${bits}`),
];

const COUNT_ONE_MORE = `
  INSERT INTO queue_count (owner, lane, rank, level, since, bucket, runs)
  VALUES ${bucketsOf("new")
    .map((bucket) => `(new.owner, new.lane, new.rank, ${bucket}, 1)`)
    .join(", ")}
  ON CONFLICT (owner, lane, level, rank, since, bucket) DO UPDATE SET runs = runs + 1;`;

const COUNT_ONE_LESS = bucketsOf("old")
  .map((bucket) => {
    const where = `owner = old.owner AND lane = old.lane AND rank = old.rank AND (level, since, bucket) = (${bucket})`;
    return `
  UPDATE queue_count SET runs = runs - 1 WHERE ${where};
  DELETE FROM queue_count WHERE ${where} AND runs < 1;`;
  })
  .join("");

/**
 * - `slot` has a row for each run that holds a slot or waits for one: no task at rest has one. `owner` is the task's. It has a
 *   column of its own, since a slot is taken before its task is stored for the first time.
 * - `limits` are those that the owner has for the run, as JSON: other processes may have other limits.
 * - `seq` is the order in which runs asked. `rank` is lower the higher the priority is. `lane` is that of a waiting run, see
 *   `laneOf`.
 * - `goes_on` is 1 for a run that left a model and goes on with another one, see `SlotRequest`.
 * - `state` is 0 for a run that waits for a slot, 1 for one that holds one, and 2 for one that holds none and waits until its
 *   provider serves again.
 * - `retries_at` is when the provider is asked again that refuses the run; NULL for other runs.
 * - `queue_count` says how many wait in each lane, by rank and by `since`: in buckets of 1 ms, in buckets of 128 of those, and
 *   so on; and those of the same millisecond by `seq`. So the next run, and the place of each, are found without reading all
 *   that wait. Triggers keep it, so that it is right whoever writes or removes a row.
 */
export const SLOT_SCHEMA = `
  CREATE TABLE slot (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    state INTEGER NOT NULL,
    agent TEXT NOT NULL,
    provider TEXT,
    model TEXT,
    priority INTEGER NOT NULL,
    rank INTEGER GENERATED ALWAYS AS (-priority) VIRTUAL,
    since INTEGER NOT NULL,
    lane TEXT NOT NULL,
    goes_on INTEGER NOT NULL,
    limits TEXT NOT NULL,
    retries_at INTEGER
  ) STRICT;
  CREATE INDEX slot_at_work ON slot (owner, provider, model, agent, retries_at) WHERE state = 1;
  CREATE INDEX slot_refused ON slot (owner, provider, retries_at) WHERE state = 2;
  CREATE INDEX slot_waiting ON slot (owner, lane, rank, since, seq) WHERE state = 0;
  CREATE TRIGGER slot_of_deleted_task AFTER DELETE ON task BEGIN
    DELETE FROM slot WHERE task = old.id;
  END;

  CREATE TABLE queue_count (
    owner TEXT NOT NULL,
    lane TEXT NOT NULL,
    level INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    since INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    PRIMARY KEY (owner, lane, level, rank, since, bucket)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER run_waits AFTER INSERT ON slot WHEN new.state = 0 BEGIN${COUNT_ONE_MORE}
  END;
  CREATE TRIGGER run_leaves AFTER DELETE ON slot WHEN old.state = 0 BEGIN${COUNT_ONE_LESS}
  END;
  CREATE TRIGGER run_waited AFTER UPDATE OF owner, state, lane, priority, since ON slot WHEN old.state = 0 BEGIN${COUNT_ONE_LESS}
  END;
  CREATE TRIGGER run_waits_again AFTER UPDATE OF owner, state, lane, priority, since ON slot WHEN new.state = 0 BEGIN${COUNT_ONE_MORE}
  END;
`;

const sumOf = (where: string): string =>
  `(SELECT ifnull(sum(runs), 0) FROM queue_count WHERE owner = ?1 AND lane = ?2 AND ${where})`;

/** Adds up the buckets of a level before the one of `value`, within that of the level above. */
const sumWithin = (where: string, value: string, bits: number, isTop: boolean): string =>
  sumOf(
    `${where} AND bucket < ${value} >> ${bits}${isTop ? "" : ` AND bucket >= (${value} >> ${bits + BITS}) << ${BITS}`}`,
  );

/** Counts the runs of a lane (`?1` its owner, `?2` its name) that are ahead of a run (`?3` its rank, `?4` its `since`, `?5` its `seq`). */
export const COUNT_AHEAD = `SELECT ${[
  sumOf(`level = ${TOP} AND rank < ?3`),
  ...LEVELS_OF_TIME.map((bits) => sumWithin(`level = ${bits} AND rank = ?3 AND since = 0`, "?4", bits, bits === TOP)),
  ...LEVELS_OF_SEQ.map((bits) =>
    sumWithin(`level = -${bits} AND rank = ?3 AND since = ?4`, "?5", bits, bits === LEVELS_OF_SEQ.at(-1)),
  ),
  `(SELECT count(*) FROM slot WHERE state = 0 AND owner = ?1 AND lane = ?2 AND rank = ?3 AND since = ?4
    AND seq >= (?5 >> ${BITS}) << ${BITS} AND seq < ?5)`,
].join(" + ")} AS runs`;
