import type { ApiTask } from "../src/services/http/contract/api-task.ts";

/** What can be chosen by status: the statuses of a task, and two that put some of them together. */
export const STATUS_CHOICES = [
  ["", "All"],
  ["active", "Active"],
  ["waiting", "Waits for you"],
  ["completed", "Completed"],
  ["error", "Failed"],
  ["cancelled", "Cancelled"],
] as const;

/** Which tasks are shown. Each is empty when all are. */
export interface Filters {
  status: string;
  agent: string;
  directory: string;
  search: string;
}

/** What the address says: which tasks are shown, which one is open, and what of it. */
export interface Place extends Filters {
  task: string;
  view: string;
}

const NAMES = ["status", "agent", "directory", "search", "task", "view"] as const;

/** Reads a place from the query of an address. */
export const readPlace = (query: string): Place => {
  const parameters = new URLSearchParams(query);
  const given = (name: (typeof NAMES)[number]) => parameters.get(name) ?? "";
  return Object.fromEntries(NAMES.map((name) => [name, given(name)])) as unknown as Place;
};

/** Writes a place as the query of an address; empty for all tasks. */
export const writePlace = (place: Place): string => {
  const given = NAMES.filter((name) => place[name] !== "").map((name): [string, string] => [name, place[name]]);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
};

/** Searching ignores case and how accents are composed, as the server does. */
const searchKey = (text: string): string => text.normalize("NFC").toLowerCase();

export const isActive = ({ status }: Pick<ApiTask, "status">): boolean => status === "running" || status === "resumed";

/** True when a person has to answer before the task goes on. */
const waitsForPerson = ({ attention }: Pick<ApiTask, "attention">): boolean =>
  attention !== undefined && attention.kind !== "stale";

/** True when a task is among those that are shown. */
export const matches = (
  task: Pick<ApiTask, "status" | "agent" | "directory" | "description" | "attention">,
  { status, agent, directory, search }: Filters,
): boolean =>
  (status === "" ||
    (status === "active" ? isActive(task) : status === "waiting" ? waitsForPerson(task) : task.status === status)) &&
  (agent === "" || task.agent === agent) &&
  (directory === "" || task.directory === directory) &&
  (search === "" || searchKey(task.description).includes(searchKey(search)));

/** True when the stream's own snapshot has all tasks that match: none of them has ended. */
export const isCompleteInSnapshot = ({ status }: Filters): boolean => status === "active" || status === "waiting";

/** Writes the filters as parameters of the status API. */
export const apiParameters = ({ status, agent, directory, search }: Filters): URLSearchParams => {
  const given = Object.entries({ status, agent, directory, search }).filter(([, value]) => value !== "");
  return new URLSearchParams(given);
};
