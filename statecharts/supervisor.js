import { createMachine } from "xstate";

export const supervisor = createMachine({
  "id": "supervisor",
  "description": "Spawns and reaps the actors of tasks and outboxes, and passes on what they want and what they are told.",
  "context": {
    "tasks": {},
    "outboxes": {}
  },
  "initial": "open",
  "states": {
    "open": {
      "description": "Tasks are launched and supervised.",
      "on": {
        "LAUNCH": {
          "guard": "notLive",
          "actions": "enqueueActions",
          "description": "A task begins: it gets an actor and a slot, and its parent an outbox."
        },
        "RESTORE": {
          "guard": "notLive",
          "actions": "enqueueActions",
          "description": "A stored task is wanted again: its actor goes on from where its snapshot says."
        },
        "ADOPT_PROMPTS": {
          "actions": "enqueueActions",
          "description": "Notice prompts of a process that is gone go on in the parent's outbox here."
        },
        "TASK": {
          "actions": "enqueueActions",
          "description": "An event for a task is passed on to its actor."
        },
        "OUTBOX": {
          "actions": "enqueueActions",
          "description": "An event for an outbox is passed on to its actor."
        },
        "HOST": {
          "actions": "enqueueActions",
          "description": "An event of the host goes to the task that runs in its session, and to the outbox of its session."
        },
        "EFFECT": {
          "actions": "enqueueActions",
          "description": "What tasks and outboxes want of each other is passed between them; the rest is for the services."
        },
        "REAP_TASK": {
          "actions": "enqueueActions",
          "description": "A task is at rest, or removed: its actor is stopped."
        },
        "REAP_OUTBOX": {
          "actions": "enqueueActions",
          "description": "An outbox has nothing to do: its actor is stopped."
        },
        "xstate.error.actor.*": {
          "actions": "enqueueActions",
          "description": "An actor threw: it is removed, so that it cannot take its siblings with it."
        },
        "CLOSE": {
          "target": "closed",
          "description": "The plugin is disposed of."
        }
      }
    },
    "closed": {
      "description": "The plugin was disposed of. Nothing is supervised any more.",
      "type": "final"
    }
  }
});
