import { createRoute, OpenAPIHono, type z } from "@hono/zod-openapi";
import { ApiTask, Changes } from "../contract/api-task.ts";
import * as schemas from "../contract/schemas.ts";
import { ApiFleet } from "../contract/schemas.ts";

const json = <S extends z.ZodType>(description: string, schema: S) => ({
  description,
  content: { "application/json": { schema } },
});

const error = (description: string) => json(description, schemas.ErrorBody);
const ofTask = { params: schemas.TaskPath };
const unknownTask = error("There is no such task.");
const ambiguousId = error("The id is the beginning of several; the message lists them.");
const mayNotRead = error("The connection is not the user's own, and the token is missing: see the option `api.reads`.");
const tooMuch = error("Too much data is on its way to readers, or OpenCode is shutting down.");
const readErrors = { 401: mayNotRead, 503: tooMuch };
const ofTaskErrors = { ...readErrors, 404: unknownTask, 409: ambiguousId };

const commandErrors = {
  401: error("No token, or a wrong one."),
  404: unknownTask,
  409: error(
    "The task's state does not allow it, or no OpenCode has its directory open, or the id is the beginning of several: the message says which.",
  ),
  502: error("OpenCode refuses; the message has its reason."),
  503: tooMuch,
  504: error("The process that supervises the task has not responded in time, and may still do it."),
};
const withToken = [{ token: [] }];

const get = <P extends string>(operationId: string, path: P, summary: string) => ({
  operationId,
  method: "get" as const,
  path,
  summary,
});
const post = <P extends string>(operationId: string, path: P, summary: string) => ({
  operationId,
  method: "post" as const,
  path,
  summary,
  security: withToken,
});

/** The errors of the routes that change a worktree, which need no process of the task's directory. */
const worktreeErrors = {
  401: commandErrors[401],
  404: unknownTask,
  409: error(
    "The task has no worktree of its own, or runs, or its changes do not go together with those in the tree: the message names the files. Or the id is the beginning of several.",
  ),
  503: tooMuch,
};

const withBody = <S extends z.ZodType>(schema: S, required = true) => ({
  request: { ...ofTask, body: { required, content: { "application/json": { schema } } } },
  responses: {
    200: json("The task.", ApiTask),
    ...commandErrors,
    400: error("The body is wrong; the message says how."),
    411: error("The header Content-Length is missing."),
    413: error("The body is too long."),
    415: error("The body is not application/json."),
  },
});

/** The routes, in the order in which the description of the API has them. */
export const routes = {
  health: createRoute({
    ...get("getHealth", "/v1/health", "The health of the server"),
    request: { query: schemas.HealthQuery },
    responses: {
      200: json("The server is healthy.", schemas.Health),
      400: error("The challenge is malformed."),
    },
  }),

  servers: createRoute({
    ...get("listServers", "/v1/servers", "The servers of all OpenCode processes, which serve the same tasks"),
    responses: { 200: json("The servers, this one among them.", schemas.Servers), ...readErrors },
  }),

  stats: createRoute({
    ...get("getStats", "/v1/stats", "Counts of all tasks"),
    responses: { 200: json("The counts.", schemas.Stats), ...readErrors },
  }),

  tasks: createRoute({
    ...get("listTasks", "/v1/tasks", "The tasks that match all given parameters, newest first"),
    request: { query: schemas.ListQuery },
    responses: {
      200: json("A page of them, with long values shortened: `cut` names the shortened fields.", schemas.TaskPage),
      400: error("A parameter is wrong; the message names it."),
      ...readErrors,
    },
  }),

  task: createRoute({
    ...get("getTask", "/v1/tasks/{id}", "One task, by its id or an unambiguous beginning of it"),
    request: ofTask,
    responses: { 200: json("The task, with all values complete.", ApiTask), ...ofTaskErrors },
  }),

  logs: createRoute({
    ...get("getTaskLogs", "/v1/tasks/{id}/logs", "The messages of a task's session, complete and unmasked"),
    request: ofTask,
    responses: {
      200: json("The messages, oldest first.", schemas.Logs),
      ...ofTaskErrors,
      502: error("OpenCode does not return the messages; the message has its reason."),
      504: error("OpenCode has not returned them in time."),
    },
  }),

  changes: createRoute({
    ...get("getTaskChanges", "/v1/tasks/{id}/changes", "What an ended task left changed in its worktree"),
    request: ofTask,
    responses: {
      200: json("The changes.", Changes),
      ...readErrors,
      404: unknownTask,
      409: error("The task has no worktree of its own, or has not ended, or the id is the beginning of several."),
    },
  }),

  journal: createRoute({
    ...get("getTaskJournal", "/v1/tasks/{id}/events", "The events that a task's statechart accepted"),
    request: ofTask,
    responses: { 200: json("The events, oldest first.", schemas.TaskJournal), ...ofTaskErrors },
  }),

  way: createRoute({
    ...get(
      "getTaskWay",
      "/v1/tasks/{id}/way",
      "By which way the newest run of a task came to where it is in its statechart",
    ),
    request: ofTask,
    responses: {
      200: json("The way. It is empty where the journal does not go back to the launch.", schemas.TaskWay),
      ...ofTaskErrors,
    },
  }),

  launches: createRoute({
    ...get(
      "listLaunches",
      "/v1/launches",
      "The launches that have led to no task: those under way, and those that have left something",
    ),
    responses: { 200: json("The launches.", schemas.Launches), ...readErrors },
  }),

  group: createRoute({
    ...get("getTaskGroup", "/v1/task-groups/{id}", "The tasks of a batch, with totals"),
    request: { params: schemas.GroupPath },
    responses: {
      200: json("The batch, with long values of its tasks shortened.", schemas.Group),
      404: error("There is no such batch."),
      ...readErrors,
    },
  }),

  fleet: createRoute({
    ...get("getFleet", "/v1/fleet", "The servers of the fleet, and what waits for them"),
    responses: { 200: json("The fleet, or that this server is in none.", ApiFleet), ...readErrors },
  }),

  machines: createRoute({
    ...get("listMachines", "/v1/machines", "The statecharts by name"),
    responses: { 200: json("The statecharts.", schemas.Machines), ...readErrors },
  }),

  machine: createRoute({
    ...get("getMachine", "/v1/machines/{name}", "One statechart"),
    request: { params: schemas.MachinePath },
    responses: {
      200: json("The statechart.", schemas.Machine),
      404: error("There is no such statechart."),
      ...readErrors,
    },
  }),

  events: createRoute({
    ...get("streamEvents", "/v1/events", "Changes of tasks, from now on"),
    responses: {
      200: {
        description:
          "Server-sent events: `snapshot` first, then `task.created`, `task.updated`, `task.completed`, `task.error` and `task.cancelled` with the task. Tasks are whole up to a million characters in the snapshot, and in what is sent at once; of those beyond it, long values are shortened, and `cut` names the shortened fields. `UserInteractionRequested` when a task's agent asks the user, and `UserInteractionResponded` when that is open no more; `task.removed` with `{ sessionID }` when a task that the stream has mentioned is cleared; `heartbeat` with `{ ts }` after 30 s of silence. The ids are numbers of changes. A client that does not read is disconnected.",
        content: { "text/event-stream": { schema: schemas.FeedData } },
      },
      401: mayNotRead,
      503: error("There are as many subscribers as allowed, or too much data is on its way to them."),
    },
  }),

  cancel: createRoute({
    ...post("cancelTask", "/v1/tasks/{id}/cancel", "Stops a task"),
    request: ofTask,
    responses: { 200: json("The task.", ApiTask), ...commandErrors },
  }),

  pause: createRoute({
    ...post(
      "pauseTask",
      "/v1/tasks/{id}/pause",
      "Pauses a running task, and what it launched, until it is told to go on",
    ),
    request: ofTask,
    responses: { 200: json("The task.", ApiTask), ...commandErrors },
  }),

  continue: createRoute({
    ...post("continueTask", "/v1/tasks/{id}/continue", "Has a paused task go on, and what it launched"),
    request: ofTask,
    responses: { 200: json("The task.", ApiTask), ...commandErrors },
  }),

  apply: createRoute({
    ...post("applyChanges", "/v1/tasks/{id}/apply", "Takes what a task changed in its worktree into the user's tree"),
    request: ofTask,
    responses: { 200: json("The files that were changed by it in the tree.", Changes), ...worktreeErrors },
  }),

  discard: createRoute({
    ...post("discardChanges", "/v1/tasks/{id}/discard", "Removes a task's worktree with what it changed there"),
    request: ofTask,
    responses: { 200: json("What was removed.", Changes), ...worktreeErrors },
  }),

  resume: createRoute({
    ...post("resumeTask", "/v1/tasks/{id}/resume", "Sends a completed task a follow-up prompt"),
    ...withBody(schemas.ResumeBody),
  }),

  retry: createRoute({
    ...post("retryTask", "/v1/tasks/{id}/retry", "Has a task go on that failed or was cancelled, from where it was"),
    ...withBody(schemas.RetryBody, false),
  }),

  steer: createRoute({
    ...post("steerTask", "/v1/tasks/{id}/steer", "Gives a running task a further instruction"),
    ...withBody(schemas.SteerBody),
  }),

  answers: createRoute({
    ...post(
      "answerRequest",
      "/v1/tasks/{id}/answers",
      "Answers a permission request or a question that a task waits for",
    ),
    ...withBody(schemas.AnswerBody),
  }),
};

/** Returns the API's description of itself in that version of the plugin. It is made of the routes alone. */
export const openApiDocument = (version: string) => {
  const app = new OpenAPIHono();
  app.openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  for (const route of Object.values(routes)) app.openAPIRegistry.registerPath(route);
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "opencode-taskchart status API",
      version,
      description:
        "Background tasks of OpenCode. Served on loopback, at the address in `server.json` of the data folder.",
    },
  });
};
