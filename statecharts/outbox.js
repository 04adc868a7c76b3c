// The chart `outbox` of opencode-taskchart, to be loaded and simulated by XState 5. `npm run statecharts` makes it.
//
//   import { createActor } from "xstate";
//   import { plainRun, outbox } from "./outbox.js";
//
//   const actor = createActor(outbox).start();
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

import { and, createMachine, not, stateIn } from "xstate";

export const answers = {
  "xstate.init": {"hasQueued":false,"wakesParent":false,"hasAdopted":false},
  "NOTICE_DUE": {"wakesParent":true,"hasQueued":true,"hasAdopted":false,"isNew":true},
  "PARENT_READ": {"wakesParent":true,"lacksRoom":false,"moreMayEnd":false,"mayGatherMore":false,"hasAdopted":false,"hasPrompt":false,"isSetAside":false},
  "PARENT_STORED": {"isCurrentPrompt":true},
  "PARENT_ANSWERED": {"hasQueued":false,"wakesParent":false,"hasAdopted":false,"answersPrompt":true},
};

const otherwise = {
  "hasQueued": false,
  "isNew": true,
  "wakesParent": false,
  "mayGatherMore": false,
  "wakesSinceStop": false,
  "lacksRoom": false,
  "isSetAside": false,
  "stopped": false,
  "hasAdopted": false,
  "due": true,
  "parentReady": true,
  "hasPrompt": false,
  "moreMayEnd": false,
  "answersPrompt": true,
  "isCurrentPrompt": true,
  "answered": false,
  "pending": false,
  "retryable": false,
  "refused": false,
  "refusalsLeft": false,
};

const answering = (name) => ({ event }) =>
  event.guards?.[name] ?? answers[event.type]?.[name] ?? otherwise[name];

export const plainRun = [
  {"type":"NOTICE_DUE"},
  {"type":"PARENT_READ"},
  {"type":"COMPOSED"},
  {"type":"PARENT_STORED"},
  {"type":"PARENT_ANSWERED"},
];

export const outbox = createMachine({
  "id": "outbox",
  "description": "The notices owed to one parent session: one prompt at a time, composed once, sent until the parent answers it.",
  "type": "parallel",
  "on": {
    "NOTICE_DUE": {
      "guard": {
        "type": "isNew"
      },
      "actions": {
        "type": "enqueue"
      },
      "description": "The parent is owed the notice of a run."
    },
    "ADOPTED": {
      "actions": {
        "type": "adoptPrompts"
      },
      "description": "A process with prompts to this parent under way has ended: this outbox takes them over."
    },
    "PARENT_STORED": {
      "guard": {
        "type": "isCurrentPrompt"
      },
      "actions": {
        "type": "assign storedAt"
      },
      "description": "OpenCode has stored a user message in the parent."
    },
    "WITHDRAW": {
      "actions": {
        "type": "withdraw"
      },
      "description": "The parent gets the result of a run in another way, or its task is gone."
    },
    "PARENT_CLOSED": {
      "target": [
        ".delivery.closed",
        ".parent.open"
      ],
      "description": "The parent session was deleted, or stopped for good."
    }
  },
  "states": {
    "delivery": {
      "description": "How the notices that are owed are delivered.",
      "initial": "idle",
      "on": {
        "PARENT_ANSWERED": {
          "guard": {
            "type": "answersPrompt"
          },
          "description": "The parent's model begins to answer a message. It has read the prompt.",
          "target": "#idle",
          "actions": [
            {
              "type": "showToasts"
            },
            {
              "type": "assign"
            },
            {
              "type": "noticeAcknowledged"
            },
            {
              "type": "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt"
            }
          ]
        }
      },
      "states": {
        "idle": {
          "id": "idle",
          "description": "Nothing is owed, and nothing is under way.",
          "always": [
            {
              "guard": {
                "type": "hasAdopted"
              },
              "target": "#checking",
              "description": "A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
              "actions": {
                "type": "takeAdoptedPrompt"
              }
            },
            {
              "guard": {
                "type": "wakesParent"
              },
              "target": "#gathering",
              "description": "The parent is to be notified."
            },
            {
              "guard": {
                "type": "hasQueued"
              },
              "target": "#holding",
              "description": "A notice is owed."
            }
          ],
          "on": {
            "PARENT_NOT_FOUND": {
              "target": "#missing",
              "description": "OpenCode did not find the parent session."
            }
          }
        },
        "waiting": {
          "description": "Notices are owed, and nothing is under way.",
          "initial": "holding",
          "states": {
            "holding": {
              "id": "holding",
              "description": "Notices are owed that do not wake the parent while other tasks of their batch run.",
              "entry": [
                {
                  "type": "checkBatches"
                },
                {
                  "type": "setDeadline",
                  "params": 15000
                }
              ],
              "exit": {
                "type": "clearDeadline"
              },
              "always": [
                {
                  "guard": {
                    "type": "hasAdopted"
                  },
                  "target": "#checking",
                  "description": "A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
                  "actions": {
                    "type": "takeAdoptedPrompt"
                  }
                },
                {
                  "guard": {
                    "type": "wakesParent"
                  },
                  "target": "#gathering",
                  "description": "The parent is to be notified."
                },
                {
                  "guard": {
                    "type": "not hasQueued"
                  },
                  "target": "#idle",
                  "description": "Nothing is owed any more.",
                  "actions": {
                    "type": "startAfresh"
                  }
                }
              ],
              "on": {
                "NOTICE_DUE": {
                  "guard": {
                    "type": "isNew"
                  },
                  "target": "holding",
                  "reenter": true,
                  "actions": {
                    "type": "enqueue"
                  },
                  "description": "The parent is owed the notice of a run."
                },
                "WITHDRAW": {
                  "target": "holding",
                  "reenter": true,
                  "actions": {
                    "type": "withdraw"
                  },
                  "description": "The parent gets the result of a run in another way, or its task is gone."
                },
                "BATCHES_CHECKED": {
                  "actions": {
                    "type": "markEnded"
                  },
                  "description": "It is known which batches have no running task any more."
                },
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "holding",
                  "reenter": true,
                  "description": "Time has passed. The batches are checked again."
                }
              }
            },
            "gathering": {
              "id": "gathering",
              "description": "Notices are owed. They wait until the parent can be sent a prompt.",
              "always": [
                {
                  "guard": {
                    "type": "hasAdopted"
                  },
                  "target": "#checking",
                  "description": "A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
                  "actions": {
                    "type": "takeAdoptedPrompt"
                  }
                },
                {
                  "guard": {
                    "type": "not hasQueued"
                  },
                  "target": "#idle",
                  "description": "Nothing is owed any more.",
                  "actions": {
                    "type": "startAfresh"
                  }
                },
                {
                  "guard": {
                    "type": "not wakesParent"
                  },
                  "target": "holding",
                  "description": "What was to wake the parent is not owed any more."
                },
                {
                  "guard": {
                    "type": "isOpen"
                  },
                  "target": "#reading",
                  "description": "The parent can be sent a prompt."
                }
              ],
              "on": {
                "PARENT_NOT_FOUND": {
                  "target": "#missing",
                  "description": "OpenCode did not find the parent session."
                }
              }
            },
            "gatheringMore": {
              "id": "gatheringMore",
              "description": "Notices are owed that wake the parent. They wait for other tasks to end, while the provider has the conversation in its prompt cache.",
              "entry": {
                "type": "setDeadline"
              },
              "exit": {
                "type": "clearDeadline"
              },
              "always": [
                {
                  "guard": {
                    "type": "hasAdopted"
                  },
                  "target": "#checking",
                  "description": "A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
                  "actions": {
                    "type": "takeAdoptedPrompt"
                  }
                },
                {
                  "guard": {
                    "type": "not wakesParent"
                  },
                  "target": "gathering",
                  "description": "What was to wake the parent is not owed any more."
                }
              ],
              "on": {
                "PARENT_NOT_FOUND": {
                  "target": "#missing",
                  "description": "OpenCode did not find the parent session."
                },
                "NOTICE_DUE": {
                  "guard": {
                    "type": "isNew"
                  },
                  "target": "gathering",
                  "actions": {
                    "type": "enqueue"
                  },
                  "description": "The parent is owed the notice of a run."
                },
                "PARENT_BUSY": {
                  "target": "gathering",
                  "description": "OpenCode reports that the parent is at work. A turn begins, which can deliver them."
                },
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "gathering",
                  "description": "Time has passed. It is looked again whether others are at work."
                }
              }
            }
          }
        },
        "preparing": {
          "description": "A prompt is prepared: the parent is read, and the text is written.",
          "initial": "reading",
          "states": {
            "reading": {
              "id": "reading",
              "description": "The parent's agent and model are read. Runs that end meanwhile go into the same prompt.",
              "entry": [
                {
                  "type": "assign queuedBefore"
                },
                {
                  "type": "readParent"
                }
              ],
              "on": {
                "PARENT_NOT_FOUND": {
                  "target": "#missing",
                  "description": "OpenCode did not find the parent session."
                },
                "PARENT_READ": [
                  {
                    "guard": {
                      "type": "isSetAside"
                    },
                    "target": "#setAside",
                    "description": "The parent's agent and model are known. A person has taken back messages of it, or archived it.",
                    "actions": {
                      "type": "reportSetAside"
                    }
                  },
                  {
                    "guard": {
                      "type": "hasPrompt and isOpen"
                    },
                    "target": "#sending",
                    "description": "The parent's agent and model are known. The prompt is composed already.",
                    "actions": {
                      "type": "assign room, sender"
                    }
                  },
                  {
                    "guard": {
                      "type": "hasPrompt"
                    },
                    "target": "#resending",
                    "description": "The parent's agent and model are known. It can no longer be sent a prompt."
                  },
                  {
                    "guard": {
                      "type": "hasAdopted"
                    },
                    "target": "#checking",
                    "description": "The parent's agent and model are known. A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
                    "actions": {
                      "type": "takeAdoptedPrompt"
                    }
                  },
                  {
                    "guard": {
                      "type": "wakesParent and mayGatherMore"
                    },
                    "target": "#gatheringMore",
                    "description": "The parent's agent and model are known. Other tasks are at work, and the provider still has the conversation in its prompt cache."
                  },
                  {
                    "guard": {
                      "type": "moreMayEnd"
                    },
                    "target": "reading",
                    "reenter": true,
                    "description": "The parent's agent and model are known. Runs ended meanwhile, and others have not yet: they may be about to.",
                    "actions": {
                      "type": "assign readsAgain"
                    }
                  },
                  {
                    "guard": {
                      "type": "lacksRoom"
                    },
                    "target": "reading",
                    "reenter": true,
                    "description": "The parent's agent and model are known. More came to be owed meanwhile: it is to be known how much its model has room for."
                  },
                  {
                    "guard": {
                      "type": "wakesParent and isOpen"
                    },
                    "target": "composing",
                    "actions": {
                      "type": "assign room, sender"
                    },
                    "description": "The parent's agent and model are known."
                  },
                  {
                    "target": "#gathering",
                    "description": "The parent's agent and model are known. It can no longer be sent a prompt, or is owed nothing."
                  }
                ],
                "READ_FAILED": {
                  "target": "#backingOff",
                  "actions": {
                    "type": "assign attempts"
                  },
                  "description": "The parent's agent and model could not be read."
                }
              }
            },
            "composing": {
              "description": "The prompt is written for all notices that are owed: its text, counts and ids.",
              "entry": {
                "type": "composeNotice"
              },
              "on": {
                "COMPOSE_FAILED": {
                  "target": "#backingOff",
                  "actions": {
                    "type": "assign attempts"
                  },
                  "description": "The prompt could not be composed."
                },
                "COMPOSED": {
                  "target": "#sending",
                  "actions": [
                    {
                      "type": "noticeComposed"
                    },
                    {
                      "type": "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt, queue"
                    }
                  ],
                  "description": "The prompt has its text and ids."
                }
              }
            }
          }
        },
        "delivering": {
          "description": "The prompt is sent to the parent, until its model has read it.",
          "initial": "sending",
          "on": {
            "PARENT_NOT_FOUND": {
              "target": "#missing",
              "description": "OpenCode did not find the parent session."
            }
          },
          "states": {
            "sending": {
              "id": "sending",
              "description": "The prompt is on its way to the parent.",
              "entry": [
                {
                  "type": "assign attempts"
                },
                {
                  "type": "assign refusal"
                },
                {
                  "type": "sendNotice"
                }
              ],
              "on": {
                "PARENT_ERROR": {
                  "description": "OpenCode reports that the parent's own work failed or was aborted. The prompt may be the cause: the error counts if the prompt stays unanswered.",
                  "actions": {
                    "type": "assign refusal"
                  }
                },
                "PARENT_NOT_FOUND": {
                  "target": "#missing",
                  "actions": {
                    "type": "assign refusal"
                  },
                  "description": "OpenCode did not find the parent session."
                },
                "SENT": {
                  "guard": {
                    "type": "isCurrentPrompt"
                  },
                  "target": "awaiting",
                  "actions": [
                    {
                      "type": "showToasts"
                    },
                    {
                      "type": "assign"
                    },
                    {
                      "type": "assign notFoundCount, sentAt"
                    }
                  ],
                  "description": "OpenCode accepted the prompt."
                },
                "SEND_REFUSED": [
                  {
                    "guard": {
                      "type": "isCurrentPrompt and retryable"
                    },
                    "target": "backingOff",
                    "description": "OpenCode refused the prompt."
                  },
                  {
                    "guard": {
                      "type": "isCurrentPrompt and refusalsLeft"
                    },
                    "target": "backingOff",
                    "description": "OpenCode refused the prompt. It is refused for good, perhaps because its agent no longer exists.",
                    "actions": {
                      "type": "assign refusals"
                    }
                  },
                  {
                    "guard": {
                      "type": "isCurrentPrompt"
                    },
                    "target": "#idle",
                    "description": "OpenCode refused the prompt. It was refused too often: the person is notified.",
                    "actions": [
                      {
                        "type": "noticeRejected"
                      },
                      {
                        "type": "noticeDropped"
                      },
                      {
                        "type": "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt"
                      }
                    ]
                  }
                ]
              }
            },
            "awaiting": {
              "description": "OpenCode accepted the prompt. The parent has not begun to answer it.",
              "entry": {
                "type": "setDeadline"
              },
              "exit": {
                "type": "clearDeadline"
              },
              "on": {
                "PARENT_ERROR": {
                  "description": "OpenCode reports that the parent's own work failed or was aborted. The prompt may be the cause: the error counts if the prompt stays unanswered.",
                  "actions": {
                    "type": "assign refusal"
                  }
                },
                "PARENT_IDLE": {
                  "description": "OpenCode reports that the parent is idle. It should have begun to answer: OpenCode is asked after a moment.",
                  "actions": {
                    "type": "setDeadline",
                    "params": 500
                  }
                },
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "checking",
                  "description": "Time has passed."
                }
              }
            },
            "checking": {
              "id": "checking",
              "description": "OpenCode is asked whether the parent has begun to answer the prompt.",
              "entry": {
                "type": "checkNotice"
              },
              "on": {
                "PARENT_ERROR": {
                  "description": "OpenCode reports that the parent's own work failed or was aborted. The prompt may be the cause: the error counts if the prompt stays unanswered.",
                  "actions": {
                    "type": "assign refusal"
                  }
                },
                "CHECKED": [
                  {
                    "guard": {
                      "type": "isCurrentPrompt and answered"
                    },
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It has begun.",
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "showToasts"
                      },
                      {
                        "type": "assign"
                      },
                      {
                        "type": "noticeAcknowledged"
                      },
                      {
                        "type": "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt"
                      }
                    ]
                  },
                  {
                    "guard": {
                      "type": "isCurrentPrompt and pending"
                    },
                    "target": "awaiting",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It is about to begin.",
                    "actions": [
                      {
                        "type": "assign attempts"
                      },
                      {
                        "type": "assign storedAt"
                      }
                    ]
                  },
                  {
                    "guard": {
                      "type": "isCurrentPrompt and stopped"
                    },
                    "target": "stopped",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. A person stopped the turn that was to.",
                    "actions": [
                      {
                        "type": "assign storedAt"
                      },
                      {
                        "type": "assign stoppedAt"
                      }
                    ]
                  },
                  {
                    "guard": {
                      "type": "isCurrentPrompt and refused and refusalsLeft"
                    },
                    "target": "resending",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It has not, and an error was reported: the prompt is sent again, perhaps without the agent.",
                    "actions": {
                      "type": "assign refusals"
                    }
                  },
                  {
                    "guard": {
                      "type": "isCurrentPrompt and refused"
                    },
                    "target": "#idle",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It was refused too often: the person is notified.",
                    "actions": [
                      {
                        "type": "noticeRejected"
                      },
                      {
                        "type": "noticeDropped"
                      },
                      {
                        "type": "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt"
                      }
                    ]
                  },
                  {
                    "guard": {
                      "type": "isCurrentPrompt"
                    },
                    "target": "resending",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It has not: the prompt is sent again.",
                    "actions": {
                      "type": "assign refusals"
                    }
                  }
                ],
                "CHECK_FAILED": {
                  "guard": {
                    "type": "isCurrentPrompt"
                  },
                  "target": "awaiting",
                  "description": "OpenCode was asked, and did not answer. It is asked again after a pause.",
                  "actions": {
                    "type": "assign attempts"
                  }
                }
              }
            },
            "stopped": {
              "description": "A person stopped the parent's turn before its model had read the prompt. The prompt is in the conversation: it is read in the next turn, and starts none.",
              "entry": [
                {
                  "type": "assign looks, nextDeadline"
                },
                {
                  "type": "checkBatches"
                }
              ],
              "exit": {
                "type": "clearDeadline"
              },
              "always": {
                "guard": {
                  "type": "wakesSinceStop"
                },
                "target": "resending",
                "description": "A later notice wakes the parent."
              },
              "on": {
                "NOTICE_DUE": {
                  "guard": {
                    "type": "isNew"
                  },
                  "actions": [
                    {
                      "type": "enqueue"
                    },
                    {
                      "type": "checkBatches"
                    }
                  ],
                  "description": "The parent is owed the notice of a run."
                },
                "BATCHES_CHECKED": {
                  "actions": {
                    "type": "markEnded"
                  },
                  "description": "It is known which batches have no running task any more."
                },
                "PARENT_BUSY": {
                  "target": "awaiting",
                  "description": "OpenCode reports that the parent is at work. A turn begins, in which the prompt is read."
                },
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "checking",
                  "description": "Time has passed. It is looked at again."
                }
              }
            },
            "resending": {
              "id": "resending",
              "description": "The prompt is to be sent again. It waits until the parent can be sent one.",
              "always": {
                "guard": {
                  "type": "isOpen"
                },
                "target": "#reading",
                "description": "The parent can be sent the prompt."
              }
            },
            "backingOff": {
              "id": "backingOff",
              "description": "A call to OpenCode failed. It is made again after a pause; a prompt keeps its ids.",
              "entry": {
                "type": "setDeadline"
              },
              "exit": {
                "type": "clearDeadline"
              },
              "on": {
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "#reading",
                  "description": "Time has passed."
                }
              }
            }
          }
        },
        "unreachable": {
          "description": "OpenCode does not find the parent. This may pass: nothing is sent, and nothing is removed.",
          "initial": "missing",
          "on": {
            "PARENT_PRESENT": [
              {
                "guard": {
                  "type": "hasPrompt"
                },
                "target": "#checking",
                "description": "The parent has a task, new or ended, at work: it exists, whatever closed its outbox. The prompt may have arrived already."
              },
              {
                "target": "#gathering",
                "description": "The parent has a task, new or ended, at work: it exists, whatever closed its outbox."
              }
            ]
          },
          "states": {
            "missing": {
              "id": "missing",
              "description": "OpenCode does not find the parent. This may pass: nothing is sent, and nothing is removed.",
              "entry": [
                {
                  "type": "assign notFoundCount"
                },
                {
                  "type": "setDeadline"
                }
              ],
              "exit": {
                "type": "clearDeadline"
              },
              "on": {
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "searching",
                  "description": "Time has passed."
                }
              }
            },
            "searching": {
              "description": "OpenCode is asked for the parent again, and for all its sessions. A parent found in neither is gone.",
              "entry": {
                "type": "findParent"
              },
              "on": {
                "PARENT_FOUND": [
                  {
                    "guard": {
                      "type": "hasPrompt"
                    },
                    "target": "#checking",
                    "description": "The search found the parent session. The prompt may have arrived already."
                  },
                  {
                    "target": "#gathering",
                    "description": "The search found the parent session."
                  }
                ],
                "SEARCH_FAILED": {
                  "target": "missing",
                  "description": "OpenCode did not answer the search."
                }
              }
            }
          }
        },
        "setAside": {
          "id": "setAside",
          "description": "A person has taken back messages of the parent, which any prompt would delete for good, or has archived it; or it is a task that is paused. Nothing is sent until the parent is used again.",
          "entry": {
            "type": "assign looks, nextDeadline"
          },
          "exit": {
            "type": "clearDeadline"
          },
          "always": {
            "guard": {
              "type": "not hasPrompt and not hasQueued"
            },
            "target": "#idle",
            "description": "Nothing is owed any more.",
            "actions": {
              "type": "startAfresh"
            }
          },
          "on": {
            "PARENT_NOT_FOUND": {
              "target": "#missing",
              "description": "OpenCode did not find the parent session."
            },
            "PARENT_CHANGED": {
              "target": "#reading",
              "description": "OpenCode reports that the parent has changed: it may be in use again. A person may be using it again."
            },
            "PARENT_STORED": {
              "guard": {
                "type": "not isCurrentPrompt"
              },
              "target": "#reading",
              "description": "OpenCode has stored a user message in the parent. A person writes to it."
            },
            "TICK": {
              "guard": {
                "type": "due"
              },
              "target": "#reading",
              "description": "Time has passed. It is looked at again."
            }
          }
        },
        "closed": {
          "description": "The parent session was deleted, or stopped for good. Notices can no longer be delivered.",
          "entry": [
            {
              "type": "noticeDropped"
            },
            {
              "type": "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, queue, prompt, adoptedPrompts"
            }
          ],
          "on": {
            "NOTICE_DUE": {
              "description": "The parent is owed the notice of a run. It cannot be delivered.",
              "actions": [
                {
                  "type": "enqueue"
                },
                {
                  "type": "noticeDropped"
                },
                {
                  "type": "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, queue, prompt, adoptedPrompts"
                }
              ]
            },
            "ADOPTED": {
              "description": "A process with prompts to this parent under way has ended: this outbox takes them over. They cannot be delivered.",
              "actions": [
                {
                  "type": "adoptPrompts"
                },
                {
                  "type": "noticeDropped"
                },
                {
                  "type": "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, queue, prompt, adoptedPrompts"
                }
              ]
            },
            "PARENT_PRESENT": {
              "target": "#idle",
              "description": "The parent has a task, new or ended, at work: it exists, whatever closed its outbox."
            }
          }
        }
      }
    },
    "parent": {
      "description": "Whether the parent session can be sent a prompt.",
      "initial": "open",
      "states": {
        "open": {
          "id": "open",
          "description": "The parent can be sent a prompt, whether busy or idle.",
          "on": {
            "PARENT_ERROR": {
              "target": "coolingDown",
              "description": "OpenCode reports that the parent's own work failed or was aborted."
            }
          }
        },
        "coolingDown": {
          "description": "The parent's work just failed or was aborted. A prompt sent now could get lost.",
          "entry": {
            "type": "assign parentReadyAt"
          },
          "exit": {
            "type": "assign parentReadyAt"
          },
          "on": {
            "PARENT_ERROR": {
              "target": "coolingDown",
              "reenter": true,
              "description": "OpenCode reports that the parent's own work failed or was aborted. The wait starts anew."
            },
            "PARENT_IDLE": {
              "target": "coolingDown",
              "reenter": true,
              "description": "OpenCode reports that the parent is idle. The wait starts anew."
            },
            "PARENT_BUSY": {
              "target": "open",
              "description": "OpenCode reports that the parent is at work."
            },
            "TICK": {
              "guard": {
                "type": "parentReady"
              },
              "target": "open",
              "description": "Time has passed."
            }
          }
        }
      }
    }
  }
}).provide({
  guards: {
    ...Object.fromEntries(Object.keys(otherwise).map((name) => [name, answering(name)])),
    "isOpen": stateIn("#open"),
    "not hasQueued": not("hasQueued"),
    "not wakesParent": not("wakesParent"),
    "hasPrompt and isOpen": and(["hasPrompt", "isOpen"]),
    "wakesParent and mayGatherMore": and(["wakesParent", "mayGatherMore"]),
    "wakesParent and isOpen": and(["wakesParent", "isOpen"]),
    "isCurrentPrompt and retryable": and(["isCurrentPrompt", "retryable"]),
    "isCurrentPrompt and refusalsLeft": and(["isCurrentPrompt", "refusalsLeft"]),
    "isCurrentPrompt and answered": and(["isCurrentPrompt", "answered"]),
    "isCurrentPrompt and pending": and(["isCurrentPrompt", "pending"]),
    "isCurrentPrompt and stopped": and(["isCurrentPrompt", "stopped"]),
    "isCurrentPrompt and refused and refusalsLeft": and(["isCurrentPrompt", "refused", "refusalsLeft"]),
    "isCurrentPrompt and refused": and(["isCurrentPrompt", "refused"]),
    "not hasPrompt and not hasQueued": and([not("hasPrompt"), not("hasQueued")]),
    "not isCurrentPrompt": not("isCurrentPrompt"),
  },
  actions: {
    "adoptPrompts": () => {},
    "assign": () => {},
    "assign attempts": () => {},
    "assign looks, nextDeadline": () => {},
    "assign notFoundCount": () => {},
    "assign notFoundCount, sentAt": () => {},
    "assign parentReadyAt": () => {},
    "assign queuedBefore": () => {},
    "assign readsAgain": () => {},
    "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt": () => {},
    "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt, queue": () => {},
    "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, queue, prompt, adoptedPrompts": () => {},
    "assign refusal": () => {},
    "assign refusals": () => {},
    "assign room, sender": () => {},
    "assign stoppedAt": () => {},
    "assign storedAt": () => {},
    "checkBatches": () => {},
    "checkNotice": () => {},
    "clearDeadline": () => {},
    "composeNotice": () => {},
    "enqueue": () => {},
    "findParent": () => {},
    "markEnded": () => {},
    "noticeAcknowledged": () => {},
    "noticeComposed": () => {},
    "noticeDropped": () => {},
    "noticeRejected": () => {},
    "readParent": () => {},
    "reportSetAside": () => {},
    "sendNotice": () => {},
    "setDeadline": () => {},
    "showToasts": () => {},
    "startAfresh": () => {},
    "takeAdoptedPrompt": () => {},
    "withdraw": () => {},
  },
});
