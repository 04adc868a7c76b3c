// The chart `task` of opencode-taskchart, to be loaded and simulated by XState 5. `npm run statecharts` makes it.
//
//   import { createActor } from "xstate";
//   import { plainRun, task } from "./task.js";
//
//   const actor = createActor(task).start();
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

import { and, createMachine, not, or, raise, stateIn } from "xstate";

export const answers = {
  "RUN_BEGAN": {"isForFleet":false,"isCancelledBefore":false},
  "SLOT_GRANTED": {"isGateBeforeDue":false,"hasBegunBefore":false},
  "PROMPT_ACCEPTED": {"isRefusedForNow":false,"idleHinted":false},
  "CHECKED_ANSWERED": {"isCurrentCheck":true,"hasGate":false,"isMisfit":false,"isSteered":false},
  "RUN_ENDED": {"waitedFor":false,"hasReceipt":false,"isCompleted":true},
  "RECEIPT_WRITTEN": {"isReceiptOfRun":true},
};

const otherwise = {
  "due": true,
  "idleHinted": false,
  "live": true,
  "isCompleted": true,
  "isFailed": false,
  "mayEndOtherwise": true,
  "retryable": false,
  "wasSentSinceFault": true,
  "sendAttemptsLeft": false,
  "failedChecksLeft": true,
  "notStopping": true,
  "hasBegunBefore": false,
  "waitsForProvider": true,
  "pauseAttemptsLeft": false,
  "isBeyondLimit": false,
  "stopAttemptsLeft": false,
  "isCurrentCheck": true,
  "goesOn": true,
  "hasRetry": true,
  "isRefusedForNow": false,
  "isRefused": false,
  "isToContinue": false,
  "isAbort": true,
  "isRefusedTooLong": true,
  "isBlockedCall": true,
  "blockedByTask": true,
  "isMisfit": false,
  "mayNotCheck": false,
  "hasSchema": false,
  "mayRepair": false,
  "hasGate": false,
  "isGateBeforeDue": false,
  "mayGateBeforeAgain": false,
  "isCurrentGate": true,
  "hasPassed": false,
  "mayTryGateAgain": false,
  "isForFleet": false,
  "isLaunch": false,
  "isNewClaim": true,
  "isNewestClaim": true,
  "isRemotelyCompleted": false,
  "isRemotelyFailed": false,
  "mayEnqueueAgain": false,
  "mayBeginAgain": false,
  "hasReceipt": false,
  "isReceiptOfRun": true,
  "lacksReceipt": true,
  "isReceiptIncomplete": true,
  "waitedFor": false,
  "isWaiter": true,
  "isOnlyWaiter": true,
  "mayContinue": false,
  "mayBeInterrupted": false,
  "noNoticePending": true,
  "newRequest": true,
  "isQuestion": false,
  "isSteered": false,
  "isOldestInstruction": true,
  "isUnseen": true,
  "moreInstructions": false,
  "maySteerAgain": true,
  "openRequest": true,
  "onlyRequest": false,
  "questionNext": false,
  "isNextRunWanted": true,
  "fitsItsEnd": true,
  "isCancelledBefore": false,
};

const answering = (name) => ({ event }) =>
  event.guards?.[name] ?? answers[event.type]?.[name] ?? otherwise[name];

export const plainRun = [
  {"type":"SLOT_GRANTED"},
  {"type":"PROMPT_ACCEPTED"},
  {"type":"HOST_IDLE"},
  {"type":"CHECKED_ANSWERED"},
  {"type":"RECEIPT_WRITTEN"},
  {"type":"NOTICE_COMPOSED"},
  {"type":"NOTICE_ACKNOWLEDGED"},
];

export const task = createMachine({
  "id": "task",
  "description": "One background task: its runs, the notices of their ends, what holds it up, and further instructions for it.",
  "type": "parallel",
  "states": {
    "lifecycle": {
      "description": "The status of the task: that of its newest run.",
      "initial": "running",
      "states": {
        "running": {
          "description": "The launch prompt is being worked on.",
          "meta": {
            "refuses": {
              "RESUME": "only completed tasks can be resumed (this one is running)",
              "RETRY": "still runs: use steer"
            }
          },
          "entry": raise({"type":"RUN_BEGAN"}),
          "on": {
            "RUN_ENDED": [
              {
                "guard": {
                  "type": "isCompleted"
                },
                "target": "completed",
                "description": "The run has ended. The region `run` raises this for the other regions."
              },
              {
                "guard": {
                  "type": "isFailed"
                },
                "target": "error",
                "description": "The run has ended. The region `run` raises this for the other regions."
              },
              {
                "target": "cancelled",
                "description": "The run has ended. The region `run` raises this for the other regions."
              }
            ]
          }
        },
        "resumed": {
          "description": "A follow-up prompt is being worked on, or what the run before did not bring to its end.",
          "meta": {
            "refuses": {
              "RESUME": "is currently being resumed",
              "RETRY": "still runs: use steer"
            }
          },
          "entry": raise({"type":"RUN_BEGAN"}),
          "on": {
            "RUN_ENDED": [
              {
                "guard": {
                  "type": "isCompleted"
                },
                "target": "completed",
                "description": "The run has ended. The region `run` raises this for the other regions."
              },
              {
                "guard": {
                  "type": "isFailed"
                },
                "target": "error",
                "description": "The run has ended. The region `run` raises this for the other regions."
              },
              {
                "target": "cancelled",
                "description": "The run has ended. The region `run` raises this for the other regions."
              }
            ]
          }
        },
        "completed": {
          "description": "The newest run was answered.",
          "meta": {
            "refuses": {
              "CANCEL": "has already finished (completed)",
              "PAUSE": "has already finished (completed)",
              "CONTINUE": "has already finished (completed): use resume",
              "STEER": "has already finished (completed): use resume",
              "RETRY": "has completed: use resume"
            }
          },
          "on": {
            "RESULT_READ": {
              "actions": {
                "type": "assign resultRetrievedAt"
              },
              "description": "The result was read."
            },
            "RESUME": {
              "guard": {
                "type": "mayGoOn"
              },
              "target": "resumed",
              "actions": {
                "type": "assign"
              },
              "description": "A follow-up prompt begins the next run."
            }
          }
        },
        "error": {
          "description": "The newest run failed.",
          "meta": {
            "refuses": {
              "CANCEL": "has already finished (error)",
              "PAUSE": "has already finished (error)",
              "CONTINUE": "has already finished (error): use retry",
              "STEER": "has already finished (error): use retry",
              "RESUME": "only completed tasks can be resumed (this one is error): use retry"
            }
          },
          "on": {
            "RESULT_READ": {
              "actions": {
                "type": "assign resultRetrievedAt"
              },
              "description": "The result was read."
            },
            "RETRY": {
              "guard": {
                "type": "mayGoOn and mayEndOtherwise"
              },
              "target": "resumed",
              "actions": {
                "type": "assign"
              },
              "description": "The task goes on after its last finished step, in a run of its own."
            }
          }
        },
        "cancelled": {
          "description": "The newest run was stopped, by the agent or by a person.",
          "meta": {
            "refuses": {
              "CANCEL": "has already finished (cancelled)",
              "PAUSE": "has already finished (cancelled)",
              "CONTINUE": "has already finished (cancelled): use retry",
              "STEER": "has already finished (cancelled): use retry",
              "RESUME": "only completed tasks can be resumed (this one is cancelled): use retry"
            }
          },
          "on": {
            "RESULT_READ": {
              "actions": {
                "type": "assign resultRetrievedAt"
              },
              "description": "The result was read."
            },
            "RETRY": {
              "guard": {
                "type": "mayGoOn"
              },
              "target": "resumed",
              "actions": {
                "type": "assign"
              },
              "description": "The task goes on after its last finished step, in a run of its own."
            }
          }
        }
      }
    },
    "run": {
      "description": "Where the newest run is: from its place in the queue to its end.",
      "initial": "idle",
      "on": {
        "CANCEL": {
          "guard": {
            "type": "live and notStopping"
          },
          "target": ".stopping",
          "description": "The agent or a person cancels the task."
        },
        "LIMIT_EXCEEDED": {
          "guard": {
            "type": "live and notStopping and wasSent"
          },
          "target": ".stopping",
          "actions": {
            "type": "recordLimit"
          },
          "description": "The run is beyond a limit of the options: a budget, repeated calls, or its time."
        },
        "SESSION_DELETED": {
          "guard": {
            "type": "live"
          },
          "target": "#idle",
          "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice. Its model keeps working until it is aborted.",
          "actions": [
            {
              "type": "recordEnd"
            },
            {
              "type": "recordError",
              "params": {
                "name": "SessionGone",
                "kind": "sessionGone",
                "message": "The task's session was deleted before it answered."
              }
            },
            {
              "type": "stopSession"
            },
            raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
          ]
        },
        "SUPERVISION_FAILED": {
          "guard": {
            "type": "live"
          },
          "target": "#idle",
          "description": "A fault in the plugin: the run can no longer be supervised. The run is given up, and whatever still works on it is stopped.",
          "actions": [
            {
              "type": "recordEnd"
            },
            {
              "type": "recordError"
            },
            {
              "type": "stopSession"
            },
            raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
          ]
        },
        "STEERING_REFUSED": {
          "guard": {
            "type": "isOldestInstruction and not maySteerAgain"
          },
          "target": "#idle",
          "description": "OpenCode did not take the instruction. The run is given up, and whatever still works on it is stopped.",
          "actions": [
            {
              "type": "recordEnd"
            },
            {
              "type": "recordError"
            },
            {
              "type": "stopSession"
            },
            raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
          ]
        },
        "ADOPTED": [
          {
            "guard": {
              "type": "live and isAnswerChecked"
            },
            "target": "#recovering",
            "description": "The process that supervised the task has ended, and this one takes over. It ended while an answer was checked, which may be the cause.",
            "actions": [
              {
                "type": "assign"
              },
              {
                "type": "assign endedInChecks"
              }
            ]
          },
          {
            "guard": {
              "type": "live"
            },
            "target": "#recovering",
            "actions": {
              "type": "assign"
            },
            "description": "The process that supervised the task has ended, and this one takes over."
          }
        ],
        "CALL_BLOCKED": {
          "guard": {
            "type": "live"
          },
          "actions": {
            "type": "addBlockedCall"
          },
          "description": "A tool call of the task's agent waits for tasks that the agent launched."
        },
        "CALL_RETURNED": {
          "guard": {
            "type": "isBlockedCall"
          },
          "actions": {
            "type": "removeBlockedCall"
          },
          "description": "That tool call waits no longer."
        },
        "OWN_TASK_ENDED": {
          "guard": {
            "type": "blockedByTask"
          },
          "description": "A run of a task that the agent launched has ended. A tool call waited for it.",
          "actions": {
            "type": "removeBlockingTask"
          }
        }
      },
      "states": {
        "idle": {
          "id": "idle",
          "description": "No run is under way. What was observed of the newest one is written down.",
          "on": {
            "RUN_BEGAN": [
              {
                "guard": {
                  "type": "isCancelledBefore"
                },
                "target": "#idle",
                "actions": [
                  {
                    "type": "recordEnd"
                  },
                  raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                ],
                "description": "A run begins. The lifecycle raises this for the region `run`. Nothing of it is sent."
              },
              {
                "guard": {
                  "type": "isForFleet"
                },
                "target": "fleet",
                "description": "A run begins. The lifecycle raises this for the region `run`."
              },
              {
                "target": "queued",
                "description": "A run begins. The lifecycle raises this for the region `run`."
              }
            ],
            "RUN_ENDED": [
              {
                "guard": {
                  "type": "hasReceipt"
                },
                "description": "The run has ended. The region `run` raises this for the other regions. The server that worked on the run has written it."
              },
              {
                "actions": {
                  "type": "writeReceipt"
                },
                "description": "The run has ended. The region `run` raises this for the other regions."
              }
            ],
            "RECEIPT_WRITTEN": {
              "guard": {
                "type": "isReceiptOfRun"
              },
              "actions": {
                "type": "recordReceipt"
              },
              "description": "What was observed of the run is known."
            },
            "RECEIPT_INCOMPLETE": {
              "guard": {
                "type": "lacksReceipt"
              },
              "actions": [
                {
                  "type": "assign isReceiptIncomplete"
                },
                {
                  "type": "completeReceipt"
                }
              ],
              "description": "This process has not seen all of the run: OpenCode is asked what it has stored of it."
            },
            "ADOPTED": {
              "guard": {
                "type": "isReceiptIncomplete"
              },
              "description": "The process that supervised the task has ended, and this one takes over. The process that asked OpenCode has ended.",
              "actions": {
                "type": "completeReceipt"
              }
            }
          }
        },
        "queued": {
          "id": "queued",
          "description": "The task's session exists. The run waits for a slot.",
          "meta": {
            "waitsFor": "slot"
          },
          "entry": [
            {
              "type": "beginWait"
            },
            {
              "type": "assign nextDeadline"
            },
            {
              "type": "requestSlot"
            }
          ],
          "on": {
            "SLOT_GRANTED": [
              {
                "guard": {
                  "type": "hasBegunBefore"
                },
                "target": "#continuing",
                "actions": {
                  "type": "assign queuedUntil, pause"
                },
                "description": "The run has a slot: it may be worked on."
              },
              {
                "guard": {
                  "type": "isGateBeforeDue"
                },
                "target": "#gatingBefore",
                "actions": {
                  "type": "assign pause, queuedUntil"
                },
                "description": "The run has a slot: it may be worked on."
              },
              {
                "target": "active",
                "actions": {
                  "type": "assign pause, queuedUntil"
                },
                "description": "The run has a slot: it may be worked on."
              }
            ],
            "PAUSE": [
              {
                "guard": {
                  "type": "goesOn"
                },
                "target": "#paused",
                "description": "The agent or a person pauses the task, or its provider refuses it for hours. Its turn is over.",
                "actions": {
                  "type": "assign pause"
                }
              },
              {
                "target": "#paused",
                "description": "The agent or a person pauses the task, or its provider refuses it for hours. There is nothing to stop.",
                "actions": {
                  "type": "assign pause"
                }
              }
            ],
            "ADOPTED": {
              "description": "The process that supervised the task has ended, and this one takes over. Nothing is under way: the run asks for a slot here.",
              "actions": {
                "type": "requestSlot"
              }
            },
            "CANCEL": {
              "guard": {
                "type": "not goesOn"
              },
              "target": "#idle",
              "actions": [
                {
                  "type": "recordEnd"
                },
                raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
              ],
              "description": "The agent or a person cancels the task. Nothing was sent yet: there is nothing to stop."
            }
          }
        },
        "active": {
          "id": "active",
          "description": "The agent is given the prompt, works on it, or OpenCode is asked what became of that.",
          "initial": "prompting",
          "on": {
            "PAUSE": {
              "target": "pausing",
              "actions": {
                "type": "assign pause"
              },
              "description": "The agent or a person pauses the task, or its provider refuses it for hours."
            },
            "HOST_ANSWERING": {
              "guard": {
                "type": "hasRetry"
              },
              "description": "OpenCode reports that the provider answers the agent's request. The provider did not refuse the request again.",
              "actions": {
                "type": "forgetRetry"
              }
            }
          },
          "states": {
            "prompting": {
              "description": "A gate may be run, and the prompt is sent.",
              "initial": "sending",
              "on": {
                "HOST_RETRYING": {
                  "guard": {
                    "type": "not isGatedBefore"
                  },
                  "description": "OpenCode reports that the provider refused a request for now, and when it makes the request again. This is noted: the prompt may have arrived.",
                  "actions": {
                    "type": "recordRetry"
                  }
                }
              },
              "states": {
                "gatingBefore": {
                  "id": "gatingBefore",
                  "description": "The run has its slot. Before the agent begins, the gate's command is run once, to be compared with later.",
                  "meta": {
                    "waitsFor": "gateBefore"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "runGateBefore"
                    }
                  ],
                  "exit": {
                    "type": "stopGate"
                  },
                  "on": {
                    "GATE_ENDED_BEFORE": {
                      "target": "#sending",
                      "description": "The gate's command has ended that was run before the agent begins. However it ended, the agent begins.",
                      "actions": [
                        {
                          "type": "assign queuedUntil"
                        },
                        {
                          "type": "assign gateBefore"
                        }
                      ]
                    },
                    "CANCEL": {
                      "target": "#idle",
                      "actions": [
                        {
                          "type": "recordEnd"
                        },
                        raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                      ],
                      "description": "The agent or a person cancels the task. Nothing was sent yet: only the command is ended."
                    },
                    "PAUSE": {
                      "target": "#paused",
                      "description": "The agent or a person pauses the task, or its provider refuses it for hours. Nothing was sent yet: the command is run anew.",
                      "actions": {
                        "type": "assign pause"
                      }
                    },
                    "ADOPTED": [
                      {
                        "guard": {
                          "type": "mayGateBeforeAgain"
                        },
                        "target": "#gatingBefore",
                        "reenter": true,
                        "description": "The process that supervised the task has ended, and this one takes over. The command ended with that process, and is run again.",
                        "actions": {
                          "type": "assign endedInChecks"
                        }
                      },
                      {
                        "target": "#sending",
                        "description": "The process that supervised the task has ended, and this one takes over. The command may be what ends OpenCode. How it ends is not known, and the agent begins.",
                        "actions": [
                          {
                            "type": "assign queuedUntil"
                          },
                          {
                            "type": "assign gateBefore"
                          }
                        ]
                      }
                    ]
                  }
                },
                "sending": {
                  "id": "sending",
                  "description": "The prompt is on its way to OpenCode.",
                  "meta": {
                    "waitsFor": "acceptance"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "assign sendAttempts, endedInChecks, hostError, idleHinted, missingSince, nextDeadline"
                    },
                    {
                      "type": "sendPrompt"
                    }
                  ],
                  "on": {
                    "PROMPT_ACCEPTED": [
                      {
                        "guard": {
                          "type": "idleHinted"
                        },
                        "target": "#verifying",
                        "description": "OpenCode accepted the prompt. It reported idle or an error before that."
                      },
                      {
                        "guard": {
                          "type": "isRefusedForNow"
                        },
                        "target": "#retrying",
                        "description": "OpenCode accepted the prompt. The provider refuses for now."
                      },
                      {
                        "target": "#working",
                        "description": "OpenCode accepted the prompt."
                      }
                    ],
                    "PROMPT_REFUSED": [
                      {
                        "guard": {
                          "type": "retryable and sendAttemptsLeft"
                        },
                        "target": "backingOff",
                        "description": "OpenCode refused the prompt."
                      },
                      {
                        "target": "#idle",
                        "description": "OpenCode refused the prompt. The run is given up, and whatever still works on it is stopped.",
                        "actions": [
                          {
                            "type": "recordEnd"
                          },
                          {
                            "type": "recordError"
                          },
                          {
                            "type": "stopSession"
                          },
                          raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                        ]
                      }
                    ],
                    "SESSION_NOT_FOUND": {
                      "target": "#missing",
                      "actions": {
                        "type": "recordNotFound"
                      },
                      "description": "The prompt was sent, and OpenCode did not find the task's session."
                    },
                    "HOST_IDLE": {
                      "description": "OpenCode reports that the task's session is idle. OpenCode is asked once it has accepted the prompt.",
                      "actions": {
                        "type": "recordIdleHint"
                      }
                    },
                    "HOST_ERROR": {
                      "description": "OpenCode reports an error in the task's session. OpenCode is asked once it has accepted the prompt.",
                      "actions": {
                        "type": "recordIdleHint"
                      }
                    }
                  }
                },
                "backingOff": {
                  "id": "backingOff",
                  "description": "The prompt was refused or not answered, or a fault of OpenCode interrupted the run. It is sent again, with the same ids, after a pause.",
                  "meta": {
                    "waitsFor": "retry"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "setDeadline"
                    }
                  ],
                  "on": {
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "sending",
                      "description": "Time has passed."
                    },
                    "HOST_IDLE": {
                      "target": "#verifying",
                      "description": "OpenCode reports that the task's session is idle."
                    },
                    "HOST_ERROR": {
                      "guard": {
                        "type": "wasSentSinceFault"
                      },
                      "target": "#verifying",
                      "description": "OpenCode reports an error in the task's session. Right after a fault of OpenCode, it is a consequence of that.",
                      "actions": {
                        "type": "recordIdleHint"
                      }
                    }
                  }
                }
              }
            },
            "working": {
              "id": "working",
              "description": "OpenCode has the prompt, and the agent works on it.",
              "initial": "busy",
              "on": {
                "HOST_RETRYING": {
                  "target": ".retrying",
                  "actions": {
                    "type": "recordRetry"
                  },
                  "description": "OpenCode reports that the provider refused a request for now, and when it makes the request again."
                },
                "HOST_IDLE": {
                  "target": "#verifying",
                  "description": "OpenCode reports that the task's session is idle."
                },
                "HOST_ERROR": {
                  "target": ".busy",
                  "description": "OpenCode reports an error in the task's session. Idle should follow; if it does not, OpenCode is asked after a moment.",
                  "actions": [
                    {
                      "type": "recordIdleHint"
                    },
                    {
                      "type": "setDeadline",
                      "params": 1000
                    }
                  ]
                },
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "#verifying",
                  "description": "Time has passed."
                }
              },
              "states": {
                "busy": {
                  "tags": "working",
                  "description": "The agent is at work.",
                  "meta": {
                    "waitsFor": "agent"
                  },
                  "on": {
                    "STEPS_WITHOUT_END": {
                      "description": "The agent has taken several steps in a row without a tool call and without an end that OpenCode knows: it asks the model again for ever. That turn is ended. If OpenCode does not report it as idle then, it is asked after a moment.",
                      "actions": [
                        {
                          "type": "setDeadline",
                          "params": 1000
                        },
                        {
                          "type": "endTurn"
                        }
                      ]
                    },
                    "STEERING_STORED": {
                      "guard": {
                        "type": "isOldestInstruction"
                      },
                      "target": "#verifying",
                      "description": "The instruction is in the agent's conversation. The agent may have ended its turn just before: OpenCode is asked."
                    },
                    "STEERING_REFUSED": {
                      "guard": {
                        "type": "isOldestInstruction and maySteerAgain"
                      },
                      "description": "OpenCode did not take the instruction. OpenCode is asked about the run after a pause, and then the instruction is sent again.",
                      "actions": {
                        "type": "setDeadline"
                      }
                    }
                  }
                },
                "retrying": {
                  "id": "retrying",
                  "tags": [
                    "working",
                    "retrying"
                  ],
                  "description": "The provider refuses the agent's requests for now: a rate limit, or too much load. OpenCode tries again by itself.",
                  "meta": {
                    "waitsFor": "provider"
                  },
                  "entry": {
                    "type": "assign nextDeadline"
                  },
                  "on": {
                    "HOST_BUSY": {
                      "target": "busy",
                      "description": "OpenCode reports that a model works in the task's session. OpenCode makes the request again."
                    },
                    "HOST_ANSWERING": {
                      "target": "busy",
                      "actions": {
                        "type": "forgetRetry"
                      },
                      "description": "OpenCode reports that the provider answers the agent's request."
                    },
                    "STEPS_WITHOUT_END": {
                      "description": "The agent has taken several steps in a row without a tool call and without an end that OpenCode knows: it asks the model again for ever. That turn is ended. If OpenCode does not report it as idle then, it is asked after a moment.",
                      "actions": [
                        {
                          "type": "setDeadline",
                          "params": 1000
                        },
                        {
                          "type": "endTurn"
                        }
                      ]
                    },
                    "TICK": {
                      "guard": {
                        "type": "due and isRefusedTooLong"
                      },
                      "target": "#changingModel",
                      "description": "Time has passed. Another model is asked.",
                      "actions": {
                        "type": "recordRefusal"
                      }
                    },
                    "STEERING_REFUSED": {
                      "guard": {
                        "type": "isOldestInstruction and maySteerAgain"
                      },
                      "description": "OpenCode did not take the instruction. OpenCode is asked about the run after a pause, and then the instruction is sent again.",
                      "actions": {
                        "type": "setDeadline"
                      }
                    }
                  }
                },
                "awaitingTasks": {
                  "id": "awaitingTasks",
                  "tags": "awaitingTasks",
                  "description": "The agent's turn has ended. It waits for tasks that it launched, and holds no slot.",
                  "meta": {
                    "waitsFor": "tasks"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "assign nextDeadline"
                    }
                  ],
                  "on": {
                    "OWN_TASK_ENDED": {
                      "target": "busy",
                      "description": "A run of a task that the agent launched has ended. Its result is on the way to the agent."
                    },
                    "STEERING_STORED": {
                      "guard": {
                        "type": "isOldestInstruction"
                      },
                      "target": "#verifying",
                      "description": "The instruction is in the agent's conversation. The agent has not seen it: OpenCode is asked, and then the agent is woken."
                    },
                    "STEERING_REFUSED": {
                      "target": "busy",
                      "guard": {
                        "type": "isOldestInstruction and maySteerAgain"
                      },
                      "description": "OpenCode did not take the instruction. OpenCode is asked about the run after a pause, and then the instruction is sent again.",
                      "actions": {
                        "type": "setDeadline"
                      }
                    },
                    "HOST_BUSY": {
                      "target": "busy",
                      "description": "OpenCode reports that a model works in the task's session."
                    }
                  }
                }
              }
            },
            "changingModel": {
              "id": "changingModel",
              "description": "The model is refused. Its turn is ended, and then the next model of `fallback` goes on.",
              "meta": {
                "waitsFor": "model"
              },
              "initial": "ending",
              "entry": [
                {
                  "type": "beginWait"
                },
                {
                  "type": "assign retry, failedChecks"
                }
              ],
              "states": {
                "ending": {
                  "description": "The turn is being aborted.",
                  "entry": [
                    {
                      "type": "assign nextDeadline"
                    },
                    {
                      "type": "changeModel"
                    }
                  ],
                  "on": {
                    "MODEL_CHANGED": {
                      "target": "settling",
                      "actions": {
                        "type": "assign model, hostError, sendAttempts, failedChecks"
                      },
                      "description": "The turn of the model that is refused has ended: the run goes on with this one."
                    },
                    "NOT_STOPPED": [
                      {
                        "guard": {
                          "type": "failedChecksLeft"
                        },
                        "target": "pausing",
                        "actions": {
                          "type": "assign failedChecks"
                        },
                        "description": "The task's session has not stopped."
                      },
                      {
                        "target": "#idle",
                        "description": "The task's session has not stopped. The run is given up, and whatever still works on it is stopped.",
                        "actions": [
                          {
                            "type": "recordEnd"
                          },
                          {
                            "type": "recordError"
                          },
                          {
                            "type": "stopSession"
                          },
                          raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                        ]
                      }
                    ]
                  }
                },
                "pausing": {
                  "description": "The turn still goes on. It is aborted again after a pause.",
                  "entry": {
                    "type": "setDeadline",
                    "params": 300
                  },
                  "on": {
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "ending",
                      "description": "Time has passed."
                    }
                  }
                },
                "settling": {
                  "description": "OpenCode may still report the end of that turn. After a moment the run asks for a slot.",
                  "entry": [
                    {
                      "type": "assign modelLeftAt"
                    },
                    {
                      "type": "setDeadline",
                      "params": 1000
                    }
                  ],
                  "on": {
                    "HOST_ERROR": {
                      "guard": {
                        "type": "isAbort"
                      },
                      "target": "#aborted",
                      "description": "OpenCode reports an error in the task's session. That turn was over: a person stopped what came after it."
                    },
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "#queued",
                      "description": "Time has passed. The next model has limits of its own. Of those that wait, the oldest come first.",
                      "actions": {
                        "type": "assign modelLeftAt"
                      }
                    }
                  }
                }
              }
            },
            "checking": {
              "description": "OpenCode is asked what became of the run. Its answer, and the gate's command, decide.",
              "initial": "asking",
              "on": {
                "HOST_RETRYING": {
                  "description": "OpenCode reports that the provider refused a request for now, and when it makes the request again. This is noted: the answer shows where the run is.",
                  "actions": {
                    "type": "recordRetry"
                  }
                }
              },
              "states": {
                "asking": {
                  "id": "asking",
                  "description": "The question is on its way. Only the answer to the newest one counts.",
                  "initial": "verifying",
                  "on": {
                    "CHECKED_BUSY": [
                      {
                        "guard": {
                          "type": "isCurrentCheck and isRefusedForNow"
                        },
                        "target": "#retrying",
                        "description": "The check shows that the agent is at work. The provider refuses for now.",
                        "actions": {
                          "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                        }
                      },
                      {
                        "guard": {
                          "type": "isCurrentCheck"
                        },
                        "target": "#working",
                        "actions": {
                          "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                        },
                        "description": "The check shows that the agent is at work."
                      }
                    ],
                    "CHECKED_AWAITING_TASKS": {
                      "guard": {
                        "type": "isCurrentCheck"
                      },
                      "target": "#awaitingTasks",
                      "actions": {
                        "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                      },
                      "description": "The check shows that the agent's turn has ended, and that tasks which it launched run. It receives their results, and goes on."
                    },
                    "CHECK_FAILED": {
                      "guard": {
                        "type": "isCurrentCheck"
                      },
                      "target": "#idle",
                      "description": "OpenCode was asked, and did not answer. The run is given up, and whatever still works on it is stopped.",
                      "actions": [
                        {
                          "type": "recordEnd"
                        },
                        {
                          "type": "recordError"
                        },
                        {
                          "type": "stopSession"
                        },
                        raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                      ]
                    }
                  },
                  "states": {
                    "verifying": {
                      "id": "verifying",
                      "description": "The agent seems to have finished. Idle is a hint, not a fact: OpenCode is asked about the run.",
                      "meta": {
                        "waitsFor": "check"
                      },
                      "entry": [
                        {
                          "type": "beginWait"
                        },
                        {
                          "type": "assign checkId, nextDeadline"
                        },
                        {
                          "type": "checkRun"
                        }
                      ],
                      "on": {
                        "HOST_IDLE": {
                          "target": "verifying",
                          "reenter": true,
                          "description": "OpenCode reports that the task's session is idle. OpenCode is asked anew."
                        },
                        "HOST_ERROR": {
                          "target": "verifying",
                          "reenter": true,
                          "description": "OpenCode reports an error in the task's session. OpenCode is asked anew.",
                          "actions": {
                            "type": "recordIdleHint"
                          }
                        },
                        "STEERING_STORED": {
                          "guard": {
                            "type": "isOldestInstruction"
                          },
                          "target": "verifying",
                          "reenter": true,
                          "description": "The instruction is in the agent's conversation. OpenCode is asked anew."
                        },
                        "CHECKED_ANSWERED": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and isSteered"
                            },
                            "target": "#working",
                            "description": "The check shows that the run is answered. An instruction is on its way: the run goes on with it.",
                            "actions": {
                              "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                            }
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck and isMisfit and mayRepair"
                            },
                            "target": "#sending",
                            "description": "The check shows that the run is answered. The answer does not fit the schema: the agent is given what is wrong with it, and goes on.",
                            "actions": [
                              {
                                "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                              },
                              {
                                "type": "assign"
                              }
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck and isMisfit"
                            },
                            "target": "#idle",
                            "description": "The check shows that the run is answered. It does not fit once more. The answer is kept.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "assign"
                              },
                              {
                                "type": "recordAnswer"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck and hasGate"
                            },
                            "target": "#gating",
                            "description": "The check shows that the run is answered. The answer must pass the gate."
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordAnswer"
                              },
                              raise({"type":"RUN_ENDED","outcome":"completed","guards":{"isCompleted":true,"isFailed":false}})
                            ],
                            "description": "The check shows that the run is answered."
                          }
                        ],
                        "CHECKED_FAILED": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and isRefused"
                            },
                            "target": "#changingModel",
                            "description": "The check shows that the run failed. Another model is asked.",
                            "actions": {
                              "type": "recordRefusal"
                            }
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "actions": [
                              {
                                "type": "recordLastRefusal"
                              },
                              {
                                "type": "recordSaid"
                              },
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ],
                            "description": "The check shows that the run failed."
                          }
                        ],
                        "CHECKED_HOST_FAULT": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and mayBeInterrupted"
                            },
                            "target": "#backingOff",
                            "description": "The check shows that a fault of OpenCode itself interrupted the run. It was interrupted, and continues after the last step that was finished.",
                            "actions": [
                              {
                                "type": "countInterruption"
                              },
                              {
                                "type": "assign sendAttempts, abortedAt"
                              }
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "description": "The check shows that a fault of OpenCode itself interrupted the run. The run is given up, and whatever still works on it is stopped.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError"
                              },
                              {
                                "type": "stopSession"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          }
                        ],
                        "CHECKED_ABORTED": {
                          "guard": {
                            "type": "isCurrentCheck"
                          },
                          "target": "#aborted",
                          "description": "The check shows that the run was aborted."
                        },
                        "CHECKED_NOT_FOUND": {
                          "guard": {
                            "type": "isCurrentCheck"
                          },
                          "target": "#missing",
                          "actions": {
                            "type": "recordNotFound"
                          },
                          "description": "OpenCode was asked, and did not find the task's session."
                        },
                        "CHECKED_UNANSWERED": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and sendAttemptsLeft"
                            },
                            "target": "#backingOff",
                            "description": "The check shows that the run has no answer, and that no model works on it. The prompt is sent again.",
                            "actions": {
                              "type": "assign failedChecks"
                            }
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "description": "The check shows that the run has no answer, and that no model works on it. The run is given up, and whatever still works on it is stopped.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError"
                              },
                              {
                                "type": "stopSession"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          }
                        ],
                        "CHECKED_UNSEEN": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and sendAttemptsLeft"
                            },
                            "target": "#sending",
                            "description": "The check shows that the run was answered before its model saw the newest instruction. The instruction is sent again, which wakes the agent.",
                            "actions": {
                              "type": "assign failedChecks"
                            }
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "description": "The check shows that the run was answered before its model saw the newest instruction. The run is given up, and whatever still works on it is stopped.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError"
                              },
                              {
                                "type": "stopSession"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          }
                        ],
                        "CHECK_FAILED": {
                          "guard": {
                            "type": "isCurrentCheck and failedChecksLeft"
                          },
                          "description": "OpenCode was asked, and did not answer. It is asked again after a moment.",
                          "actions": [
                            {
                              "type": "assign failedChecks"
                            },
                            {
                              "type": "setDeadline",
                              "params": 5000
                            }
                          ],
                          "target": "#working"
                        }
                      }
                    },
                    "recovering": {
                      "id": "recovering",
                      "description": "The process that supervised the run has ended. OpenCode is asked what became of the run.",
                      "meta": {
                        "waitsFor": "recovery"
                      },
                      "entry": [
                        {
                          "type": "assign checkId, nextDeadline"
                        },
                        {
                          "type": "checkRun"
                        }
                      ],
                      "on": {
                        "TICK": {
                          "guard": {
                            "type": "due"
                          },
                          "target": "recovering",
                          "reenter": true,
                          "description": "Time has passed."
                        },
                        "CHECKED_ANSWERED": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and mayNotCheck and not isSteered"
                            },
                            "target": "#idle",
                            "description": "The check shows that the run is answered. OpenCode ended three times while the answer was checked, which is not begun again. The answer is kept.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError"
                              },
                              {
                                "type": "recordAnswer"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck and isSteered"
                            },
                            "target": "#working",
                            "description": "The check shows that the run is answered. An instruction is on its way: the run goes on with it.",
                            "actions": {
                              "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                            }
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck and isMisfit and mayRepair"
                            },
                            "target": "#sending",
                            "description": "The check shows that the run is answered. The answer does not fit the schema: the agent is given what is wrong with it, and goes on.",
                            "actions": [
                              {
                                "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                              },
                              {
                                "type": "assign"
                              }
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck and isMisfit"
                            },
                            "target": "#idle",
                            "description": "The check shows that the run is answered. It does not fit once more. The answer is kept.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "assign"
                              },
                              {
                                "type": "recordAnswer"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck and hasGate"
                            },
                            "target": "#gating",
                            "description": "The check shows that the run is answered. The answer must pass the gate."
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordAnswer"
                              },
                              raise({"type":"RUN_ENDED","outcome":"completed","guards":{"isCompleted":true,"isFailed":false}})
                            ],
                            "description": "The check shows that the run is answered."
                          }
                        ],
                        "CHECKED_FAILED": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and isRefused and isToContinue"
                            },
                            "target": "#changingModel",
                            "description": "The check shows that the run failed. Another model is asked, however often the run was interrupted: this is not what interrupted it.",
                            "actions": {
                              "type": "recordRefusal"
                            }
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "actions": [
                              {
                                "type": "recordLastRefusal"
                              },
                              {
                                "type": "recordSaid"
                              },
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ],
                            "description": "The check shows that the run failed."
                          }
                        ],
                        "CHECKED_HOST_FAULT": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and mayContinue"
                            },
                            "target": "#backingOff",
                            "description": "The check shows that a fault of OpenCode itself interrupted the run. It was interrupted, and continues after the last step that was finished.",
                            "actions": [
                              {
                                "type": "countInterruption"
                              },
                              {
                                "type": "assign sendAttempts, abortedAt"
                              }
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "description": "The check shows that a fault of OpenCode itself interrupted the run. The run is given up, and whatever still works on it is stopped.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError"
                              },
                              {
                                "type": "stopSession"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          }
                        ],
                        "CHECKED_ABORTED": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and mayContinue"
                            },
                            "target": "#sending",
                            "description": "The check shows that the run was aborted. It was interrupted, and continues after the last step that was finished.",
                            "actions": [
                              {
                                "type": "countInterruption"
                              },
                              {
                                "type": "assign sendAttempts, interruptedAt, abortedAt"
                              }
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "description": "The check shows that the run was aborted. It was interrupted, and is not continued.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError",
                                "params": {
                                  "name": "Interrupted",
                                  "kind": "interrupted",
                                  "message": "OpenCode ended while the task ran, and the task was not continued."
                                }
                              },
                              {
                                "type": "stopSession"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          }
                        ],
                        "CHECKED_UNANSWERED": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and mayContinue"
                            },
                            "target": "#sending",
                            "description": "The check shows that the run has no answer, and that no model works on it. It was interrupted, and continues after the last step that was finished.",
                            "actions": [
                              {
                                "type": "countInterruption"
                              },
                              {
                                "type": "assign sendAttempts, interruptedAt, abortedAt"
                              }
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "description": "The check shows that the run has no answer, and that no model works on it. It was interrupted, and is not continued.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError",
                                "params": {
                                  "name": "Interrupted",
                                  "kind": "interrupted",
                                  "message": "OpenCode ended while the task ran, and the task was not continued."
                                }
                              },
                              {
                                "type": "stopSession"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          }
                        ],
                        "CHECKED_UNSEEN": [
                          {
                            "guard": {
                              "type": "isCurrentCheck and mayContinue"
                            },
                            "target": "#sending",
                            "description": "The check shows that the run was answered before its model saw the newest instruction. It was interrupted, and continues after the last step that was finished.",
                            "actions": [
                              {
                                "type": "countInterruption"
                              },
                              {
                                "type": "assign sendAttempts, interruptedAt, abortedAt"
                              }
                            ]
                          },
                          {
                            "guard": {
                              "type": "isCurrentCheck"
                            },
                            "target": "#idle",
                            "description": "The check shows that the run was answered before its model saw the newest instruction. It was interrupted, and is not continued.",
                            "actions": [
                              {
                                "type": "recordEnd"
                              },
                              {
                                "type": "recordError",
                                "params": {
                                  "name": "Interrupted",
                                  "kind": "interrupted",
                                  "message": "OpenCode ended while the task ran, and the task was not continued."
                                }
                              },
                              {
                                "type": "stopSession"
                              },
                              raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                            ]
                          }
                        ],
                        "CHECKED_NOT_FOUND": {
                          "guard": {
                            "type": "isCurrentCheck"
                          },
                          "description": "OpenCode was asked, and did not find the task's session. It is asked again after a moment.",
                          "actions": [
                            {
                              "type": "recordNotFound"
                            },
                            {
                              "type": "setDeadline",
                              "params": 5000
                            }
                          ]
                        },
                        "CHECK_FAILED": {
                          "guard": {
                            "type": "isCurrentCheck and failedChecksLeft"
                          },
                          "description": "OpenCode was asked, and did not answer. It is asked again after a moment.",
                          "actions": [
                            {
                              "type": "assign failedChecks"
                            },
                            {
                              "type": "setDeadline",
                              "params": 5000
                            }
                          ]
                        }
                      }
                    }
                  }
                },
                "missing": {
                  "id": "missing",
                  "description": "OpenCode does not find the task's session. It is asked again after a pause: if it does not find it then either, the session counts as deleted.",
                  "meta": {
                    "waitsFor": "session"
                  },
                  "entry": {
                    "type": "setDeadline",
                    "params": 5000
                  },
                  "on": {
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "asking",
                      "description": "Time has passed."
                    },
                    "HOST_ERROR": {
                      "description": "OpenCode reports an error in the task's session. OpenCode is asked after the pause.",
                      "actions": {
                        "type": "recordIdleHint"
                      }
                    }
                  }
                },
                "aborted": {
                  "id": "aborted",
                  "description": "The run was aborted: by a person, or because OpenCode is ending. A moment's wait shows which.",
                  "meta": {
                    "waitsFor": "abort",
                    "refuses": {
                      "STEER": "was just aborted"
                    }
                  },
                  "entry": [
                    {
                      "type": "assign abortedAt"
                    },
                    {
                      "type": "setDeadline",
                      "params": 500
                    }
                  ],
                  "on": {
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "#idle",
                      "description": "Time has passed. OpenCode has not ended: a person stopped the run.",
                      "actions": [
                        {
                          "type": "recordEnd"
                        },
                        {
                          "type": "assign completedAt"
                        },
                        raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                      ]
                    }
                  }
                },
                "gating": {
                  "id": "gating",
                  "description": "The agent has answered, and the gate's command checks what it did.",
                  "meta": {
                    "waitsFor": "gate"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "assign sendAttempts, failedChecks, missingSince, hostError, nextDeadline, misfits, gate"
                    },
                    {
                      "type": "runGate"
                    }
                  ],
                  "exit": {
                    "type": "stopGate"
                  },
                  "on": {
                    "GATE_ENDED": [
                      {
                        "guard": {
                          "type": "isCurrentGate and isSteered"
                        },
                        "target": "#working",
                        "description": "The gate's command has ended. An instruction is on its way: the run goes on with it.",
                        "actions": [
                          {
                            "type": "assign gate"
                          },
                          {
                            "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                          }
                        ]
                      },
                      {
                        "guard": {
                          "type": "isCurrentGate and hasPassed"
                        },
                        "target": "#idle",
                        "description": "The gate's command has ended. The answer counts.",
                        "actions": [
                          {
                            "type": "assign gate"
                          },
                          {
                            "type": "recordEnd"
                          },
                          {
                            "type": "assign"
                          },
                          raise({"type":"RUN_ENDED","outcome":"completed","guards":{"isCompleted":true,"isFailed":false}})
                        ]
                      },
                      {
                        "guard": {
                          "type": "isCurrentGate and mayTryGateAgain"
                        },
                        "target": "#sending",
                        "description": "The gate's command has ended. The agent is given what the command said, and goes on.",
                        "actions": [
                          {
                            "type": "assign gate"
                          },
                          {
                            "type": "assign sendAttempts, failedChecks, storedInstruction"
                          }
                        ]
                      },
                      {
                        "guard": {
                          "type": "isCurrentGate"
                        },
                        "target": "#idle",
                        "description": "The gate's command has ended. It failed as often as it may be tried. The answer is kept.",
                        "actions": [
                          {
                            "type": "assign"
                          },
                          {
                            "type": "assign gate"
                          },
                          {
                            "type": "recordEnd"
                          },
                          raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                        ]
                      }
                    ],
                    "STEERING_STORED": {
                      "guard": {
                        "type": "isOldestInstruction"
                      },
                      "target": "#verifying",
                      "description": "The instruction is in the agent's conversation. The agent has not seen it: OpenCode is asked, and then the agent is woken."
                    },
                    "STEERING_REFUSED": {
                      "guard": {
                        "type": "isOldestInstruction and maySteerAgain"
                      },
                      "description": "OpenCode did not take the instruction. OpenCode is asked about the run after a pause, and then the instruction is sent again.",
                      "actions": {
                        "type": "setDeadline"
                      },
                      "target": "#working"
                    }
                  }
                }
              }
            }
          }
        },
        "pausing": {
          "id": "pausing",
          "description": "The task is paused: its session and the descendants of that are stopped, until it is to go on.",
          "meta": {
            "waitsFor": "pause",
            "refuses": {
              "PAUSE": "is paused already",
              "CONTINUE": "is still being paused: try again in a moment"
            }
          },
          "initial": "aborting",
          "entry": [
            {
              "type": "beginWait"
            },
            {
              "type": "forgetRetry"
            },
            {
              "type": "assign failedChecks, hostError"
            }
          ],
          "on": {
            "ADOPTED": {
              "target": ".aborting",
              "description": "The process that supervised the task has ended, and this one takes over. The session is still to be stopped."
            }
          },
          "states": {
            "aborting": {
              "description": "The abort is on its way.",
              "entry": [
                {
                  "type": "assign nextDeadline, pause"
                },
                {
                  "type": "stopSession"
                }
              ],
              "on": {
                "STOPPED": {
                  "target": "asking",
                  "description": "The task's session and its descendants have stopped."
                },
                "NOT_STOPPED": [
                  {
                    "guard": {
                      "type": "pauseAttemptsLeft"
                    },
                    "target": "resting",
                    "description": "The task's session has not stopped."
                  },
                  {
                    "target": "#continuing",
                    "description": "The task's session has not stopped. It could not be stopped, and is not paused.",
                    "actions": {
                      "type": "assign pause"
                    }
                  }
                ]
              }
            },
            "resting": {
              "description": "The session still runs, or its prompt has not arrived yet. It is aborted again after a moment.",
              "entry": {
                "type": "setDeadline",
                "params": 300
              },
              "on": {
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "aborting",
                  "description": "Time has passed."
                }
              }
            },
            "asking": {
              "description": "It has stopped. OpenCode is asked whether the run had ended just before.",
              "entry": [
                {
                  "type": "assign checkId, nextDeadline"
                },
                {
                  "type": "checkRun"
                }
              ],
              "on": {
                "CHECKED_ANSWERED": [
                  {
                    "guard": {
                      "type": "isCurrentCheck and isFinal"
                    },
                    "target": "#idle",
                    "description": "The check shows that the run is answered. It had: there is nothing to pause.",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordAnswer"
                      },
                      raise({"type":"RUN_ENDED","outcome":"completed","guards":{"isCompleted":true,"isFailed":false}})
                    ]
                  },
                  {
                    "guard": {
                      "type": "isCurrentCheck"
                    },
                    "target": "#paused",
                    "description": "The check shows that the run is answered. What its answer leads to waits as well."
                  }
                ],
                "CHECKED_BUSY": [
                  {
                    "guard": {
                      "type": "isCurrentCheck and pauseAttemptsLeft"
                    },
                    "target": "resting",
                    "description": "The check shows that the agent is at work."
                  },
                  {
                    "guard": {
                      "type": "isCurrentCheck"
                    },
                    "target": "#continuing",
                    "description": "The check shows that the agent is at work. It could not be stopped, and is not paused.",
                    "actions": {
                      "type": "assign pause"
                    }
                  }
                ],
                "CHECKED_AWAITING_TASKS": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#paused",
                  "description": "The check shows that the agent's turn has ended, and that tasks which it launched run."
                },
                "CHECKED_FAILED": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#paused",
                  "description": "The check shows that the run failed."
                },
                "CHECKED_HOST_FAULT": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#paused",
                  "description": "The check shows that a fault of OpenCode itself interrupted the run."
                },
                "CHECKED_ABORTED": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#paused",
                  "description": "The check shows that the run was aborted."
                },
                "CHECKED_UNANSWERED": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#paused",
                  "description": "The check shows that the run has no answer, and that no model works on it."
                },
                "CHECKED_UNSEEN": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#paused",
                  "description": "The check shows that the run was answered before its model saw the newest instruction."
                },
                "CHECKED_NOT_FOUND": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#paused",
                  "description": "OpenCode was asked, and did not find the task's session."
                },
                "CHECK_FAILED": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#paused",
                  "description": "OpenCode was asked, and did not answer. It is asked again when the run goes on."
                }
              }
            },
            "paused": {
              "id": "paused",
              "description": "It keeps what was done, holds no slot and costs nothing until it is told to go on, or until its provider serves again.",
              "meta": {
                "waitsFor": "continue"
              },
              "entry": [
                {
                  "type": "beginWait"
                },
                {
                  "type": "assign nextDeadline, failedChecks"
                }
              ],
              "on": {
                "CONTINUE": {
                  "target": "#queued",
                  "description": "The agent or a person has the paused task go on, or its provider serves again. It asks for a slot.",
                  "actions": {
                    "type": "assign sendAttempts, interruptions"
                  }
                },
                "PAUSE": {
                  "guard": {
                    "type": "waitsForProvider"
                  },
                  "description": "The agent or a person pauses the task, or its provider refuses it for hours. It does not go on by itself any more.",
                  "actions": {
                    "type": "assign pause"
                  }
                },
                "CANCEL": {
                  "target": "#idle",
                  "actions": [
                    {
                      "type": "recordEnd"
                    },
                    raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                  ],
                  "description": "The agent or a person cancels the task. There is nothing to stop."
                },
                "ADOPTED": {
                  "description": "The process that supervised the task has ended, and this one takes over. It stays paused, whatever process supervises it."
                }
              }
            },
            "continuing": {
              "id": "continuing",
              "description": "It has a slot, and is to go on. OpenCode is asked what became of the run.",
              "meta": {
                "waitsFor": "check"
              },
              "entry": [
                {
                  "type": "beginWait"
                },
                {
                  "type": "assign checkId, nextDeadline"
                },
                {
                  "type": "checkRun"
                }
              ],
              "on": {
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "continuing",
                  "reenter": true,
                  "description": "Time has passed."
                },
                "STEERING_STORED": {
                  "guard": {
                    "type": "isOldestInstruction"
                  },
                  "target": "continuing",
                  "reenter": true,
                  "description": "The instruction is in the agent's conversation."
                },
                "ADOPTED": {
                  "target": "continuing",
                  "reenter": true,
                  "description": "The process that supervised the task has ended, and this one takes over."
                },
                "CHECKED_BUSY": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#working",
                  "actions": {
                    "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                  },
                  "description": "The check shows that the agent is at work."
                },
                "CHECKED_AWAITING_TASKS": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#awaitingTasks",
                  "actions": {
                    "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                  },
                  "description": "The check shows that the agent's turn has ended, and that tasks which it launched run. It receives their results, and goes on."
                },
                "CHECKED_ANSWERED": [
                  {
                    "guard": {
                      "type": "isCurrentCheck and isSteered"
                    },
                    "target": "#working",
                    "description": "The check shows that the run is answered. An instruction is on its way: the run goes on with it.",
                    "actions": {
                      "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                    }
                  },
                  {
                    "guard": {
                      "type": "isCurrentCheck and isMisfit and mayRepair"
                    },
                    "target": "#sending",
                    "description": "The check shows that the run is answered. The answer does not fit the schema: the agent is given what is wrong with it, and goes on.",
                    "actions": [
                      {
                        "type": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                      },
                      {
                        "type": "assign"
                      }
                    ]
                  },
                  {
                    "guard": {
                      "type": "isCurrentCheck and isMisfit"
                    },
                    "target": "#idle",
                    "description": "The check shows that the run is answered. It does not fit once more. The answer is kept.",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "assign"
                      },
                      {
                        "type": "recordAnswer"
                      },
                      raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                    ]
                  },
                  {
                    "guard": {
                      "type": "isCurrentCheck and hasGate"
                    },
                    "target": "#gating",
                    "description": "The check shows that the run is answered. The answer must pass the gate."
                  },
                  {
                    "guard": {
                      "type": "isCurrentCheck"
                    },
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordAnswer"
                      },
                      raise({"type":"RUN_ENDED","outcome":"completed","guards":{"isCompleted":true,"isFailed":false}})
                    ],
                    "description": "The check shows that the run is answered."
                  }
                ],
                "CHECKED_FAILED": [
                  {
                    "guard": {
                      "type": "isCurrentCheck and isRefused"
                    },
                    "target": "#changingModel",
                    "description": "The check shows that the run failed. Another model is asked.",
                    "actions": {
                      "type": "recordRefusal"
                    }
                  },
                  {
                    "guard": {
                      "type": "isCurrentCheck"
                    },
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "recordLastRefusal"
                      },
                      {
                        "type": "recordSaid"
                      },
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordError"
                      },
                      raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                    ],
                    "description": "The check shows that the run failed."
                  }
                ],
                "CHECKED_HOST_FAULT": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#sending",
                  "description": "The check shows that a fault of OpenCode itself interrupted the run. It continues after the last step that was finished.",
                  "actions": {
                    "type": "assign sendAttempts, hostError, abortedAt"
                  }
                },
                "CHECKED_ABORTED": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#sending",
                  "description": "The check shows that the run was aborted. It continues after the last step that was finished.",
                  "actions": {
                    "type": "assign sendAttempts, hostError, abortedAt"
                  }
                },
                "CHECKED_UNANSWERED": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#sending",
                  "description": "The check shows that the run has no answer, and that no model works on it. It continues after the last step that was finished.",
                  "actions": {
                    "type": "assign sendAttempts, hostError, abortedAt"
                  }
                },
                "CHECKED_UNSEEN": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "target": "#sending",
                  "description": "The check shows that the run was answered before its model saw the newest instruction. It continues after the last step that was finished.",
                  "actions": {
                    "type": "assign sendAttempts, hostError, abortedAt"
                  }
                },
                "CHECKED_NOT_FOUND": {
                  "guard": {
                    "type": "isCurrentCheck"
                  },
                  "description": "OpenCode was asked, and did not find the task's session. It is asked again after a moment.",
                  "actions": [
                    {
                      "type": "recordNotFound"
                    },
                    {
                      "type": "setDeadline",
                      "params": 5000
                    }
                  ]
                },
                "CHECK_FAILED": [
                  {
                    "guard": {
                      "type": "isCurrentCheck and failedChecksLeft"
                    },
                    "description": "OpenCode was asked, and did not answer. It is asked again after a moment.",
                    "actions": [
                      {
                        "type": "assign failedChecks"
                      },
                      {
                        "type": "setDeadline",
                        "params": 5000
                      }
                    ]
                  },
                  {
                    "guard": {
                      "type": "isCurrentCheck"
                    },
                    "target": "#idle",
                    "description": "OpenCode was asked, and did not answer. The run is given up, and whatever still works on it is stopped.",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "stopSession"
                      },
                      raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                    ]
                  }
                ]
              }
            }
          }
        },
        "fleet": {
          "id": "fleet",
          "description": "The run is for another server of the fleet, and one works on it. A launch is offered to all of them, a resume to the one that has the conversation.",
          "meta": {
            "refuses": {
              "STEER": "works on another server, where it takes no further instructions",
              "PAUSE": "works on another server, where it cannot be paused"
            }
          },
          "initial": "unclaimed",
          "on": {
            "SESSION_DELETED": {
              "target": "#idle",
              "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice. The server that has it is asked to stop.",
              "actions": [
                {
                  "type": "recordEnd"
                },
                {
                  "type": "recordError",
                  "params": {
                    "name": "SessionGone",
                    "kind": "sessionGone",
                    "message": "The task's session was deleted before it answered."
                  }
                },
                {
                  "type": "closeRun"
                },
                raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
              ]
            },
            "SUPERVISION_FAILED": {
              "target": "#idle",
              "description": "A fault in the plugin: the run can no longer be supervised. The server that has it is asked to stop.",
              "actions": [
                {
                  "type": "recordEnd"
                },
                {
                  "type": "recordError"
                },
                {
                  "type": "closeRun"
                },
                raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
              ]
            },
            "ADOPTED": {
              "description": "The process that supervised the task has ended, and this one takes over. The log says what became of the run.",
              "actions": {
                "type": "readRun"
              }
            },
            "REMOTE_ENDED": [
              {
                "guard": {
                  "type": "isNewestClaim and isBeyondLimit"
                },
                "target": "#idle",
                "actions": [
                  {
                    "type": "recordEnd"
                  },
                  {
                    "type": "assign"
                  },
                  {
                    "type": "recordError"
                  },
                  raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                ],
                "description": "The server that has the run reports how it ended. The run was stopped at a limit, which is its error."
              },
              {
                "guard": {
                  "type": "isNewestClaim and isRemotelyCompleted"
                },
                "target": "#idle",
                "actions": [
                  {
                    "type": "recordEnd"
                  },
                  {
                    "type": "assign"
                  },
                  raise({"type":"RUN_ENDED","outcome":"completed","guards":{"isCompleted":true,"isFailed":false}})
                ],
                "description": "The server that has the run reports how it ended."
              },
              {
                "guard": {
                  "type": "isNewestClaim and isRemotelyFailed"
                },
                "target": "#idle",
                "actions": [
                  {
                    "type": "recordEnd"
                  },
                  {
                    "type": "assign"
                  },
                  raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                ],
                "description": "The server that has the run reports how it ended."
              },
              {
                "guard": {
                  "type": "isNewestClaim"
                },
                "target": "#idle",
                "actions": [
                  {
                    "type": "recordEnd"
                  },
                  {
                    "type": "assign"
                  },
                  raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                ],
                "description": "The server that has the run reports how it ended."
              }
            ],
            "CLOSED": [
              {
                "guard": {
                  "type": "isLaunch"
                },
                "target": "#queued",
                "description": "The run is closed in the fleet: no report of a server counts any more. It runs here.",
                "actions": {
                  "type": "assign sendAttempts, remote, queuedUntil"
                }
              },
              {
                "target": "#idle",
                "description": "The run is closed in the fleet: no report of a server counts any more. Only the server that has its conversation could go on with it.",
                "actions": [
                  {
                    "type": "recordEnd"
                  },
                  {
                    "type": "recordError",
                    "params": {
                      "name": "ServerAway",
                      "kind": "fleet",
                      "message": "The server that has the conversation of the task did not go on with it in time."
                    }
                  },
                  raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                ]
              }
            ]
          },
          "states": {
            "unclaimed": {
              "description": "No server works on the run, as far as is known.",
              "initial": "enqueuing",
              "on": {
                "REMOTE_CLAIMED": {
                  "guard": {
                    "type": "isNewClaim"
                  },
                  "target": "claimed",
                  "actions": {
                    "type": "assign"
                  },
                  "description": "A server of the fleet claims the run."
                },
                "REMOTE_HELD": {
                  "guard": {
                    "type": "isNewestClaim"
                  },
                  "target": "claimed",
                  "description": "The server that claimed the run last still holds its lease: it stood still, and goes on. It is not begun anew."
                },
                "CANCEL": {
                  "target": "#closing",
                  "description": "The agent or a person cancels the task. The job may be queued already."
                }
              },
              "states": {
                "enqueuing": {
                  "id": "enqueuing",
                  "description": "The job is on its way to the broker of the fleet.",
                  "meta": {
                    "waitsFor": "fleet"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "assign sendAttempts, nextDeadline"
                    },
                    {
                      "type": "enqueueJob"
                    }
                  ],
                  "on": {
                    "JOB_ENQUEUED": {
                      "target": "enqueued",
                      "description": "The broker of the fleet has queued the job."
                    },
                    "JOB_REFUSED": [
                      {
                        "guard": {
                          "type": "mayEnqueueAgain and sendAttemptsLeft"
                        },
                        "target": "pausing",
                        "description": "The broker of the fleet did not take the job."
                      },
                      {
                        "guard": {
                          "type": "isLaunch"
                        },
                        "target": "#queued",
                        "description": "The broker of the fleet did not take the job. It runs here.",
                        "actions": {
                          "type": "assign sendAttempts, remote, queuedUntil"
                        }
                      },
                      {
                        "target": "#idle",
                        "description": "The broker of the fleet did not take the job. Only the server that has its conversation could go on with it. The job may be queued all the same.",
                        "actions": [
                          {
                            "type": "recordEnd"
                          },
                          {
                            "type": "recordError"
                          },
                          {
                            "type": "closeRun"
                          },
                          raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                        ]
                      }
                    ],
                    "ADOPTED": {
                      "target": "enqueuing",
                      "reenter": true,
                      "description": "The process that supervised the task has ended, and this one takes over. It is sent again. A job that is queued already stays the same.",
                      "actions": {
                        "type": "assign sendAttempts"
                      }
                    }
                  }
                },
                "pausing": {
                  "description": "The broker did not take the job. It is sent again after a pause.",
                  "meta": {
                    "waitsFor": "fleet"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "setDeadline"
                    }
                  ],
                  "on": {
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "enqueuing",
                      "description": "Time has passed."
                    }
                  }
                },
                "enqueued": {
                  "description": "The job waits in the fleet for a server that is free.",
                  "meta": {
                    "waitsFor": "server"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "setDeadline"
                    }
                  ],
                  "on": {
                    "REMOTE_LOST": {
                      "target": "enqueuing",
                      "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end. The broker has lost it.",
                      "actions": {
                        "type": "assign sendAttempts"
                      }
                    },
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "withdrawing",
                      "description": "Time has passed."
                    }
                  }
                },
                "withdrawing": {
                  "description": "No server has begun in time. The job is withdrawn.",
                  "meta": {
                    "waitsFor": "fleet"
                  },
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "closeRun"
                    },
                    {
                      "type": "setDeadline",
                      "params": 5000
                    }
                  ],
                  "on": {
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "withdrawing",
                      "reenter": true,
                      "description": "Time has passed."
                    }
                  }
                }
              }
            },
            "claimed": {
              "id": "claimed",
              "description": "A server works on the run.",
              "meta": {
                "waitsFor": "agent"
              },
              "entry": {
                "type": "assign nextDeadline"
              },
              "on": {
                "REMOTE_CLAIMED": {
                  "guard": {
                    "type": "isNewClaim"
                  },
                  "target": "claimed",
                  "actions": {
                    "type": "assign"
                  },
                  "description": "A server of the fleet claims the run. Another server has begun it anew."
                },
                "REMOTE_LOST": [
                  {
                    "guard": {
                      "type": "mayBeginAgain"
                    },
                    "target": "#enqueuing",
                    "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end. It is begun anew by the next server.",
                    "actions": {
                      "type": "assign sendAttempts"
                    }
                  },
                  {
                    "target": "#idle",
                    "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end. It was begun as often as it may.",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordError",
                        "params": {
                          "name": "ServerLost",
                          "kind": "fleet",
                          "message": "The servers that worked on the task are gone, and it may not be begun on another one."
                        }
                      },
                      {
                        "type": "closeRun"
                      },
                      raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                    ]
                  }
                ],
                "LIMIT_EXCEEDED": {
                  "target": "stopping",
                  "actions": {
                    "type": "recordLimit"
                  },
                  "description": "The run is beyond a limit of the options: a budget, repeated calls, or its time."
                },
                "CANCEL": {
                  "target": "stopping",
                  "description": "The agent or a person cancels the task."
                }
              }
            },
            "stopping": {
              "tags": "stopping",
              "description": "The run was cancelled, or is beyond a limit: nobody is to work on it.",
              "meta": {
                "waitsFor": "stop",
                "refuses": {
                  "CANCEL": "is already being cancelled"
                }
              },
              "initial": "requesting",
              "on": {
                "SESSION_DELETED": [
                  {
                    "guard": {
                      "type": "isBeyondLimit"
                    },
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "closeRun"
                      },
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordError"
                      },
                      raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                    ],
                    "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice. The run was stopped at a limit, which is its error."
                  },
                  {
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "closeRun"
                      },
                      {
                        "type": "recordEnd"
                      },
                      raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                    ],
                    "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice."
                  }
                ],
                "CLOSED": [
                  {
                    "guard": {
                      "type": "isBeyondLimit"
                    },
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordError"
                      },
                      raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                    ],
                    "description": "The run is closed in the fleet: no report of a server counts any more. The run was stopped at a limit, which is its error."
                  },
                  {
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                    ],
                    "description": "The run is closed in the fleet: no report of a server counts any more."
                  }
                ],
                "REMOTE_CLAIMED": {
                  "guard": {
                    "type": "isNewClaim"
                  },
                  "target": ".requesting",
                  "actions": {
                    "type": "assign"
                  },
                  "description": "A server of the fleet claims the run. The server that has claimed it is asked to stop."
                }
              },
              "states": {
                "requesting": {
                  "description": "The server that works on the run is asked to stop.",
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "assign stopAttempts"
                    },
                    {
                      "type": "requestRemoteStop"
                    },
                    {
                      "type": "setDeadline",
                      "params": 70000
                    }
                  ],
                  "on": {
                    "REMOTE_LOST": {
                      "target": "closing",
                      "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end."
                    },
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "closing",
                      "description": "Time has passed. It has not confirmed that it stopped."
                    }
                  }
                },
                "closing": {
                  "id": "closing",
                  "description": "The run is closed in the fleet, so that nobody begins it, and no report of a server counts.",
                  "entry": [
                    {
                      "type": "beginWait"
                    },
                    {
                      "type": "assign stopAttempts"
                    },
                    {
                      "type": "closeRun"
                    },
                    {
                      "type": "setDeadline",
                      "params": 5000
                    }
                  ],
                  "on": {
                    "TICK": [
                      {
                        "guard": {
                          "type": "due and stopAttemptsLeft"
                        },
                        "target": "closing",
                        "reenter": true,
                        "description": "Time has passed."
                      },
                      {
                        "guard": {
                          "type": "due and isBeyondLimit"
                        },
                        "target": "#idle",
                        "actions": [
                          {
                            "type": "recordEnd"
                          },
                          {
                            "type": "recordError"
                          },
                          raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                        ],
                        "description": "Time has passed. The run was stopped at a limit, which is its error."
                      },
                      {
                        "guard": {
                          "type": "due"
                        },
                        "target": "#idle",
                        "description": "Time has passed. It was tried often enough; the task says so.",
                        "actions": [
                          {
                            "type": "recordEnd"
                          },
                          {
                            "type": "recordError",
                            "params": {
                              "name": "NotWithdrawn",
                              "kind": "fleet",
                              "message": "The fleet could not be reached to stop the task. A server that has it may work on until it reaches the fleet."
                            }
                          },
                          raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                        ]
                      }
                    ]
                  }
                }
              }
            }
          }
        },
        "stopping": {
          "tags": "stopping",
          "description": "The task was cancelled, or is beyond a limit. Its session and the descendants of that are being stopped.",
          "meta": {
            "waitsFor": "stop",
            "refuses": {
              "CANCEL": "is already being cancelled",
              "STEER": "is being cancelled",
              "PAUSE": "is being cancelled",
              "CONTINUE": "is being cancelled"
            }
          },
          "initial": "aborting",
          "entry": [
            {
              "type": "beginWait"
            },
            {
              "type": "forgetRetry"
            }
          ],
          "on": {
            "SESSION_DELETED": [
              {
                "guard": {
                  "type": "isBeyondLimit"
                },
                "target": "#idle",
                "actions": [
                  {
                    "type": "recordEnd"
                  },
                  {
                    "type": "recordError"
                  },
                  raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                ],
                "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice. The run was stopped at a limit, which is its error."
              },
              {
                "target": "#idle",
                "actions": [
                  {
                    "type": "recordEnd"
                  },
                  raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                ],
                "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice."
              }
            ],
            "ADOPTED": {
              "target": ".aborting",
              "description": "The process that supervised the task has ended, and this one takes over. The session is still to be stopped."
            }
          },
          "states": {
            "aborting": {
              "description": "The abort is on its way.",
              "entry": [
                {
                  "type": "assign stopAttempts, nextDeadline"
                },
                {
                  "type": "stopSession"
                }
              ],
              "on": {
                "STOPPED": [
                  {
                    "guard": {
                      "type": "isBeyondLimit"
                    },
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordError"
                      },
                      raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                    ],
                    "description": "The task's session and its descendants have stopped. The run was stopped at a limit, which is its error."
                  },
                  {
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                    ],
                    "description": "The task's session and its descendants have stopped."
                  }
                ],
                "NOT_STOPPED": [
                  {
                    "guard": {
                      "type": "stopAttemptsLeft"
                    },
                    "target": "pausing",
                    "description": "The task's session has not stopped."
                  },
                  {
                    "guard": {
                      "type": "isBeyondLimit"
                    },
                    "target": "#idle",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordError"
                      },
                      raise({"type":"RUN_ENDED","outcome":"error","guards":{"isCompleted":false,"isFailed":true}})
                    ],
                    "description": "The task's session has not stopped. The run was stopped at a limit, which is its error."
                  },
                  {
                    "target": "#idle",
                    "description": "The task's session has not stopped. It was tried often enough; the task says why.",
                    "actions": [
                      {
                        "type": "recordEnd"
                      },
                      {
                        "type": "recordError"
                      },
                      raise({"type":"RUN_ENDED","outcome":"cancelled","guards":{"isCompleted":false,"isFailed":false}})
                    ]
                  }
                ]
              }
            },
            "pausing": {
              "description": "The session still runs, or its prompt has not arrived yet. It is aborted again after a pause.",
              "entry": {
                "type": "setDeadline",
                "params": 300
              },
              "on": {
                "TICK": {
                  "guard": {
                    "type": "due"
                  },
                  "target": "aborting",
                  "description": "Time has passed."
                }
              }
            }
          }
        }
      }
    },
    "notice": {
      "description": "Whether the parent is owed the notice of the newest run, and how far its delivery has come.",
      "initial": "none",
      "on": {
        "WAIT_BEGAN": {
          "actions": {
            "type": "addWaiter"
          },
          "description": "A tool call starts to wait for the run, in order to return its result."
        },
        "WAIT_ABANDONED": {
          "guard": {
            "type": "isWaiter"
          },
          "actions": {
            "type": "removeWaiter"
          },
          "description": "A tool call no longer waits, and has returned nothing."
        },
        "WAIT_DELIVERED": {
          "guard": {
            "type": "isWaiter"
          },
          "actions": {
            "type": "removeWaiter"
          },
          "description": "A tool call delivered the run's result to the parent."
        }
      },
      "states": {
        "none": {
          "id": "nothingOwed",
          "description": "The parent is owed nothing.",
          "on": {
            "RUN_ENDED": [
              {
                "guard": {
                  "type": "waitedFor"
                },
                "target": "held",
                "description": "The run has ended. The region `run` raises this for the other regions. A tool call waits for its result.",
                "actions": [
                  {
                    "type": "recordRunResult"
                  },
                  {
                    "type": "withdrawNotice"
                  },
                  {
                    "type": "reportEnd"
                  }
                ]
              },
              {
                "target": "due",
                "actions": [
                  {
                    "type": "recordRunResult"
                  },
                  {
                    "type": "reportEnd"
                  }
                ],
                "description": "The run has ended. The region `run` raises this for the other regions."
              }
            ]
          }
        },
        "held": {
          "description": "The run has ended, and a tool call that waits for it is to deliver the result.",
          "on": {
            "WAIT_DELIVERED": {
              "guard": {
                "type": "isWaiter"
              },
              "target": "none",
              "actions": {
                "type": "removeWaiter"
              },
              "description": "A tool call delivered the run's result to the parent."
            },
            "WAIT_ABANDONED": {
              "guard": {
                "type": "isWaiter and isOnlyWaiter"
              },
              "target": "due",
              "description": "A tool call no longer waits, and has returned nothing. It was the last one that waited.",
              "actions": {
                "type": "removeWaiter"
              }
            }
          }
        },
        "due": {
          "description": "The parent is owed the notice.",
          "entry": {
            "type": "queueNotice"
          },
          "on": {
            "NOTICE_COMPOSED": {
              "target": "sending",
              "description": "A prompt to the parent carries the notice."
            },
            "NOTICE_DROPPED": {
              "target": "none",
              "description": "The notice cannot be delivered: the parent is gone, or OpenCode keeps refusing it."
            },
            "ADOPTED": {
              "target": "due",
              "reenter": true,
              "description": "The process that supervised the task has ended, and this one takes over. The notice is queued in this process's outbox."
            },
            "WAIT_BEGAN": {
              "target": "held",
              "description": "A tool call starts to wait for the run, in order to return its result. The notice is not composed yet, and is withdrawn.",
              "actions": [
                {
                  "type": "addWaiter"
                },
                {
                  "type": "withdrawNotice"
                }
              ]
            }
          }
        },
        "sending": {
          "description": "The notice is part of a prompt to the parent. Its words and ids are fixed.",
          "on": {
            "NOTICE_ACKNOWLEDGED": {
              "target": "none",
              "description": "The parent's model has read the notice."
            },
            "NOTICE_DROPPED": {
              "target": "none",
              "description": "The notice cannot be delivered: the parent is gone, or OpenCode keeps refusing it."
            },
            "ADOPTED": {
              "guard": {
                "type": "noNoticePending"
              },
              "target": "due",
              "description": "The process that supervised the task has ended, and this one takes over. The prompt was lost with the process that has ended."
            }
          }
        }
      }
    },
    "attention": {
      "description": "What holds the task up: a request that only a person can answer, or silence.",
      "initial": "none",
      "on": {
        "RUN_ENDED": {
          "target": ".none",
          "actions": {
            "type": "assign userRequests, lostRequests, redoesStep"
          },
          "description": "The run has ended. The region `run` raises this for the other regions."
        },
        "REMOTE_CLAIMED": {
          "guard": {
            "type": "isInFleet and isNewClaim"
          },
          "target": ".none",
          "description": "A server of the fleet claims the run. The server before does not wait for an answer any more.",
          "actions": {
            "type": "assign userRequests, lostRequests, redoesStep"
          }
        },
        "REMOTE_LOST": {
          "guard": {
            "type": "isClaimed"
          },
          "target": ".none",
          "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end. The server does not wait for an answer any more.",
          "actions": {
            "type": "assign userRequests, lostRequests, redoesStep"
          }
        },
        "CLOSED": {
          "guard": {
            "type": "isClaimed"
          },
          "target": ".none",
          "description": "The run is closed in the fleet: no report of a server counts any more. The server does not wait for an answer any more.",
          "actions": {
            "type": "assign userRequests, lostRequests, redoesStep"
          }
        },
        "ADOPTED": {
          "target": ".none",
          "description": "The process that supervised the task has ended, and this one takes over. The open requests were lost with the process that has ended: the step that asked is done again.",
          "actions": {
            "type": "assign"
          }
        },
        "PAUSE": {
          "guard": {
            "type": "mayPause"
          },
          "target": ".none",
          "description": "The agent or a person pauses the task, or its provider refuses it for hours. The open requests are rejected: its agent asks again when it goes on.",
          "actions": {
            "type": "assign userRequests, lostRequests, redoesStep"
          }
        },
        "PROMPT_ACCEPTED": {
          "description": "OpenCode accepted the prompt. That step is taken back. The steps that follow it waited for nobody.",
          "actions": {
            "type": "assign redoesStep"
          }
        }
      },
      "states": {
        "none": {
          "description": "Nothing holds the task up.",
          "on": {
            "REQUEST_ASKED": [
              {
                "guard": {
                  "type": "mayAsk and isQuestion"
                },
                "target": "#awaitingUser.question",
                "actions": {
                  "type": "addUserRequest"
                },
                "description": "The agent asks for a permission, or asks a question."
              },
              {
                "guard": {
                  "type": "mayAsk"
                },
                "target": "#awaitingUser.permission",
                "actions": {
                  "type": "addUserRequest"
                },
                "description": "The agent asks for a permission, or asks a question."
              }
            ],
            "BECAME_STALE": {
              "guard": {
                "type": "isAgentAtWork and not isRefusedForNow"
              },
              "target": "stale",
              "description": "OpenCode has reported nothing of the agent for `timeouts.stale` milliseconds."
            }
          }
        },
        "stale": {
          "description": "OpenCode has reported nothing of the agent for a while.",
          "entry": {
            "type": "assign staleSince"
          },
          "exit": {
            "type": "assign staleSince"
          },
          "on": {
            "REQUEST_ASKED": [
              {
                "guard": {
                  "type": "mayAsk and isQuestion"
                },
                "target": "#awaitingUser.question",
                "actions": {
                  "type": "addUserRequest"
                },
                "description": "The agent asks for a permission, or asks a question."
              },
              {
                "guard": {
                  "type": "mayAsk"
                },
                "target": "#awaitingUser.permission",
                "actions": {
                  "type": "addUserRequest"
                },
                "description": "The agent asks for a permission, or asks a question."
              }
            ],
            "ACTIVITY_SEEN": {
              "target": "none",
              "description": "OpenCode reports something of the agent again."
            }
          }
        },
        "awaitingUser": {
          "id": "awaitingUser",
          "description": "The agent waits for a person to answer. The oldest request is shown first.",
          "initial": "permission",
          "on": {
            "REQUEST_ASKED": {
              "guard": {
                "type": "mayAsk"
              },
              "description": "The agent asks for a permission, or asks a question. It is shown after the older ones.",
              "actions": {
                "type": "addUserRequest"
              }
            },
            "REQUEST_ANSWERED": [
              {
                "guard": {
                  "type": "onlyRequest"
                },
                "target": "none",
                "description": "A permission or question was answered, or withdrawn. It was the only one.",
                "actions": {
                  "type": "removeUserRequest"
                }
              },
              {
                "guard": {
                  "type": "openRequest and questionNext"
                },
                "target": ".question",
                "description": "A permission or question was answered, or withdrawn. The next request is a question.",
                "actions": {
                  "type": "removeUserRequest"
                }
              },
              {
                "guard": {
                  "type": "openRequest and not questionNext"
                },
                "target": ".permission",
                "description": "A permission or question was answered, or withdrawn. The next request is a permission.",
                "actions": {
                  "type": "removeUserRequest"
                }
              }
            ]
          },
          "states": {
            "permission": {
              "description": "The agent asks for a permission."
            },
            "question": {
              "description": "The agent asks a question."
            }
          }
        }
      }
    },
    "steering": {
      "description": "Whether further instructions for the run are on their way into the agent's conversation.",
      "initial": "none",
      "on": {
        "CANCEL": {
          "guard": {
            "type": "live and notStopping"
          },
          "target": ".none",
          "actions": {
            "type": "dropInstructions"
          },
          "description": "The agent or a person cancels the task."
        },
        "LIMIT_EXCEEDED": {
          "guard": {
            "type": "live and notStopping and wasSent"
          },
          "target": ".none",
          "actions": {
            "type": "dropInstructions"
          },
          "description": "The run is beyond a limit of the options: a budget, repeated calls, or its time."
        },
        "RUN_ENDED": {
          "target": ".none",
          "actions": {
            "type": "dropInstructions"
          },
          "description": "The run has ended. The region `run` raises this for the other regions."
        },
        "INSTRUCTION_SEEN": {
          "guard": {
            "type": "live and isUnseen"
          },
          "actions": {
            "type": "recordSeen"
          },
          "description": "A step of the agent began after the instruction was stored: its model was asked with it."
        }
      },
      "states": {
        "none": {
          "description": "OpenCode has stored every instruction.",
          "on": {
            "STEER": [
              {
                "guard": {
                  "type": "hasPrompt"
                },
                "target": "sending",
                "actions": {
                  "type": "addInstruction"
                },
                "description": "The agent or a person gives the running task a further instruction."
              },
              {
                "guard": {
                  "type": "takesInstructions"
                },
                "target": "waiting",
                "description": "The agent or a person gives the running task a further instruction. It is sent when the run's prompt is known to be there.",
                "actions": {
                  "type": "addInstruction"
                }
              }
            ]
          }
        },
        "waiting": {
          "description": "Instructions wait until OpenCode is known to have the run's prompt.",
          "on": {
            "STEER": {
              "guard": {
                "type": "takesInstructions"
              },
              "actions": {
                "type": "addInstruction"
              },
              "description": "The agent or a person gives the running task a further instruction."
            },
            "PROMPT_ACCEPTED": {
              "target": "sending",
              "description": "OpenCode accepted the prompt."
            },
            "CHECKED_BUSY": {
              "guard": {
                "type": "isCurrentCheck"
              },
              "target": "sending",
              "description": "The check shows that the agent is at work."
            },
            "CHECKED_AWAITING_TASKS": {
              "guard": {
                "type": "isCurrentCheck"
              },
              "target": "sending",
              "description": "The check shows that the agent's turn has ended, and that tasks which it launched run."
            },
            "CHECKED_ANSWERED": {
              "guard": {
                "type": "isCurrentCheck"
              },
              "target": "sending",
              "description": "The check shows that the run is answered."
            }
          }
        },
        "sending": {
          "description": "The oldest instruction is on its way to OpenCode. The others follow one by one.",
          "entry": {
            "type": "sendSteering"
          },
          "on": {
            "STEER": {
              "guard": {
                "type": "takesInstructions"
              },
              "description": "The agent or a person gives the running task a further instruction. It is sent after the older ones.",
              "actions": {
                "type": "addInstruction"
              }
            },
            "STEERING_STORED": [
              {
                "guard": {
                  "type": "isOldestInstruction and moreInstructions"
                },
                "target": "sending",
                "reenter": true,
                "description": "The instruction is in the agent's conversation. The next one follows.",
                "actions": {
                  "type": "recordStored"
                }
              },
              {
                "guard": {
                  "type": "isOldestInstruction"
                },
                "target": "none",
                "actions": {
                  "type": "recordStored"
                },
                "description": "The instruction is in the agent's conversation."
              }
            ],
            "STEERING_REFUSED": {
              "guard": {
                "type": "isOldestInstruction and maySteerAgain"
              },
              "target": "waiting",
              "description": "OpenCode did not take the instruction. It is sent again once OpenCode answers.",
              "actions": {
                "type": "assign steerAttempts"
              }
            },
            "ADOPTED": {
              "target": "waiting",
              "description": "The process that supervised the task has ended, and this one takes over. It may be stored already: with the same ids, that changes nothing."
            },
            "PAUSE": {
              "guard": {
                "type": "mayPause"
              },
              "target": "waiting",
              "description": "The agent or a person pauses the task, or its provider refuses it for hours. It may be stored already: with the same ids, that changes nothing."
            }
          }
        }
      }
    },
    "nextRun": {
      "description": "Whether the task is to go on, once the result of its newest run is delivered.",
      "initial": "none",
      "states": {
        "none": {
          "description": "Nobody has asked it to.",
          "on": {
            "NEXT_RUN_ASKED": {
              "guard": {
                "type": "fitsItsEnd and mayEndOtherwise and not mayGoOn"
              },
              "target": "waiting",
              "actions": {
                "type": "assign"
              },
              "description": "The task is asked to go on while its result is still being delivered: it does after that."
            }
          }
        },
        "waiting": {
          "description": "It was asked to, and does once the result is delivered.",
          "meta": {
            "refuses": {
              "RESUME": "is to go on already, with what it was given, once its result is delivered",
              "RETRY": "is to go on already, with what it was given, once its result is delivered"
            }
          },
          "always": {
            "guard": {
              "type": "mayGoOn"
            },
            "target": "beginning",
            "description": "The result is delivered."
          },
          "on": {
            "CANCEL": {
              "guard": {
                "type": "isNextRunWanted"
              },
              "description": "The agent or a person cancels the task. The next run ends as soon as it has begun, so that whoever asked for it learns of that.",
              "actions": {
                "type": "assign nextRun"
              }
            }
          }
        },
        "beginning": {
          "description": "The result is delivered: the next run begins.",
          "entry": {
            "type": "beginNextRun"
          },
          "on": {
            "RESUME": {
              "target": "none",
              "description": "A follow-up prompt begins the next run."
            },
            "RETRY": {
              "target": "none",
              "description": "The task goes on after its last finished step, in a run of its own."
            }
          }
        }
      }
    }
  }
}).provide({
  guards: {
    ...Object.fromEntries(Object.keys(otherwise).map((name) => [name, answering(name)])),
    "mayPause": or(["isQueued", stateIn("#active")]),
    "isFinal": and([not("isSteered"), not("isMisfit"), not("hasGate")]),
    "noServerWorks": and(["isInFleet", not("isClaimed")]),
    "isQueued": stateIn("#queued"),
    "isGatedBefore": stateIn("#gatingBefore"),
    "isInFleet": stateIn("#fleet"),
    "isClaimed": stateIn("#claimed"),
    "isAgentAtWork": or([and([stateIn("#active"), not("isGatedBefore")]), "isClaimed"]),
    "isAnswerChecked": or([stateIn("#gating"), and(["hasSchema", stateIn("#asking")])]),
    "wasSent": or(["isAgentAtWork", "goesOn", "hasBegunBefore"]),
    "hasPrompt": or([stateIn("#working"), stateIn("#gating")]),
    "takesInstructions": and(["live", "notStopping", not(stateIn("#aborted")), not("isInFleet")]),
    "mayAsk": and(["live", "newRequest", not("noServerWorks")]),
    "isNothingOwed": stateIn("#nothingOwed"),
    "mayGoOn": and(["isNothingOwed", not("waitedFor")]),
    "mayGoOn and mayEndOtherwise": and(["mayGoOn", "mayEndOtherwise"]),
    "live and notStopping": and(["live", "notStopping"]),
    "live and notStopping and wasSent": and(["live", "notStopping", "wasSent"]),
    "isOldestInstruction and not maySteerAgain": and(["isOldestInstruction", not("maySteerAgain")]),
    "live and isAnswerChecked": and(["live", "isAnswerChecked"]),
    "not goesOn": not("goesOn"),
    "not isGatedBefore": not("isGatedBefore"),
    "retryable and sendAttemptsLeft": and(["retryable", "sendAttemptsLeft"]),
    "isOldestInstruction and maySteerAgain": and(["isOldestInstruction", "maySteerAgain"]),
    "due and isRefusedTooLong": and(["due", "isRefusedTooLong"]),
    "isCurrentCheck and isRefusedForNow": and(["isCurrentCheck", "isRefusedForNow"]),
    "isCurrentCheck and isSteered": and(["isCurrentCheck", "isSteered"]),
    "isCurrentCheck and isMisfit and mayRepair": and(["isCurrentCheck", "isMisfit", "mayRepair"]),
    "isCurrentCheck and isMisfit": and(["isCurrentCheck", "isMisfit"]),
    "isCurrentCheck and hasGate": and(["isCurrentCheck", "hasGate"]),
    "isCurrentCheck and isRefused": and(["isCurrentCheck", "isRefused"]),
    "isCurrentCheck and mayBeInterrupted": and(["isCurrentCheck", "mayBeInterrupted"]),
    "isCurrentCheck and sendAttemptsLeft": and(["isCurrentCheck", "sendAttemptsLeft"]),
    "isCurrentCheck and failedChecksLeft": and(["isCurrentCheck", "failedChecksLeft"]),
    "isCurrentCheck and mayNotCheck and not isSteered": and(["isCurrentCheck", "mayNotCheck", not("isSteered")]),
    "isCurrentCheck and isRefused and isToContinue": and(["isCurrentCheck", "isRefused", "isToContinue"]),
    "isCurrentCheck and mayContinue": and(["isCurrentCheck", "mayContinue"]),
    "isCurrentGate and isSteered": and(["isCurrentGate", "isSteered"]),
    "isCurrentGate and hasPassed": and(["isCurrentGate", "hasPassed"]),
    "isCurrentGate and mayTryGateAgain": and(["isCurrentGate", "mayTryGateAgain"]),
    "isCurrentCheck and isFinal": and(["isCurrentCheck", "isFinal"]),
    "isCurrentCheck and pauseAttemptsLeft": and(["isCurrentCheck", "pauseAttemptsLeft"]),
    "isNewestClaim and isBeyondLimit": and(["isNewestClaim", "isBeyondLimit"]),
    "isNewestClaim and isRemotelyCompleted": and(["isNewestClaim", "isRemotelyCompleted"]),
    "isNewestClaim and isRemotelyFailed": and(["isNewestClaim", "isRemotelyFailed"]),
    "mayEnqueueAgain and sendAttemptsLeft": and(["mayEnqueueAgain", "sendAttemptsLeft"]),
    "due and stopAttemptsLeft": and(["due", "stopAttemptsLeft"]),
    "due and isBeyondLimit": and(["due", "isBeyondLimit"]),
    "isWaiter and isOnlyWaiter": and(["isWaiter", "isOnlyWaiter"]),
    "isInFleet and isNewClaim": and(["isInFleet", "isNewClaim"]),
    "mayAsk and isQuestion": and(["mayAsk", "isQuestion"]),
    "isAgentAtWork and not isRefusedForNow": and(["isAgentAtWork", not("isRefusedForNow")]),
    "openRequest and questionNext": and(["openRequest", "questionNext"]),
    "openRequest and not questionNext": and(["openRequest", not("questionNext")]),
    "live and isUnseen": and(["live", "isUnseen"]),
    "isOldestInstruction and moreInstructions": and(["isOldestInstruction", "moreInstructions"]),
    "fitsItsEnd and mayEndOtherwise and not mayGoOn": and(["fitsItsEnd", "mayEndOtherwise", not("mayGoOn")]),
  },
  actions: {
    "addBlockedCall": () => {},
    "addInstruction": () => {},
    "addUserRequest": () => {},
    "addWaiter": () => {},
    "assign": () => {},
    "assign abortedAt": () => {},
    "assign checkId, nextDeadline": () => {},
    "assign completedAt": () => {},
    "assign endedInChecks": () => {},
    "assign failedChecks": () => {},
    "assign failedChecks, hostError": () => {},
    "assign gate": () => {},
    "assign gateBefore": () => {},
    "assign isReceiptIncomplete": () => {},
    "assign model, hostError, sendAttempts, failedChecks": () => {},
    "assign modelLeftAt": () => {},
    "assign nextDeadline": () => {},
    "assign nextDeadline, failedChecks": () => {},
    "assign nextDeadline, pause": () => {},
    "assign nextRun": () => {},
    "assign pause": () => {},
    "assign pause, queuedUntil": () => {},
    "assign queuedUntil": () => {},
    "assign queuedUntil, pause": () => {},
    "assign redoesStep": () => {},
    "assign resultRetrievedAt": () => {},
    "assign retry, failedChecks": () => {},
    "assign sendAttempts": () => {},
    "assign sendAttempts, abortedAt": () => {},
    "assign sendAttempts, endedInChecks, hostError, idleHinted, missingSince, nextDeadline": () => {},
    "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep": () => {},
    "assign sendAttempts, failedChecks, missingSince, hostError, nextDeadline, misfits, gate": () => {},
    "assign sendAttempts, failedChecks, storedInstruction": () => {},
    "assign sendAttempts, hostError, abortedAt": () => {},
    "assign sendAttempts, interruptedAt, abortedAt": () => {},
    "assign sendAttempts, interruptions": () => {},
    "assign sendAttempts, nextDeadline": () => {},
    "assign sendAttempts, remote, queuedUntil": () => {},
    "assign staleSince": () => {},
    "assign steerAttempts": () => {},
    "assign stopAttempts": () => {},
    "assign stopAttempts, nextDeadline": () => {},
    "assign userRequests, lostRequests, redoesStep": () => {},
    "beginNextRun": () => {},
    "beginWait": () => {},
    "changeModel": () => {},
    "checkRun": () => {},
    "closeRun": () => {},
    "completeReceipt": () => {},
    "countInterruption": () => {},
    "dropInstructions": () => {},
    "endTurn": () => {},
    "enqueueJob": () => {},
    "forgetRetry": () => {},
    "queueNotice": () => {},
    "readRun": () => {},
    "recordAnswer": () => {},
    "recordEnd": () => {},
    "recordError": () => {},
    "recordIdleHint": () => {},
    "recordLastRefusal": () => {},
    "recordLimit": () => {},
    "recordNotFound": () => {},
    "recordReceipt": () => {},
    "recordRefusal": () => {},
    "recordRetry": () => {},
    "recordRunResult": () => {},
    "recordSaid": () => {},
    "recordSeen": () => {},
    "recordStored": () => {},
    "removeBlockedCall": () => {},
    "removeBlockingTask": () => {},
    "removeUserRequest": () => {},
    "removeWaiter": () => {},
    "reportEnd": () => {},
    "requestRemoteStop": () => {},
    "requestSlot": () => {},
    "runGate": () => {},
    "runGateBefore": () => {},
    "sendPrompt": () => {},
    "sendSteering": () => {},
    "setDeadline": () => {},
    "stopGate": () => {},
    "stopSession": () => {},
    "withdrawNotice": () => {},
    "writeReceipt": () => {},
  },
});
