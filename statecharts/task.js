import { createMachine } from "xstate";

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
              "RESUME": "only completed tasks can be resumed (this one is running)"
            }
          },
          "entry": "raise RUN_BEGAN",
          "on": {
            "RUN_ENDED": [
              {
                "guard": "isCompleted",
                "target": "completed",
                "description": "The run has ended. The region `run` raises this for the other regions."
              },
              {
                "guard": "isFailed",
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
          "description": "A follow-up prompt is being worked on.",
          "meta": {
            "refuses": {
              "RESUME": "is currently being resumed"
            }
          },
          "entry": "raise RUN_BEGAN",
          "on": {
            "RUN_ENDED": [
              {
                "guard": "isCompleted",
                "target": "completed",
                "description": "The run has ended. The region `run` raises this for the other regions."
              },
              {
                "guard": "isFailed",
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
              "STEER": "has already finished (completed): use resume"
            }
          },
          "on": {
            "RESULT_READ": {
              "actions": "assign resultRetrievedAt",
              "description": "The result was read."
            },
            "RESUME": {
              "guard": "isNothingOwed and not waitedFor",
              "target": "resumed",
              "actions": "assign",
              "description": "A follow-up prompt begins the next run."
            }
          }
        },
        "error": {
          "description": "The newest run failed.",
          "meta": {
            "refuses": {
              "CANCEL": "has already finished (error)",
              "STEER": "has already finished (error)",
              "RESUME": "only completed tasks can be resumed (this one is error)"
            }
          },
          "on": {
            "RESULT_READ": {
              "actions": "assign resultRetrievedAt",
              "description": "The result was read."
            }
          }
        },
        "cancelled": {
          "description": "The newest run was stopped, by the agent or by a person.",
          "meta": {
            "refuses": {
              "CANCEL": "has already finished (cancelled)",
              "STEER": "has already finished (cancelled)",
              "RESUME": "only completed tasks can be resumed (this one is cancelled)"
            }
          },
          "on": {
            "RESULT_READ": {
              "actions": "assign resultRetrievedAt",
              "description": "The result was read."
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
          "guard": "live and notStopping",
          "target": ".stopping",
          "description": "The agent or a person cancels the task."
        },
        "LIMIT_EXCEEDED": {
          "guard": "live and notStopping and wasSent",
          "target": ".stopping",
          "actions": "recordLimit",
          "description": "The run is beyond a limit of the options: a budget, repeated calls, or its time."
        },
        "SESSION_DELETED": {
          "guard": "live",
          "target": "#idle",
          "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice. Its model keeps working until it is aborted.",
          "actions": [
            "recordEnd",
            {
              "type": "recordError",
              "params": {
                "name": "SessionGone",
                "kind": "sessionGone",
                "message": "The task's session was deleted before it answered."
              }
            },
            "stopSession",
            "raise RUN_ENDED (error)"
          ]
        },
        "SUPERVISION_FAILED": {
          "guard": "live",
          "target": "#idle",
          "description": "A fault in the plugin: the run can no longer be supervised. The run is given up, and whatever still works on it is stopped.",
          "actions": [
            "recordEnd",
            {
              "type": "recordError"
            },
            "stopSession",
            "raise RUN_ENDED (error)"
          ]
        },
        "STEERING_REFUSED": {
          "guard": "isOldestInstruction and not maySteerAgain",
          "target": "#idle",
          "description": "OpenCode did not take the instruction. The run is given up, and whatever still works on it is stopped.",
          "actions": [
            "recordEnd",
            {
              "type": "recordError"
            },
            "stopSession",
            "raise RUN_ENDED (error)"
          ]
        },
        "ADOPTED": [
          {
            "guard": "live and isAnswerChecked",
            "target": "#recovering",
            "description": "The process that supervised the task has ended, and this one takes over. It ended while an answer was checked, which may be the cause.",
            "actions": [
              "assign",
              "assign endedInChecks"
            ]
          },
          {
            "guard": "live",
            "target": "#recovering",
            "actions": "assign",
            "description": "The process that supervised the task has ended, and this one takes over."
          }
        ],
        "HOST_ANSWERING": {
          "guard": "live and hasRetry",
          "description": "OpenCode reports that the provider answers the agent's request. It did not refuse the request again.",
          "actions": "forgetRetry"
        },
        "CALL_BLOCKED": {
          "guard": "live",
          "actions": "addBlockedCall",
          "description": "A tool call of the task's agent waits for tasks that the agent launched."
        },
        "CALL_RETURNED": {
          "guard": "isBlockedCall",
          "actions": "removeBlockedCall",
          "description": "That tool call waits no longer."
        },
        "OWN_TASK_ENDED": {
          "guard": "blockedByTask",
          "description": "A run of a task that the agent launched has ended. A tool call waited for it.",
          "actions": "removeBlockingTask"
        }
      },
      "states": {
        "idle": {
          "id": "idle",
          "description": "No run is under way. What was observed of the newest one is written down.",
          "on": {
            "RUN_BEGAN": [
              {
                "guard": "isForFleet",
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
                "guard": "hasReceipt",
                "description": "The run has ended. The region `run` raises this for the other regions. The server that worked on the run has written it."
              },
              {
                "actions": "writeReceipt",
                "description": "The run has ended. The region `run` raises this for the other regions."
              }
            ],
            "RECEIPT_WRITTEN": {
              "guard": "isReceiptOfRun",
              "actions": "recordReceipt",
              "description": "What was observed of the run is known."
            },
            "RECEIPT_INCOMPLETE": {
              "guard": "lacksReceipt",
              "actions": [
                "assign isReceiptIncomplete",
                "completeReceipt"
              ],
              "description": "This process has not seen all of the run: OpenCode is asked what it has stored of it."
            },
            "ADOPTED": {
              "guard": "isReceiptIncomplete",
              "description": "The process that supervised the task has ended, and this one takes over. The process that asked OpenCode has ended.",
              "actions": "completeReceipt"
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
            "beginWait",
            "assign nextDeadline",
            "requestSlot"
          ],
          "on": {
            "SLOT_GRANTED": {
              "target": "prompting",
              "actions": "assign queuedUntil",
              "description": "The run has a slot: it may be worked on."
            },
            "ADOPTED": {
              "description": "The process that supervised the task has ended, and this one takes over. Nothing is under way: the run asks for a slot here.",
              "actions": "requestSlot"
            },
            "CANCEL": {
              "guard": "not goesOn",
              "target": "#idle",
              "actions": [
                "recordEnd",
                "raise RUN_ENDED (cancelled)"
              ],
              "description": "The agent or a person cancels the task. Nothing was sent yet: there is nothing to stop."
            }
          }
        },
        "prompting": {
          "description": "The prompt is sent to OpenCode, and sent again where it is not taken.",
          "initial": "sending",
          "on": {
            "HOST_RETRYING": {
              "description": "OpenCode reports that the provider refused a request for now, and when it makes the request again. This is noted: the prompt may have arrived.",
              "actions": "recordRetry"
            }
          },
          "states": {
            "sending": {
              "id": "sending",
              "description": "The prompt is on its way to OpenCode.",
              "meta": {
                "waitsFor": "acceptance"
              },
              "entry": [
                "beginWait",
                "assign sendAttempts, endedInChecks, hostError, idleHinted, missingSince, nextDeadline",
                "sendPrompt"
              ],
              "on": {
                "PROMPT_ACCEPTED": [
                  {
                    "guard": "idleHinted",
                    "target": "#verifying",
                    "description": "OpenCode accepted the prompt. It reported idle or an error before that."
                  },
                  {
                    "guard": "isRefusedForNow",
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
                    "guard": "retryable and sendAttemptsLeft",
                    "target": "backingOff",
                    "description": "OpenCode refused the prompt."
                  },
                  {
                    "target": "#idle",
                    "description": "OpenCode refused the prompt. The run is given up, and whatever still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      "stopSession",
                      "raise RUN_ENDED (error)"
                    ]
                  }
                ],
                "SESSION_NOT_FOUND": {
                  "target": "#missing",
                  "actions": "recordNotFound",
                  "description": "The prompt was sent, and OpenCode did not find the task's session."
                },
                "HOST_IDLE": {
                  "description": "OpenCode reports that the task's session is idle. OpenCode is asked once it has accepted the prompt.",
                  "actions": "recordIdleHint"
                },
                "HOST_ERROR": {
                  "description": "OpenCode reports an error in the task's session. OpenCode is asked once it has accepted the prompt.",
                  "actions": "recordIdleHint"
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
                "beginWait",
                {
                  "type": "setDeadline"
                }
              ],
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "sending",
                  "description": "Time has passed."
                },
                "HOST_IDLE": {
                  "target": "#verifying",
                  "description": "OpenCode reports that the task's session is idle."
                },
                "HOST_ERROR": {
                  "guard": "wasSentSinceFault",
                  "target": "#verifying",
                  "description": "OpenCode reports an error in the task's session. Right after a fault of OpenCode, it is a consequence of that.",
                  "actions": "recordIdleHint"
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
              "actions": "recordRetry",
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
                "recordIdleHint",
                {
                  "type": "setDeadline",
                  "params": 1000
                }
              ]
            },
            "TICK": {
              "guard": "due",
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
                    "endTurn"
                  ]
                },
                "STEERING_STORED": {
                  "guard": "isOldestInstruction",
                  "target": "#verifying",
                  "description": "The instruction is in the agent's conversation. The agent may have ended its turn just before: OpenCode is asked."
                },
                "STEERING_REFUSED": {
                  "guard": "isOldestInstruction and maySteerAgain",
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
              "entry": "assign nextDeadline",
              "on": {
                "HOST_BUSY": {
                  "target": "busy",
                  "description": "OpenCode reports that a model works in the task's session. OpenCode makes the request again."
                },
                "HOST_ANSWERING": {
                  "target": "busy",
                  "actions": "forgetRetry",
                  "description": "OpenCode reports that the provider answers the agent's request."
                },
                "STEPS_WITHOUT_END": {
                  "description": "The agent has taken several steps in a row without a tool call and without an end that OpenCode knows: it asks the model again for ever. That turn is ended. If OpenCode does not report it as idle then, it is asked after a moment.",
                  "actions": [
                    {
                      "type": "setDeadline",
                      "params": 1000
                    },
                    "endTurn"
                  ]
                },
                "TICK": {
                  "guard": "due and isRefusedTooLong",
                  "target": "#changingModel",
                  "description": "Time has passed. Another model is asked.",
                  "actions": "recordRefusal"
                },
                "STEERING_REFUSED": {
                  "guard": "isOldestInstruction and maySteerAgain",
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
                "beginWait",
                "assign nextDeadline"
              ],
              "on": {
                "OWN_TASK_ENDED": {
                  "target": "busy",
                  "description": "A run of a task that the agent launched has ended. Its result is on the way to the agent."
                },
                "STEERING_STORED": {
                  "guard": "isOldestInstruction",
                  "target": "#verifying",
                  "description": "The instruction is in the agent's conversation. The agent has not seen it: OpenCode is asked, and then the agent is woken."
                },
                "STEERING_REFUSED": {
                  "target": "busy",
                  "guard": "isOldestInstruction and maySteerAgain",
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
            "beginWait",
            "assign retry, failedChecks"
          ],
          "states": {
            "ending": {
              "description": "The turn is being aborted.",
              "entry": [
                "assign nextDeadline",
                "changeModel"
              ],
              "on": {
                "MODEL_CHANGED": {
                  "target": "settling",
                  "actions": "assign model, hostError, sendAttempts, failedChecks",
                  "description": "The turn of the model that is refused has ended: the run goes on with this one."
                },
                "NOT_STOPPED": [
                  {
                    "guard": "failedChecksLeft",
                    "target": "pausing",
                    "actions": "assign failedChecks",
                    "description": "The task's session has not stopped."
                  },
                  {
                    "target": "#idle",
                    "description": "The task's session has not stopped. The run is given up, and whatever still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      "stopSession",
                      "raise RUN_ENDED (error)"
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
                  "guard": "due",
                  "target": "ending",
                  "description": "Time has passed."
                }
              }
            },
            "settling": {
              "description": "OpenCode may still report the end of that turn. After a moment the run asks for a slot.",
              "entry": [
                "assign modelLeftAt",
                {
                  "type": "setDeadline",
                  "params": 1000
                }
              ],
              "on": {
                "HOST_ERROR": {
                  "guard": "isAbort",
                  "target": "#aborted",
                  "description": "OpenCode reports an error in the task's session. That turn was over: a person stopped what came after it."
                },
                "TICK": {
                  "guard": "due",
                  "target": "#queued",
                  "description": "Time has passed. The next model has limits of its own. Of those that wait, the oldest come first.",
                  "actions": "assign modelLeftAt"
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
              "actions": "recordRetry"
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
                    "guard": "isCurrentCheck and isRefusedForNow",
                    "target": "#retrying",
                    "description": "The check shows that the agent is at work. The provider refuses for now.",
                    "actions": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#working",
                    "actions": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep",
                    "description": "The check shows that the agent is at work."
                  }
                ],
                "CHECKED_AWAITING_TASKS": {
                  "guard": "isCurrentCheck",
                  "target": "#awaitingTasks",
                  "actions": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep",
                  "description": "The check shows that the agent's turn has ended, and that tasks which it launched run. It receives their results, and goes on."
                },
                "CHECK_FAILED": {
                  "guard": "isCurrentCheck",
                  "target": "#idle",
                  "description": "OpenCode was asked, and did not answer. The run is given up, and whatever still works on it is stopped.",
                  "actions": [
                    "recordEnd",
                    {
                      "type": "recordError"
                    },
                    "stopSession",
                    "raise RUN_ENDED (error)"
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
                    "beginWait",
                    "assign checkId, nextDeadline",
                    "checkRun"
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
                      "actions": "recordIdleHint"
                    },
                    "STEERING_STORED": {
                      "guard": "isOldestInstruction",
                      "target": "verifying",
                      "reenter": true,
                      "description": "The instruction is in the agent's conversation. OpenCode is asked anew."
                    },
                    "CHECKED_ANSWERED": [
                      {
                        "guard": "isCurrentCheck and isSteered",
                        "target": "#working",
                        "description": "The check shows that the run is answered. An instruction is on its way: the run goes on with it.",
                        "actions": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                      },
                      {
                        "guard": "isCurrentCheck and isMisfit and mayRepair",
                        "target": "#sending",
                        "description": "The check shows that the run is answered. The answer does not fit the schema: the agent is given what is wrong with it, and goes on.",
                        "actions": [
                          "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep",
                          "assign"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck and isMisfit",
                        "target": "#idle",
                        "description": "The check shows that the run is answered. It does not fit once more. The answer is kept.",
                        "actions": [
                          "recordEnd",
                          "assign",
                          "recordAnswer",
                          "raise RUN_ENDED (error)"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck and hasGate",
                        "target": "#gating",
                        "description": "The check shows that the run is answered. The answer must pass the gate."
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "actions": [
                          "recordEnd",
                          "recordAnswer",
                          "raise RUN_ENDED (completed)"
                        ],
                        "description": "The check shows that the run is answered."
                      }
                    ],
                    "CHECKED_FAILED": [
                      {
                        "guard": "isCurrentCheck and isRefused",
                        "target": "#changingModel",
                        "description": "The check shows that the run failed. Another model is asked.",
                        "actions": "recordRefusal"
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "actions": [
                          "recordLastRefusal",
                          "recordSaid",
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "raise RUN_ENDED (error)"
                        ],
                        "description": "The check shows that the run failed."
                      }
                    ],
                    "CHECKED_HOST_FAULT": [
                      {
                        "guard": "isCurrentCheck and mayBeInterrupted",
                        "target": "#backingOff",
                        "description": "The check shows that a fault of OpenCode itself interrupted the run. It was interrupted, and continues after the last step that was finished.",
                        "actions": [
                          "countInterruption",
                          "assign sendAttempts, abortedAt"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "description": "The check shows that a fault of OpenCode itself interrupted the run. The run is given up, and whatever still works on it is stopped.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "stopSession",
                          "raise RUN_ENDED (error)"
                        ]
                      }
                    ],
                    "CHECKED_ABORTED": {
                      "guard": "isCurrentCheck",
                      "target": "#aborted",
                      "description": "The check shows that the run was aborted."
                    },
                    "CHECKED_NOT_FOUND": {
                      "guard": "isCurrentCheck",
                      "target": "#missing",
                      "actions": "recordNotFound",
                      "description": "OpenCode was asked, and did not find the task's session."
                    },
                    "CHECKED_UNANSWERED": [
                      {
                        "guard": "isCurrentCheck and sendAttemptsLeft",
                        "target": "#backingOff",
                        "description": "The check shows that the run has no answer, and that no model works on it. The prompt is sent again.",
                        "actions": "assign failedChecks"
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "description": "The check shows that the run has no answer, and that no model works on it. The run is given up, and whatever still works on it is stopped.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "stopSession",
                          "raise RUN_ENDED (error)"
                        ]
                      }
                    ],
                    "CHECKED_UNSEEN": [
                      {
                        "guard": "isCurrentCheck and sendAttemptsLeft",
                        "target": "#sending",
                        "description": "The check shows that the run was answered before its model saw the newest instruction. The instruction is sent again, which wakes the agent.",
                        "actions": "assign failedChecks"
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "description": "The check shows that the run was answered before its model saw the newest instruction. The run is given up, and whatever still works on it is stopped.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "stopSession",
                          "raise RUN_ENDED (error)"
                        ]
                      }
                    ],
                    "CHECK_FAILED": {
                      "guard": "isCurrentCheck and failedChecksLeft",
                      "target": "#working",
                      "description": "OpenCode was asked, and did not answer. It is asked again after a pause.",
                      "actions": [
                        "assign failedChecks",
                        {
                          "type": "setDeadline",
                          "params": 5000
                        }
                      ]
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
                    "assign checkId, nextDeadline",
                    "checkRun"
                  ],
                  "on": {
                    "TICK": {
                      "guard": "due",
                      "target": "recovering",
                      "reenter": true,
                      "description": "Time has passed."
                    },
                    "CHECKED_ANSWERED": [
                      {
                        "guard": "isCurrentCheck and mayNotCheck and not isSteered",
                        "target": "#idle",
                        "description": "The check shows that the run is answered. OpenCode ended three times while the answer was checked, which is not begun again. The answer is kept.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "recordAnswer",
                          "raise RUN_ENDED (error)"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck and isSteered",
                        "target": "#working",
                        "description": "The check shows that the run is answered. An instruction is on its way: the run goes on with it.",
                        "actions": "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                      },
                      {
                        "guard": "isCurrentCheck and isMisfit and mayRepair",
                        "target": "#sending",
                        "description": "The check shows that the run is answered. The answer does not fit the schema: the agent is given what is wrong with it, and goes on.",
                        "actions": [
                          "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep",
                          "assign"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck and isMisfit",
                        "target": "#idle",
                        "description": "The check shows that the run is answered. It does not fit once more. The answer is kept.",
                        "actions": [
                          "recordEnd",
                          "assign",
                          "recordAnswer",
                          "raise RUN_ENDED (error)"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck and hasGate",
                        "target": "#gating",
                        "description": "The check shows that the run is answered. The answer must pass the gate."
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "actions": [
                          "recordEnd",
                          "recordAnswer",
                          "raise RUN_ENDED (completed)"
                        ],
                        "description": "The check shows that the run is answered."
                      }
                    ],
                    "CHECKED_FAILED": [
                      {
                        "guard": "isCurrentCheck and isRefused and isToContinue",
                        "target": "#changingModel",
                        "description": "The check shows that the run failed. Another model is asked, however often the run was interrupted: this is not what interrupted it.",
                        "actions": "recordRefusal"
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "actions": [
                          "recordLastRefusal",
                          "recordSaid",
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "raise RUN_ENDED (error)"
                        ],
                        "description": "The check shows that the run failed."
                      }
                    ],
                    "CHECKED_HOST_FAULT": [
                      {
                        "guard": "isCurrentCheck and mayContinue",
                        "target": "#backingOff",
                        "description": "The check shows that a fault of OpenCode itself interrupted the run. It was interrupted, and continues after the last step that was finished.",
                        "actions": [
                          "countInterruption",
                          "assign sendAttempts, abortedAt"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "description": "The check shows that a fault of OpenCode itself interrupted the run. The run is given up, and whatever still works on it is stopped.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "stopSession",
                          "raise RUN_ENDED (error)"
                        ]
                      }
                    ],
                    "CHECKED_ABORTED": [
                      {
                        "guard": "isCurrentCheck and mayContinue",
                        "target": "#sending",
                        "description": "The check shows that the run was aborted. It was interrupted, and continues after the last step that was finished.",
                        "actions": [
                          "countInterruption",
                          "assign sendAttempts, interruptedAt, abortedAt"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "description": "The check shows that the run was aborted. It was interrupted, and is not continued.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError",
                            "params": {
                              "name": "Interrupted",
                              "kind": "interrupted",
                              "message": "OpenCode ended while the task ran, and the task was not continued."
                            }
                          },
                          "stopSession",
                          "raise RUN_ENDED (error)"
                        ]
                      }
                    ],
                    "CHECKED_UNANSWERED": [
                      {
                        "guard": "isCurrentCheck and mayContinue",
                        "target": "#sending",
                        "description": "The check shows that the run has no answer, and that no model works on it. It was interrupted, and continues after the last step that was finished.",
                        "actions": [
                          "countInterruption",
                          "assign sendAttempts, interruptedAt, abortedAt"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "description": "The check shows that the run has no answer, and that no model works on it. It was interrupted, and is not continued.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError",
                            "params": {
                              "name": "Interrupted",
                              "kind": "interrupted",
                              "message": "OpenCode ended while the task ran, and the task was not continued."
                            }
                          },
                          "stopSession",
                          "raise RUN_ENDED (error)"
                        ]
                      }
                    ],
                    "CHECKED_UNSEEN": [
                      {
                        "guard": "isCurrentCheck and mayContinue",
                        "target": "#sending",
                        "description": "The check shows that the run was answered before its model saw the newest instruction. It was interrupted, and continues after the last step that was finished.",
                        "actions": [
                          "countInterruption",
                          "assign sendAttempts, interruptedAt, abortedAt"
                        ]
                      },
                      {
                        "guard": "isCurrentCheck",
                        "target": "#idle",
                        "description": "The check shows that the run was answered before its model saw the newest instruction. It was interrupted, and is not continued.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError",
                            "params": {
                              "name": "Interrupted",
                              "kind": "interrupted",
                              "message": "OpenCode ended while the task ran, and the task was not continued."
                            }
                          },
                          "stopSession",
                          "raise RUN_ENDED (error)"
                        ]
                      }
                    ],
                    "CHECKED_NOT_FOUND": {
                      "guard": "isCurrentCheck",
                      "description": "OpenCode was asked, and did not find the task's session. It is asked again after a pause.",
                      "actions": [
                        "recordNotFound",
                        {
                          "type": "setDeadline",
                          "params": 5000
                        }
                      ]
                    },
                    "CHECK_FAILED": {
                      "guard": "isCurrentCheck and failedChecksLeft",
                      "description": "OpenCode was asked, and did not answer. It is asked again after a pause.",
                      "actions": [
                        "assign failedChecks",
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
              "description": "OpenCode does not find the task's session. It is asked again after a pause: only the second answer counts.",
              "meta": {
                "waitsFor": "session"
              },
              "entry": {
                "type": "setDeadline",
                "params": 5000
              },
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "asking",
                  "description": "Time has passed."
                },
                "HOST_ERROR": {
                  "description": "OpenCode reports an error in the task's session. OpenCode is asked after the pause.",
                  "actions": "recordIdleHint"
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
                "assign abortedAt",
                {
                  "type": "setDeadline",
                  "params": 500
                }
              ],
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "#idle",
                  "description": "Time has passed. OpenCode has not ended: a person stopped the run.",
                  "actions": [
                    "recordEnd",
                    "assign completedAt",
                    "raise RUN_ENDED (cancelled)"
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
                "beginWait",
                "assign sendAttempts, failedChecks, missingSince, hostError, nextDeadline, misfits, gate",
                "runGate"
              ],
              "exit": "stopGate",
              "on": {
                "GATE_ENDED": [
                  {
                    "guard": "isCurrentGate and isSteered",
                    "target": "#working",
                    "description": "The gate's command has ended. An instruction is on its way: the run goes on with it.",
                    "actions": [
                      "assign gate",
                      "assign sendAttempts, failedChecks, endedInChecks, missingSince, hostError, redoesStep"
                    ]
                  },
                  {
                    "guard": "isCurrentGate and hasPassed",
                    "target": "#idle",
                    "description": "The gate's command has ended. The answer counts.",
                    "actions": [
                      "assign gate",
                      "recordEnd",
                      "assign",
                      "raise RUN_ENDED (completed)"
                    ]
                  },
                  {
                    "guard": "isCurrentGate and mayTryGateAgain",
                    "target": "#sending",
                    "description": "The gate's command has ended. The agent is given what the command said, and goes on.",
                    "actions": [
                      "assign gate",
                      "assign sendAttempts, failedChecks, storedInstruction"
                    ]
                  },
                  {
                    "guard": "isCurrentGate",
                    "target": "#idle",
                    "description": "The gate's command has ended. It failed as often as it may be tried. The answer is kept.",
                    "actions": [
                      "assign",
                      "assign gate",
                      "recordEnd",
                      "raise RUN_ENDED (error)"
                    ]
                  }
                ],
                "STEERING_STORED": {
                  "guard": "isOldestInstruction",
                  "target": "#verifying",
                  "description": "The instruction is in the agent's conversation. The agent has not seen it: OpenCode is asked, and then the agent is woken."
                },
                "STEERING_REFUSED": {
                  "guard": "isOldestInstruction and maySteerAgain",
                  "description": "OpenCode did not take the instruction. OpenCode is asked about the run after a pause, and then the instruction is sent again.",
                  "actions": {
                    "type": "setDeadline"
                  },
                  "target": "#working"
                }
              }
            }
          }
        },
        "fleet": {
          "id": "fleet",
          "description": "The run is for another server of the fleet, and one works on it. A launch is offered to all of them, a resume to the one that has the conversation.",
          "meta": {
            "refuses": {
              "STEER": "works on another server, where it takes no further instructions"
            }
          },
          "initial": "unclaimed",
          "on": {
            "SESSION_DELETED": {
              "target": "#idle",
              "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice. The server that has it is asked to stop.",
              "actions": [
                "recordEnd",
                {
                  "type": "recordError",
                  "params": {
                    "name": "SessionGone",
                    "kind": "sessionGone",
                    "message": "The task's session was deleted before it answered."
                  }
                },
                "closeRun",
                "raise RUN_ENDED (error)"
              ]
            },
            "SUPERVISION_FAILED": {
              "target": "#idle",
              "description": "A fault in the plugin: the run can no longer be supervised. The server that has it is asked to stop.",
              "actions": [
                "recordEnd",
                {
                  "type": "recordError"
                },
                "closeRun",
                "raise RUN_ENDED (error)"
              ]
            },
            "ADOPTED": {
              "description": "The process that supervised the task has ended, and this one takes over. The log says what became of the run.",
              "actions": "readRun"
            },
            "REMOTE_ENDED": [
              {
                "guard": "isNewestClaim and isBeyondLimit",
                "target": "#idle",
                "actions": [
                  "recordEnd",
                  "assign",
                  {
                    "type": "recordError"
                  },
                  "raise RUN_ENDED (error)"
                ],
                "description": "The server that has the run reports how it ended. The run was stopped at a limit, which is its error."
              },
              {
                "guard": "isNewestClaim and isRemotelyCompleted",
                "target": "#idle",
                "actions": [
                  "recordEnd",
                  "assign",
                  "raise RUN_ENDED (completed)"
                ],
                "description": "The server that has the run reports how it ended."
              },
              {
                "guard": "isNewestClaim and isRemotelyFailed",
                "target": "#idle",
                "actions": [
                  "recordEnd",
                  "assign",
                  "raise RUN_ENDED (error)"
                ],
                "description": "The server that has the run reports how it ended."
              },
              {
                "guard": "isNewestClaim",
                "target": "#idle",
                "actions": [
                  "recordEnd",
                  "assign",
                  "raise RUN_ENDED (cancelled)"
                ],
                "description": "The server that has the run reports how it ended."
              }
            ],
            "CLOSED": [
              {
                "guard": "isLaunch",
                "target": "#queued",
                "description": "The run is closed in the fleet: no report of a server counts any more. It runs here.",
                "actions": "assign sendAttempts, remote, queuedUntil"
              },
              {
                "target": "#idle",
                "description": "The run is closed in the fleet: no report of a server counts any more. Only the server that has its conversation could go on with it.",
                "actions": [
                  "recordEnd",
                  {
                    "type": "recordError",
                    "params": {
                      "name": "ServerAway",
                      "kind": "fleet",
                      "message": "The server that has the conversation of the task did not go on with it in time."
                    }
                  },
                  "raise RUN_ENDED (error)"
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
                  "guard": "isNewClaim",
                  "target": "claimed",
                  "actions": "assign",
                  "description": "A server of the fleet claims the run."
                },
                "REMOTE_HELD": {
                  "guard": "isNewestClaim",
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
                    "beginWait",
                    "assign sendAttempts, nextDeadline",
                    "enqueueJob"
                  ],
                  "on": {
                    "JOB_ENQUEUED": {
                      "target": "enqueued",
                      "description": "The broker of the fleet has queued the job."
                    },
                    "JOB_REFUSED": [
                      {
                        "guard": "mayEnqueueAgain and sendAttemptsLeft",
                        "target": "pausing",
                        "description": "The broker of the fleet did not take the job."
                      },
                      {
                        "guard": "isLaunch",
                        "target": "#queued",
                        "description": "The broker of the fleet did not take the job. It runs here.",
                        "actions": "assign sendAttempts, remote, queuedUntil"
                      },
                      {
                        "target": "#idle",
                        "description": "The broker of the fleet did not take the job. Only the server that has its conversation could go on with it. The job may be queued all the same.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "closeRun",
                          "raise RUN_ENDED (error)"
                        ]
                      }
                    ],
                    "ADOPTED": {
                      "target": "enqueuing",
                      "reenter": true,
                      "description": "The process that supervised the task has ended, and this one takes over. It is sent again. A job that is queued already stays the same.",
                      "actions": "assign sendAttempts"
                    }
                  }
                },
                "pausing": {
                  "description": "The broker did not take the job. It is sent again after a pause.",
                  "meta": {
                    "waitsFor": "fleet"
                  },
                  "entry": [
                    "beginWait",
                    {
                      "type": "setDeadline"
                    }
                  ],
                  "on": {
                    "TICK": {
                      "guard": "due",
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
                    "beginWait",
                    {
                      "type": "setDeadline"
                    }
                  ],
                  "on": {
                    "REMOTE_LOST": {
                      "target": "enqueuing",
                      "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end. The broker has lost it.",
                      "actions": "assign sendAttempts"
                    },
                    "TICK": {
                      "guard": "due",
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
                    "beginWait",
                    "closeRun",
                    {
                      "type": "setDeadline",
                      "params": 5000
                    }
                  ],
                  "on": {
                    "TICK": {
                      "guard": "due",
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
              "entry": "assign nextDeadline",
              "on": {
                "REMOTE_CLAIMED": {
                  "guard": "isNewClaim",
                  "target": "claimed",
                  "actions": "assign",
                  "description": "A server of the fleet claims the run. Another server has begun it anew."
                },
                "REMOTE_LOST": [
                  {
                    "guard": "mayBeginAgain",
                    "target": "#enqueuing",
                    "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end. It is begun anew by the next server.",
                    "actions": "assign sendAttempts"
                  },
                  {
                    "target": "#idle",
                    "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end. It was begun as often as it may.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError",
                        "params": {
                          "name": "ServerLost",
                          "kind": "fleet",
                          "message": "The servers that worked on the task are gone, and it may not be begun on another one."
                        }
                      },
                      "closeRun",
                      "raise RUN_ENDED (error)"
                    ]
                  }
                ],
                "LIMIT_EXCEEDED": {
                  "target": "stopping",
                  "actions": "recordLimit",
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
                    "guard": "isBeyondLimit",
                    "target": "#idle",
                    "actions": [
                      "closeRun",
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      "raise RUN_ENDED (error)"
                    ],
                    "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice. The run was stopped at a limit, which is its error."
                  },
                  {
                    "target": "#idle",
                    "actions": [
                      "closeRun",
                      "recordEnd",
                      "raise RUN_ENDED (cancelled)"
                    ],
                    "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice."
                  }
                ],
                "CLOSED": [
                  {
                    "guard": "isBeyondLimit",
                    "target": "#idle",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      "raise RUN_ENDED (error)"
                    ],
                    "description": "The run is closed in the fleet: no report of a server counts any more. The run was stopped at a limit, which is its error."
                  },
                  {
                    "target": "#idle",
                    "actions": [
                      "recordEnd",
                      "raise RUN_ENDED (cancelled)"
                    ],
                    "description": "The run is closed in the fleet: no report of a server counts any more."
                  }
                ],
                "REMOTE_CLAIMED": {
                  "guard": "isNewClaim",
                  "target": ".requesting",
                  "actions": "assign",
                  "description": "A server of the fleet claims the run. The server that has claimed it is asked to stop."
                }
              },
              "states": {
                "requesting": {
                  "description": "The server that works on the run is asked to stop.",
                  "entry": [
                    "beginWait",
                    "assign stopAttempts",
                    "requestRemoteStop",
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
                      "guard": "due",
                      "target": "closing",
                      "description": "Time has passed. It has not confirmed that it stopped."
                    }
                  }
                },
                "closing": {
                  "id": "closing",
                  "description": "The run is closed in the fleet, so that nobody begins it, and no report of a server counts.",
                  "entry": [
                    "beginWait",
                    "assign stopAttempts",
                    "closeRun",
                    {
                      "type": "setDeadline",
                      "params": 5000
                    }
                  ],
                  "on": {
                    "TICK": [
                      {
                        "guard": "due and stopAttemptsLeft",
                        "target": "closing",
                        "reenter": true,
                        "description": "Time has passed."
                      },
                      {
                        "guard": "due and isBeyondLimit",
                        "target": "#idle",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          },
                          "raise RUN_ENDED (error)"
                        ],
                        "description": "Time has passed. The run was stopped at a limit, which is its error."
                      },
                      {
                        "guard": "due",
                        "target": "#idle",
                        "description": "Time has passed. It was tried often enough; the task says so.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError",
                            "params": {
                              "name": "NotWithdrawn",
                              "kind": "fleet",
                              "message": "The fleet could not be reached to stop the task. A server that has it may work on until it reaches the fleet."
                            }
                          },
                          "raise RUN_ENDED (cancelled)"
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
              "STEER": "is being cancelled"
            }
          },
          "initial": "aborting",
          "entry": [
            "beginWait",
            "forgetRetry"
          ],
          "on": {
            "SESSION_DELETED": [
              {
                "guard": "isBeyondLimit",
                "target": "#idle",
                "actions": [
                  "recordEnd",
                  {
                    "type": "recordError"
                  },
                  "raise RUN_ENDED (error)"
                ],
                "description": "The task's session was deleted: OpenCode reports it, or did not find it when asked twice. The run was stopped at a limit, which is its error."
              },
              {
                "target": "#idle",
                "actions": [
                  "recordEnd",
                  "raise RUN_ENDED (cancelled)"
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
                "assign stopAttempts, nextDeadline",
                "stopSession"
              ],
              "on": {
                "STOPPED": [
                  {
                    "guard": "isBeyondLimit",
                    "target": "#idle",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      "raise RUN_ENDED (error)"
                    ],
                    "description": "The task's session and its descendants have stopped. The run was stopped at a limit, which is its error."
                  },
                  {
                    "target": "#idle",
                    "actions": [
                      "recordEnd",
                      "raise RUN_ENDED (cancelled)"
                    ],
                    "description": "The task's session and its descendants have stopped."
                  }
                ],
                "NOT_STOPPED": [
                  {
                    "guard": "stopAttemptsLeft",
                    "target": "pausing",
                    "description": "The task's session has not stopped."
                  },
                  {
                    "guard": "isBeyondLimit",
                    "target": "#idle",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      "raise RUN_ENDED (error)"
                    ],
                    "description": "The task's session has not stopped. The run was stopped at a limit, which is its error."
                  },
                  {
                    "target": "#idle",
                    "description": "The task's session has not stopped. It was tried often enough; the task says why.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      "raise RUN_ENDED (cancelled)"
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
                  "guard": "due",
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
          "actions": "addWaiter",
          "description": "A tool call starts to wait for the run, in order to return its result."
        },
        "WAIT_ABANDONED": {
          "guard": "isWaiter",
          "actions": "removeWaiter",
          "description": "A tool call no longer waits, and has returned nothing."
        },
        "WAIT_DELIVERED": {
          "guard": "isWaiter",
          "actions": "removeWaiter",
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
                "guard": "waitedFor",
                "target": "held",
                "description": "The run has ended. The region `run` raises this for the other regions. A tool call waits for its result.",
                "actions": [
                  "recordRunResult",
                  "withdrawNotice",
                  "reportEnd"
                ]
              },
              {
                "target": "due",
                "actions": [
                  "recordRunResult",
                  "reportEnd"
                ],
                "description": "The run has ended. The region `run` raises this for the other regions."
              }
            ]
          }
        },
        "held": {
          "meta": {
            "refuses": {
              "RESUME": "has a result that is still being delivered"
            }
          },
          "description": "The run has ended, and a tool call that waits for it is to deliver the result.",
          "on": {
            "WAIT_DELIVERED": {
              "guard": "isWaiter",
              "target": "none",
              "actions": "removeWaiter",
              "description": "A tool call delivered the run's result to the parent."
            },
            "WAIT_ABANDONED": {
              "guard": "isWaiter and isOnlyWaiter",
              "target": "due",
              "description": "A tool call no longer waits, and has returned nothing. It was the last one that waited.",
              "actions": "removeWaiter"
            }
          }
        },
        "due": {
          "meta": {
            "refuses": {
              "RESUME": "has a result that is still to be delivered: a call that waits for the task returns it at once"
            }
          },
          "description": "The parent is owed the notice.",
          "entry": "queueNotice",
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
                "addWaiter",
                "withdrawNotice"
              ]
            }
          }
        },
        "sending": {
          "meta": {
            "refuses": {
              "RESUME": "has a result that is still being delivered"
            }
          },
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
              "guard": "noNoticePending",
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
          "actions": "assign userRequests, lostRequests, redoesStep",
          "description": "The run has ended. The region `run` raises this for the other regions."
        },
        "REMOTE_CLAIMED": {
          "guard": "isInFleet and isNewClaim",
          "target": ".none",
          "description": "A server of the fleet claims the run. The server before does not wait for an answer any more.",
          "actions": "assign userRequests, lostRequests, redoesStep"
        },
        "REMOTE_LOST": {
          "guard": "isClaimed",
          "target": ".none",
          "description": "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end. The server does not wait for an answer any more.",
          "actions": "assign userRequests, lostRequests, redoesStep"
        },
        "CLOSED": {
          "guard": "isClaimed",
          "target": ".none",
          "description": "The run is closed in the fleet: no report of a server counts any more. The server does not wait for an answer any more.",
          "actions": "assign userRequests, lostRequests, redoesStep"
        },
        "ADOPTED": {
          "target": ".none",
          "description": "The process that supervised the task has ended, and this one takes over. The open requests were lost with the process that has ended: the step that asked is done again.",
          "actions": "assign"
        },
        "PROMPT_ACCEPTED": {
          "description": "OpenCode accepted the prompt. That step is taken back. The steps that follow it waited for nobody.",
          "actions": "assign redoesStep"
        }
      },
      "states": {
        "none": {
          "description": "Nothing holds the task up.",
          "on": {
            "REQUEST_ASKED": [
              {
                "guard": "mayAsk and isQuestion",
                "target": "#awaitingUser.question",
                "actions": "addUserRequest",
                "description": "The agent asks for a permission, or asks a question."
              },
              {
                "guard": "mayAsk",
                "target": "#awaitingUser.permission",
                "actions": "addUserRequest",
                "description": "The agent asks for a permission, or asks a question."
              }
            ],
            "BECAME_STALE": {
              "guard": "live and not isQueued and not noServerWorks and not isRefusedForNow",
              "target": "stale",
              "description": "OpenCode has reported nothing of the agent for `timeouts.stale` milliseconds."
            }
          }
        },
        "stale": {
          "description": "OpenCode has reported nothing of the agent for a while.",
          "entry": "assign staleSince",
          "exit": "assign staleSince",
          "on": {
            "REQUEST_ASKED": [
              {
                "guard": "mayAsk and isQuestion",
                "target": "#awaitingUser.question",
                "actions": "addUserRequest",
                "description": "The agent asks for a permission, or asks a question."
              },
              {
                "guard": "mayAsk",
                "target": "#awaitingUser.permission",
                "actions": "addUserRequest",
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
              "guard": "mayAsk",
              "description": "The agent asks for a permission, or asks a question. It is shown after the older ones.",
              "actions": "addUserRequest"
            },
            "REQUEST_ANSWERED": [
              {
                "guard": "onlyRequest",
                "target": "none",
                "description": "A permission or question was answered, or withdrawn. It was the only one.",
                "actions": "removeUserRequest"
              },
              {
                "guard": "openRequest and questionNext",
                "target": ".question",
                "description": "A permission or question was answered, or withdrawn. The next request is a question.",
                "actions": "removeUserRequest"
              },
              {
                "guard": "openRequest and not questionNext",
                "target": ".permission",
                "description": "A permission or question was answered, or withdrawn. The next request is a permission.",
                "actions": "removeUserRequest"
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
          "guard": "live and notStopping",
          "target": ".none",
          "actions": "dropInstructions",
          "description": "The agent or a person cancels the task."
        },
        "LIMIT_EXCEEDED": {
          "guard": "live and notStopping and wasSent",
          "target": ".none",
          "actions": "dropInstructions",
          "description": "The run is beyond a limit of the options: a budget, repeated calls, or its time."
        },
        "RUN_ENDED": {
          "target": ".none",
          "actions": "dropInstructions",
          "description": "The run has ended. The region `run` raises this for the other regions."
        }
      },
      "states": {
        "none": {
          "description": "OpenCode has stored every instruction.",
          "on": {
            "STEER": [
              {
                "guard": "hasPrompt",
                "target": "sending",
                "actions": "addInstruction",
                "description": "The agent or a person gives the running task a further instruction."
              },
              {
                "guard": "takesInstructions",
                "target": "waiting",
                "description": "The agent or a person gives the running task a further instruction. It is sent when the run's prompt is known to be there.",
                "actions": "addInstruction"
              }
            ]
          }
        },
        "waiting": {
          "description": "Instructions wait until OpenCode is known to have the run's prompt.",
          "on": {
            "STEER": {
              "guard": "takesInstructions",
              "actions": "addInstruction",
              "description": "The agent or a person gives the running task a further instruction."
            },
            "PROMPT_ACCEPTED": {
              "target": "sending",
              "description": "OpenCode accepted the prompt."
            },
            "CHECKED_BUSY": {
              "guard": "isCurrentCheck",
              "target": "sending",
              "description": "The check shows that the agent is at work."
            },
            "CHECKED_AWAITING_TASKS": {
              "guard": "isCurrentCheck",
              "target": "sending",
              "description": "The check shows that the agent's turn has ended, and that tasks which it launched run."
            },
            "CHECKED_ANSWERED": {
              "guard": "isCurrentCheck",
              "target": "sending",
              "description": "The check shows that the run is answered."
            }
          }
        },
        "sending": {
          "description": "The oldest instruction is on its way to OpenCode. The others follow one by one.",
          "entry": "sendSteering",
          "on": {
            "STEER": {
              "guard": "takesInstructions",
              "description": "The agent or a person gives the running task a further instruction. It is sent after the older ones.",
              "actions": "addInstruction"
            },
            "STEERING_STORED": [
              {
                "guard": "isOldestInstruction and moreInstructions",
                "target": "sending",
                "reenter": true,
                "description": "The instruction is in the agent's conversation. The next one follows.",
                "actions": "recordStored"
              },
              {
                "guard": "isOldestInstruction",
                "target": "none",
                "actions": "recordStored",
                "description": "The instruction is in the agent's conversation."
              }
            ],
            "STEERING_REFUSED": {
              "guard": "isOldestInstruction and maySteerAgain",
              "target": "waiting",
              "description": "OpenCode did not take the instruction. It is sent again once OpenCode answers.",
              "actions": "assign steerAttempts"
            },
            "ADOPTED": {
              "target": "waiting",
              "description": "The process that supervised the task has ended, and this one takes over. It may be stored already: with the same ids, that changes nothing."
            }
          }
        }
      }
    }
  }
});
