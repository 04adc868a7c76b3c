import type { ApiTask } from "../../client/api-types.ts";

/** A task as the panel knows it. */
export type PanelTask = ApiTask;

/** Tasks by id. */
export type PanelTasks = ReadonlyMap<string, PanelTask>;
