import { BUILT_IN, type Figure } from "../figures.ts";
import type { Figures } from "./figures.ts";
import { bytesGoal, deliveryGoals, ratioGoal } from "./goals.ts";
import type { Ratio } from "./ratios.ts";
import type { Report } from "./report.ts";

/** The goals of a report as figures, each beside what the built-in did in the same rounds. */
export function asFigures({ figures, ratios, definitions }: Report): Figure[] {
  const sizes = [...new Set(figures.map(({ tasks }) => tasks))];
  const of = (contender: Figures["contender"], tasks: number): Figures => {
    const found = figures.find((candidate) => candidate.contender === contender && candidate.tasks === tasks);
    if (!found) throw new Error(`the report has no figures of ${contender} with ${tasks} tasks`);
    return found;
  };

  const ofRatio = (ratio: Ratio): Figure[] => {
    const goal = ratioGoal(ratio);
    if (!goal) return [];
    const [own, other] = ([ratio.of, ratio.to] as const).map((name) => of(name, ratio.tasks).medians[ratio.measure]);
    if (own === undefined || other === undefined) throw new Error(`the report has no medians for "${goal.name}"`);
    const compared = { own, other, unit: "ms" as const, with: BUILT_IN };
    return [{ what: goal.name, value: goal.measured, unit: "x", atMost: goal.limit, compared }];
  };

  const ofDelivery = (tasks: number): Figure[] => {
    const [ours, builtIn] = [of("ours", tasks), of("built-in", tasks)];
    const theirs = deliveryGoals(builtIn, builtIn);
    return deliveryGoals(ours, builtIn).map(({ name, measured, limit }, index) => ({
      what: name,
      value: measured,
      unit: "",
      atMost: limit,
      compared: { own: measured, other: theirs[index]?.measured ?? Number.NaN, unit: "", with: BUILT_IN },
    }));
  };

  const bytes = bytesGoal(definitions.bytes);
  return [
    ...ratios.flatMap(ofRatio),
    ...sizes.flatMap(ofDelivery),
    { what: bytes.name, value: bytes.measured, unit: "bytes", atMost: bytes.limit },
  ];
}
