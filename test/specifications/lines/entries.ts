import { ofElisha } from "./elisha.ts";
import type { Entry } from "./entry.ts";
import { ofEventsAndHistory } from "./events-and-history.ts";
import { ofForks } from "./forks.ts";
import { ofHttpHealth } from "./http-health.ts";
import { ofHttpServer } from "./http-server.ts";
import { ofHttpTasks } from "./http-tasks.ts";
import { ofNotices } from "./notices.ts";
import { ofResumesAndLists } from "./resumes-and-lists.ts";
import { ofSubtasks } from "./subtasks.ts";
import { ofTasks } from "./tasks.ts";

/** What is known of each line of the five specifications. */
export const entries: readonly Entry[] = [
  ...ofTasks,
  ...ofResumesAndLists,
  ...ofForks,
  ...ofNotices,
  ...ofHttpServer,
  ...ofHttpTasks,
  ...ofHttpHealth,
  ...ofEventsAndHistory,
  ...ofElisha,
  ...ofSubtasks,
];
