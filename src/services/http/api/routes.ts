import { createRoute, z } from "@hono/zod-openapi";
import * as schemas from "../contract/schemas.ts";

const json = <S extends z.ZodType>(description: string, schema: S) => ({
  description,
  content: { "application/json": { schema } },
});

const error = (description: string) => json(description, schemas.ErrorBody);
const ofTask = { params: z.object({ id: z.string() }) };
const unknownTask = error("There is no such task.");
const severalTasks = error("The id is the beginning of several; their ids are in words.");
const mayNotRead = error("The connection is not the user's own, and the token is missing: see the option `api.reads`.");
const tooMuch = error("Too much is on its way to those who read, or the plugin is ending.");
const readErrors = { 401: mayNotRead, 503: tooMuch };
const ofTaskErrors = { ...readErrors, 404: unknownTask, 409: severalTasks };

/** What can go wrong with everything that changes a task. */
const commandErrors = {
  401: error("No token, or a wrong one."),
  404: unknownTask,
  409: error(
    "The task's state does not allow it, or no OpenCode has its directory open, or the id is the beginning of several: the reason is in words.",
  ),
  502: error("OpenCode does not do it; its reason is in words."),
  503: tooMuch,
  504: error("Whoever is to do it has not answered in time, and may do so yet."),
};
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
  responses: { 200: json("The counts.", schemas.Stats), ...readErrors },
});

export const tasks = createRoute({
  ...get("/v1/tasks", "The tasks that fit everything that is given, newest first"),
  request: { query: schemas.ListQuery },
  responses: {
    200: json("A page of them, each shown briefly: `cut` names the fields that are not whole.", schemas.TaskPage),
    400: error("Names the parameter that is wrong."),
    ...readErrors,
  },
});

export const task = createRoute({
  ...get("/v1/tasks/{id}", "One task, by its id or an unambiguous beginning of it"),
  request: ofTask,
  responses: { 200: json("The task, whole.", schemas.Shown), ...ofTaskErrors },
});

export const logs = createRoute({
  ...get("/v1/tasks/{id}/logs", "The messages of a task's session, whole and unmasked"),
  request: ofTask,
  responses: {
    200: json("The messages, oldest first.", schemas.Logs),
    ...ofTaskErrors,
    502: error("OpenCode does not give the messages; its reason is in words."),
    504: error("OpenCode has not given them in time."),
  },
});

export const journal = createRoute({
  ...get("/v1/tasks/{id}/events", "The events that a task's machine accepted"),
  request: ofTask,
  responses: { 200: json("The events, oldest first.", schemas.Journal), ...ofTaskErrors },
});

export const group = createRoute({
  ...get("/v1/task-groups/{id}", "The tasks of a batch, and what they come to"),
  request: ofTask,
  responses: {
    200: json("The batch, with each task shown briefly.", schemas.Group),
    404: error("There is no such batch."),
    ...readErrors,
  },
});

export const machines = createRoute({
  ...get("/v1/machines", "The statecharts by name"),
  responses: { 200: json("The statecharts.", schemas.Machines), ...readErrors },
});

export const machine = createRoute({
  ...get("/v1/machines/{name}", "One statechart"),
  request: { params: z.object({ name: z.string() }) },
  responses: {
    200: json("The statechart.", schemas.Machine),
    404: error("There is no such statechart."),
    ...readErrors,
  },
});

export const events = createRoute({
  ...get("/v1/events", "What happens to tasks, from now on"),
  responses: {
    200: {
      description:
        "Server-sent events: `snapshot` first, then `task.created`, `task.updated`, `task.completed`, `task.error` and `task.cancelled` with the task, shown briefly: `cut` names the fields that are not whole; `task.removed` with `{ sessionID }` when a task is cleared that the stream has told of; `heartbeat` with `{ ts }` after 30 s of silence. The ids are numbers of changes. Who does not read is cut off.",
      content: { "text/event-stream": { schema: schemas.Snapshot } },
    },
    401: mayNotRead,
    503: error("There are as many subscribers as there may be, or too much is on its way to them."),
  },
});

export const cancel = createRoute({
  ...post("/v1/tasks/{id}/cancel", "Stops a task"),
  request: ofTask,
  responses: { 200: json("The task.", schemas.Shown), ...commandErrors },
});

const withBody = <S extends z.ZodType>(schema: S) => ({
  request: { ...ofTask, body: { required: true, content: { "application/json": { schema } } } },
  responses: {
    200: json("The task.", schemas.Shown),
    ...commandErrors,
    400: error("Names what is wrong in the body."),
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
