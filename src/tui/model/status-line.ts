import { formatCost } from "../../services/text/usage.ts";
import type { Segment } from "./line.ts";
import { isActive, type Summary } from "./summary.ts";

const separator: Segment = { text: " · ", tone: "muted" };

/** Writes how many tasks run, wait for a person, which stands out, and wait for a slot. */
export const countSegments = ({ waitingForPerson, running, queued }: Summary): Segment[] => {
  const parts: (Segment & { count: number })[] = [
    { count: running, text: `${running} running`, tone: "text" },
    {
      count: waitingForPerson,
      text: `${waitingForPerson} ${waitingForPerson === 1 ? "waits" : "wait"} for you`,
      tone: "warning",
    },
    { count: queued, text: `${queued} queued`, tone: "muted" },
  ];
  const shown = parts.filter(({ count }) => count > 0).map(({ count: _, ...segment }) => segment);
  return shown.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));
};

/** Writes the line beside the prompt: `3 running · 1 waits for you · $0.42`. Nothing when no task goes on. */
export const statusLine = (summary: Summary): Segment[] => {
  if (!isActive(summary)) return [];
  const cost = formatCost(summary.usage);
  return [
    ...countSegments(summary),
    ...(cost === undefined ? [] : [separator, { text: cost, tone: "muted" as const }]),
  ];
};
