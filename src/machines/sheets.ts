import { isInState, sheetInside, stateAround } from "./place.ts";
import { type State, type Transition, withAllInside } from "./plain-chart.ts";
import { inWords, type Words } from "./words.ts";

/** A page that shows what is directly inside one state, and what each event does there. */
export interface Sheet {
  /** The name of its file, without the extension. */
  file: string;
  /** The states around it, the chart first, each with the sheet that shows its inside; the last one is its own. */
  trail: { name: string; file: string }[];
  description: string;
  boxes: Box[];
}

/** A state on a sheet, or all that are on it, with what leads away from it. */
export interface Box {
  /** Undefined for the box that stands for any state of the sheet. */
  path: string | undefined;
  name: string;
  description: string;
  /** The sheet that shows its inside; undefined where there is nothing inside. */
  file: string | undefined;
  isInitial: boolean;
  isFinal: boolean;
  /** What is asked for when it is entered, in sentences. */
  effects: string[];
  rows: Row[];
}

/** What happens in a state, and where that leads to. */
export interface Row {
  /** Such as "prompt accepted"; several where they lead to the same under the same condition. */
  words: string[];
  /** Such as "if a slot is free". */
  condition: string | undefined;
  /** Undefined where the state stays: what happens is only noted, or has effects. */
  target: Target | undefined;
  /** What is asked for then, in sentences. */
  effects: string[];
  /** How the run ends then, such as "completed" or "error / cancelled"; undefined where it does not end. */
  outcome: string | undefined;
  /** The names of the transitions that are taken when it happens, those that it sums up included. */
  through: string[];
  /** The transitions that it shows in full. None where it sums up what states inside do: their own sheets show that. */
  transitions: Transition[];
}

export interface Target {
  path: string;
  /** The box on the sheet that it leads to; undefined where it leads to another sheet. */
  box: string | undefined;
  /** How it is named here. */
  name: string;
  /** The sheet that has its box. */
  file: string;
}

const SEPARATOR = " › ";

/** The box on the sheet of `inside` in which a state is. */
const boxOn = (inside: string, path: string): string | undefined => {
  if (path === inside || (inside !== "" && !isInState(path, inside))) return undefined;
  const depth = inside === "" ? 1 : inside.split(".").length + 1;
  return path.split(".").slice(0, depth).join(".");
};

/** Names a state on the sheet of another one: by what both do not share. */
const nameOn = (inside: string, path: string): string => {
  const around = inside.split(".");
  const parts = path.split(".");
  const shared = around.findIndex((part, index) => part !== parts[index]);
  const from = Math.min(shared === -1 ? around.length : shared, parts.length - 1);
  return parts.slice(from).map(inWords).join(SEPARATOR);
};

const depthOf = ({ path }: State): number => path.split(".").length;

const wordOf = ({ event }: Transition, { short }: Words): string =>
  event === "" ? "at once" : (short[event] ?? event);

/** Returns how a run ends by a transition that raises its end, such as `RUN_ENDED (completed)`. */
const outcomeOf = ({ raises }: Transition): string | undefined =>
  raises.map((raised) => /^RUN_ENDED \((\w+)\)$/.exec(raised)?.[1]).find((outcome) => outcome !== undefined);

/** Rows with the same condition, target and outcome become one, in the place of the last: others may come before that. */
const merged = (rows: Row[]): Row[] =>
  [
    // What sums up other sheets has one row for all outcomes.
    ...Map.groupBy(rows, ({ condition, target, effects, outcome, transitions }) =>
      JSON.stringify([condition, target?.path, target ? [] : effects, transitions.length > 0 && outcome]),
    ).values(),
  ]
    .flatMap((same) => {
      const last = same.at(-1);
      if (!last) return [];
      const row: Row = {
        ...last,
        effects: [...new Set(same.flatMap(({ effects }) => effects))],
        outcome: [...new Set(same.flatMap(({ outcome }) => outcome ?? []))].join(" / ") || undefined,
        words: [...new Set(same.flatMap(({ words }) => words))],
        through: same.flatMap(({ through }) => through),
        transitions: same.flatMap(({ transitions }) => transitions),
      };
      return [{ row, place: rows.indexOf(last) }];
    })
    .toSorted((one, other) => one.place - other.place)
    .map(({ row }) => row);

/** Where an event leads to the same whether its condition holds or not, one row says so. */
const withoutNeedlessConditions = (rows: Row[]): Row[] => {
  const kept: Row[] = [];
  for (const row of rows) {
    const before = kept.at(-1);
    const isSame =
      row.condition === "otherwise" &&
      before?.words.join() === row.words.join() &&
      before.target?.path === row.target?.path &&
      before.outcome === row.outcome &&
      before.effects.join() === row.effects.join();
    if (isSame) kept.pop();
    kept.push(
      isSame
        ? {
            ...row,
            condition: undefined,
            through: [...before.through, ...row.through],
            transitions: [...before.transitions, ...row.transitions],
          }
        : row,
    );
  }
  return kept;
};

/** Returns where a row leads to, such as "idle: completed"; undefined where the state stays. */
export const leadsTo = ({ target, outcome }: Row): string | undefined =>
  target && `${target.name}${outcome === undefined ? "" : `: ${outcome}`}`;

/** Returns the sheets of a chart: one for the chart, and one for each state that has others inside. */
export const sheetsOf = (chart: State, words: Words): Sheet[] => {
  const all = withAllInside(chart);

  const inSentences = (effects: string[]): string[] => effects.map((effect) => words.effects[effect] ?? effect);

  const targetOn = (inside: string, path: string): Target => ({
    path,
    box: boxOn(inside, path),
    name: nameOn(inside, path),
    file: sheetInside(chart.name, stateAround(path)),
  });

  /** A transition that leads to several states at once, one in each region, has a row for each. */
  const rowsOn = (inside: string, transition: Transition, index: number, all: Transition[]): Row[] => {
    const isLast = index > 0 && all[index - 1]?.event === transition.event && transition.condition === undefined;
    const row = {
      words: [wordOf(transition, words)],
      condition: isLast ? "otherwise" : transition.condition,
      outcome: outcomeOf(transition),
      effects: inSentences(transition.effects),
      through: [transition.name],
    };
    const [first, ...others] = transition.targets.map((path) => targetOn(inside, path));
    return [
      { ...row, target: first, transitions: [transition] },
      ...others.map((target) => ({ ...row, effects: [], target, transitions: [] })),
    ];
  };

  /** What each event does in a state. Events that never do more there than being noted have one row together. */
  const rowsOf = (inside: string, { transitions }: State): Row[] => {
    const rows = transitions.flatMap((transition, index) => rowsOn(inside, transition, index, transitions));
    const doesMore = new Set(
      rows.flatMap(({ target, effects, words }) => (target !== undefined || effects.length > 0 ? words : [])),
    );
    const isNoted = ({ words }: Row) => !words.some((word) => doesMore.has(word));
    const noted = rows.filter(isNoted);
    return [
      ...withoutNeedlessConditions(merged(rows.filter((row) => !isNoted(row)))),
      ...merged(noted.map((row) => ({ ...row, condition: undefined }))),
    ];
  };

  /** What leads out of a state with others inside: only the sheets of those say when. */
  const summary = (inside: string, state: State): Row[] => {
    // What states inside do says more than what all of them have in common, and comes first.
    const leaving = withAllInside(state)
      .toSorted((one, other) => depthOf(other) - depthOf(one))
      .flatMap(({ transitions }) =>
        transitions.flatMap((transition) =>
          transition.targets.filter((path) => !isInState(path, state.path)).map((path) => ({ transition, path })),
        ),
      );
    return merged(
      leaving.map(({ transition, path }) => {
        const box = boxOn(inside, path);
        return {
          words: [wordOf(transition, words)],
          condition: undefined,
          outcome: outcomeOf(transition),
          target: targetOn(inside, box ?? path),
          effects: [],
          through: [transition.name],
          transitions: [],
        };
      }),
    );
  };

  const boxOf = (inside: State, state: State): Box => ({
    path: state.path,
    name: inWords(state.name),
    description: state.description ?? "",
    file: state.states.length > 0 ? sheetInside(chart.name, state.path) : undefined,
    isInitial: inside.initial === state.path,
    isFinal: state.kind === "final",
    effects: inSentences(state.effects),
    rows: state.states.length > 0 ? summary(inside.path, state) : rowsOf(inside.path, state),
  });

  const sheetOf = (state: State): Sheet => ({
    file: sheetInside(chart.name, state.path),
    trail: ["", ...state.path.split(".").filter((part) => part !== "")].map((part, depth) => ({
      name: inWords(part || chart.name),
      file: sheetInside(chart.name, state.path.split(".").slice(0, depth).join(".")),
    })),
    description: state.description ?? "",
    boxes: [
      ...(state.transitions.length > 0
        ? [
            {
              path: undefined,
              name: "in any of these states",
              description: "",
              file: undefined,
              isInitial: false,
              isFinal: false,
              effects: inSentences(state.effects),
              rows: rowsOf(state.path, state),
            },
          ]
        : []),
      ...state.states.map((inner) => boxOf(state, inner)),
    ],
  });

  return all.filter(({ states }) => states.length > 0).map(sheetOf);
};

/** The sheet that has the same in full. */
const LIFE = "task.run";

/** At most so many events are named for each way on the sheet of a life. */
const MOST_WORDS = 3;

/**
 * Returns the sheet that one should see first: the states of a task's run, and what leads from each to the others, in a few words
 * and without conditions.
 */
export const lifeSheet = (sheets: Sheet[]): Sheet => {
  const sheet = sheets.find(({ file }) => file === LIFE);
  if (!sheet) throw new Error(`there is no sheet ${LIFE}`);
  const few = (all: string[]): string[] => (all.length > MOST_WORDS ? [...all.slice(0, MOST_WORDS - 1), "…"] : all);
  return {
    file: "life-of-a-task",
    trail: [{ name: "Life of a task", file: "" }],
    description:
      "What can happen to a task from its launch to its end. A click on a state shows what is inside, and when each of these ways is taken.",
    boxes: sheet.boxes.map((box) => ({
      ...box,
      file: box.file ?? LIFE,
      effects: [],
      rows: merged(
        box.rows.flatMap(({ target, ...row }) =>
          target?.box === undefined || target.box === box.path
            ? []
            : {
                ...{ ...row, condition: undefined, transitions: [] },
                target: { ...target, path: target.box, name: target.name.split(SEPARATOR)[0] ?? "" },
              },
        ),
      ).map((row) => ({ ...row, words: few(row.words) })),
    })),
  };
};
