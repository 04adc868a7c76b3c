import { createMachine } from "xstate";

export const supervisor = createMachine({
  "id": "supervisor",
  "description": "Spawns and reaps the actors of launches, tasks and outboxes, and routes events and effects between them and the services.",
  "context": {
    "tasks": [],
    "outboxes": [],
    "launches": []
  },
  "initial": "open",
  "states": {
    "open": {
      "description": "Tasks are launched and supervised.",
      "on": {
        "PREPARE": {
          "actions": "enqueueActions",
          "description": "A task is to be launched, or a launch has left something: its launch gets an actor."
        },
        "LAUNCH": {
          "guard": "notLive",
          "actions": "enqueueActions",
          "description": "A task is launched: it gets an actor, and its parent an outbox."
        },
        "RESTORE": {
          "guard": "notLive",
          "actions": "enqueueActions",
          "description": "A stored task is needed again: its actor starts from its snapshot."
        },
        "ADOPT_PROMPTS": {
          "actions": "enqueueActions",
          "description": "The parent's outbox takes over the prompts of a process that has ended."
        },
        "TASK": {
          "actions": "enqueueActions",
          "description": "An event for a task is passed on to its actor."
        },
        "OUTBOX": {
          "actions": "enqueueActions",
          "description": "An event for an outbox is passed on to its actor."
        },
        "PREPARATION": {
          "actions": "enqueueActions",
          "description": "An event for a launch is passed on to its actor."
        },
        "HOST": {
          "actions": "enqueueActions",
          "description": "What OpenCode reports of a session goes to the task that runs in it, and to its outbox."
        },
        "EFFECT": {
          "actions": "enqueueActions",
          "description": "Effects that actors have on each other are routed between them; the others go to the services."
        },
        "REAP_TASK": {
          "actions": "enqueueActions",
          "description": "A task is at rest, or removed: its actor is stopped."
        },
        "REAP_OUTBOX": {
          "actions": "enqueueActions",
          "description": "An outbox has nothing to do: its actor is stopped."
        },
        "xstate.done.actor.*": {
          "actions": "enqueueActions",
          "description": "A launch is over: its task has begun, or nothing is left of it."
        },
        "xstate.error.actor.*": {
          "actions": "enqueueActions",
          "description": "An actor threw: it is removed, so that it does not take its siblings down."
        },
        "CLOSE": {
          "target": "closed",
          "description": "The plugin is disposed of."
        }
      }
    },
    "closed": {
      "description": "The plugin was disposed of. Nothing is supervised any longer.",
      "type": "final"
    }
  }
});
