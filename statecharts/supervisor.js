// The chart `supervisor` of opencode-taskchart, to be loaded and simulated by XState 5. `npm run statecharts` makes it.
//
//   import { createActor } from "xstate";
//   import { plainRun, supervisor } from "./supervisor.js";
//
//   const actor = createActor(supervisor).start();
//   for (const event of plainRun) {
//     actor.send(event);
//     console.log(event.type, actor.getSnapshot().value);
//   }
//
// States, transitions and the events that the regions raise for each other are those of the plugin, and so is what a guard
// says of other states (`in #open`). What the plugin computes is not here: actions do nothing, the context does not
// change, and payloads of events can be left out. So a guard answers, of these, the first that there is:
//
// 1. what the event says, as in `{ type: "SOME_EVENT", guards: { someGuard: false } }`
// 2. what it answered to an event of this type in the plain run (`answers`: change it for events that regions raise)
// 3. what it answered to any other event there, the last time; a guard that was not asked there holds if a state would not
//    take an event without it, and does not if it only chooses between transitions: then the last one is taken (`otherwise`)
//
// The plain run is a real one of the plugin: an agent launches a task and ends its turn, the task is answered, its notice is
// read, and OpenCode is closed.

import { createMachine } from "xstate";

export const answers = {
  "LAUNCH": {"notLive":true},
};

const otherwise = {
  "notLive": true,
};

const answering = (name) => ({ event }) =>
  event.guards?.[name] ?? answers[event.type]?.[name] ?? otherwise[name];

export const plainRun = [
  {"type":"PREPARE"},
  {"type":"EFFECT"},
  {"type":"PREPARATION"},
  {"type":"EFFECT"},
  {"type":"PREPARATION"},
  {"type":"EFFECT"},
  {"type":"LAUNCH"},
  {"type":"EFFECT"},
  {"type":"PREPARATION"},
  {"type":"EFFECT"},
  {"type":"xstate.done.actor.one"},
  {"type":"TASK"},
  {"type":"EFFECT"},
  {"type":"TASK"},
  {"type":"HOST"},
  {"type":"EFFECT"},
  {"type":"TASK"},
  {"type":"EFFECT"},
  {"type":"EFFECT"},
  {"type":"EFFECT"},
  {"type":"TASK"},
  {"type":"OUTBOX"},
  {"type":"EFFECT"},
  {"type":"OUTBOX"},
  {"type":"EFFECT"},
  {"type":"EFFECT"},
  {"type":"HOST"},
  {"type":"HOST"},
  {"type":"HOST"},
  {"type":"EFFECT"},
  {"type":"EFFECT"},
  {"type":"REAP_TASK"},
  {"type":"REAP_OUTBOX"},
  {"type":"OUTBOX"},
  {"type":"CLOSE"},
];

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
          "actions": {
            "type": "enqueueActions"
          },
          "description": "A task is to be launched, or a launch has left something: its launch gets an actor."
        },
        "LAUNCH": {
          "guard": {
            "type": "notLive"
          },
          "actions": {
            "type": "enqueueActions"
          },
          "description": "A task is launched: it gets an actor, and its parent an outbox."
        },
        "RESTORE": {
          "guard": {
            "type": "notLive"
          },
          "actions": {
            "type": "enqueueActions"
          },
          "description": "A stored task is needed again: its actor starts from its snapshot."
        },
        "ADOPT_PROMPTS": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "The parent's outbox takes over the prompts of a process that has ended."
        },
        "TASK": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "An event for a task is passed on to its actor."
        },
        "OUTBOX": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "An event for an outbox is passed on to its actor."
        },
        "PREPARATION": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "An event for a launch is passed on to its actor."
        },
        "HOST": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "What OpenCode reports of a session goes to the task that runs in it, and to its outbox."
        },
        "EFFECT": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "Effects that actors have on each other are routed between them; the others go to the services."
        },
        "REAP_TASK": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "A task is at rest, or removed: its actor is stopped."
        },
        "REAP_OUTBOX": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "An outbox has nothing to do: its actor is stopped."
        },
        "xstate.done.actor.*": {
          "actions": {
            "type": "enqueueActions"
          },
          "description": "A launch is over: its task has begun, or nothing is left of it."
        },
        "xstate.error.actor.*": {
          "actions": {
            "type": "enqueueActions"
          },
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
}).provide({
  guards: {
    ...Object.fromEntries(Object.keys(otherwise).map((name) => [name, answering(name)])),
  },
  actions: {
    "enqueueActions": () => {},
  },
});
