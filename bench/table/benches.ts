/** One of the benches that the table is made of. */
export interface Bench {
  /** What `--only` and the table call it; its program is the file of that name. */
  name: string;
  /** What its figures are about, for whoever waits for them. */
  about: string;
}

/** In the order of the table. Each runs as its command does by default. */
export const benches: readonly Bench[] = [
  { name: "notices", about: "how soon a parent is notified of ends" },
  { name: "start", about: "what the plugin adds to a start of OpenCode" },
  { name: "fork", about: "how soon a fork of a long conversation begins" },
  { name: "wakes", about: "what an agent pays to be woken by ends that come one after the other" },
  { name: "reads", about: "what an agent's own tool calls take" },
  { name: "engine", about: "what the charts and the runtime cost" },
  { name: "queue", about: "what the queue costs beside 5,000 tasks that wait" },
  { name: "store", about: "what is paid on disk" },
  { name: "events", about: "how soon a change reaches readers of the status API" },
  { name: "history", about: "pages of 100,000 stored tasks" },
  { name: "fleet", about: "what a fleet adds to a task" },
  { name: "million", about: "1,000,000 stored tasks beside 10,000" },
];

/**
 * The benches of these names, in the order of the table; all of them when none is named.
 * @throws Error when there is no bench of a name.
 */
export const benchesOf = (names: readonly string[]): readonly Bench[] => {
  const known = benches.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no bench "${unknown}"; there are ${known.join(", ")}`);
  return names.length === 0 ? benches : benches.filter(({ name }) => names.includes(name));
};
