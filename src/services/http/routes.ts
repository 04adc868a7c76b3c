import { createRoute, z } from "@hono/zod-openapi";
import * as schemas from "./schemas.ts";

const json = <S extends z.ZodType>(description: string, schema: S) => ({
  description,
  content: { "application/json": { schema } },
});

const error = (description: string) => json(description, schemas.ErrorBody);
const ofTask = { params: z.object({ id: z.string() }) };
const unknownTask = error("There is no such task.");
const refused = error("The task's state does not allow it; the reason is in words.");
const withToken = [{ token: [] }];

const get = <P extends string>(path: P, summary: string) => ({ method: "get" as const, path, summary });
const post = <P extends string>(path: P, summary: string) => ({
  method: "post" as const,
  path,
  summary,
  security: withToken,
});

export const health = createRoute({
  ...get("/v1/health", "Whether the server is well"),
  responses: { 200: json("It is.", schemas.Health) },
});

export const stats = createRoute({
  ...get("/v1/stats", "Counts of all tasks"),
  responses: { 200: json("The counts.", schemas.Stats) },
});

export const tasks = createRoute({
  ...get("/v1/tasks", "The tasks that fit everything that is given, newest first"),
  request: { query: schemas.ListQuery },
  responses: { 200: json("A page of them.", schemas.TaskPage), 400: error("Names the parameter that is wrong.") },
});

export const task = createRoute({
  ...get("/v1/tasks/{id}", "One task"),
  request: ofTask,
  responses: { 200: json("The task.", schemas.Shown), 404: unknownTask },
});

export const logs = createRoute({
  ...get("/v1/tasks/{id}/logs", "The messages of a task's session, whole and unmasked"),
  request: ofTask,
  responses: {
    200: json("The messages, oldest first.", schemas.Logs),
    404: unknownTask,
    502: error("OpenCode does not give the messages; its reason is in words."),
  },
});

export const journal = createRoute({
  ...get("/v1/tasks/{id}/events", "The events that a task's machine accepted"),
  request: ofTask,
  responses: { 200: json("The events, oldest first.", schemas.Journal), 404: unknownTask },
});

export const group = createRoute({
  ...get("/v1/task-groups/{id}", "The tasks of a batch, and what they come to"),
  request: ofTask,
  responses: { 200: json("The batch.", schemas.Group), 404: error("There is no such batch.") },
});

export const machines = createRoute({
  ...get("/v1/machines", "The statecharts by name"),
  responses: { 200: json("The statecharts.", schemas.Machines) },
});

export const machine = createRoute({
  ...get("/v1/machines/{name}", "One statechart"),
  request: { params: z.object({ name: z.string() }) },
  responses: { 200: json("The statechart.", schemas.Machine), 404: error("There is no such statechart.") },
});

export const events = createRoute({
  ...get("/v1/events", "What happens to tasks, from now on"),
  responses: {
    200: {
      description:
        "Server-sent events: `snapshot` first, then `task.created`, `task.updated`, `task.completed`, `task.error` and `task.cancelled` with the task; `heartbeat` with `{ ts }` after 30 s of silence. The ids are numbers of changes.",
      content: { "text/event-stream": { schema: schemas.Snapshot } },
    },
    503: error("There are as many subscribers as there may be."),
  },
});

export const cancel = createRoute({
  ...post("/v1/tasks/{id}/cancel", "Stops a task"),
  request: ofTask,
  responses: {
    200: json("The task.", schemas.Shown),
    401: error("No token, or a wrong one."),
    404: unknownTask,
    409: refused,
  },
});

const withBody = <S extends z.ZodType>(schema: S) => ({
  request: { ...ofTask, body: { required: true, content: { "application/json": { schema } } } },
  responses: {
    200: json("The task.", schemas.Shown),
    400: error("Names what is wrong in the body."),
    401: error("No token, or a wrong one."),
    404: unknownTask,
    409: refused,
    411: error("The length of the body is not given."),
    413: error("The body is too long."),
    415: error("The body is not application/json."),
  },
});

export const resume = createRoute({
  ...post("/v1/tasks/{id}/resume", "Sends a completed task a follow-up prompt"),
  ...withBody(schemas.ResumeBody),
});

export const answers = createRoute({
  ...post("/v1/tasks/{id}/answers", "Answers a permission or a question that holds a task up"),
  ...withBody(schemas.AnswerBody),
});

/** Every route and the methods that it knows. */
export const METHODS: ReadonlyMap<string, string> = new Map([
  ...[health, stats, tasks, task, logs, journal, group, machines, machine].map(
    (route) => [route.getRoutingPath(), "GET, HEAD, OPTIONS"] as const,
  ),
  [events.getRoutingPath(), "GET, OPTIONS"],
  ["/v1/openapi.json", "GET, HEAD, OPTIONS"],
  ...[cancel, resume, answers].map((route) => [route.getRoutingPath(), "POST, OPTIONS"] as const),
]);
