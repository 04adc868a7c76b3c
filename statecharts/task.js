import { createMachine } from "xstate";

export const task = createMachine({
  "id": "task",
  "description": "One background task: its runs, what is owed to its parent about them, and what holds it up.",
  "type": "parallel",
  "states": {
    "lifecycle": {
      "description": "How the newest run stands. The name of its top state is the task's status.",
      "initial": "running",
      "states": {
        "running": {
          "id": "running",
          "description": "The launch prompt is being worked on.",
          "meta": {
            "refuses": {
              "RESUME": "only completed tasks can be resumed (this one is running)"
            }
          },
          "initial": "queued",
          "on": {
            "CANCEL": {
              "guard": "notStopping",
              "target": ".stopping",
              "description": "The agent or a person wants the task stopped."
            },
            "SESSION_DELETED": {
              "target": "#error",
              "description": "The child session was deleted: the host said so, or found it nowhere when it was asked again. Its model works on until it is aborted.",
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
                {
                  "type": "emitEffect"
                }
              ]
            },
            "SUPERVISION_FAILED": {
              "target": "#error",
              "description": "A fault in the plugin: the run cannot be supervised any more. The run is given up. What still works on it is stopped.",
              "actions": [
                "recordEnd",
                {
                  "type": "recordError"
                },
                {
                  "type": "emitEffect"
                }
              ]
            },
            "ADOPTED": {
              "target": ".reclaiming",
              "actions": "assign",
              "description": "The process that supervised the task is gone; this one takes over."
            }
          },
          "states": {
            "queued": {
              "description": "The child session exists. The run waits for a slot.",
              "on": {
                "SLOT_GRANTED": {
                  "target": "launching",
                  "description": "The run has a slot: permission to be working."
                },
                "ADOPTED": {
                  "description": "The process that supervised the task is gone; this one takes over. Nothing was sent yet: the run goes on waiting."
                },
                "CANCEL": {
                  "target": "#cancelled",
                  "description": "The agent or a person wants the task stopped. Nothing was sent yet: there is nothing to stop.",
                  "actions": "recordEnd"
                }
              }
            },
            "launching": {
              "description": "The prompt is on its way to the host.",
              "entry": [
                "assign sendAttempts, idleHinted, missingSince, nextDeadline",
                {
                  "type": "emitEffect"
                }
              ],
              "on": {
                "PROMPT_ACCEPTED": [
                  {
                    "guard": "idleHinted",
                    "target": "settling",
                    "description": "The host took the prompt. It said idle or error before that."
                  },
                  {
                    "target": "working",
                    "description": "The host took the prompt."
                  }
                ],
                "PROMPT_REFUSED": [
                  {
                    "guard": "retryable and sendAttemptsLeft",
                    "target": "backingOff",
                    "description": "The host did not take the prompt."
                  },
                  {
                    "target": "#error",
                    "description": "The host did not take the prompt. The run is given up. What still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ],
                "SESSION_NOT_FOUND": {
                  "target": "missing",
                  "actions": "recordNotFound",
                  "description": "The host did not find the child session when it was sent the prompt."
                },
                "HOST_IDLE": {
                  "description": "The host says that the child session is idle. It is looked into once the prompt is accepted.",
                  "actions": "recordIdleHint"
                },
                "HOST_ERROR": {
                  "description": "The host says that the child session met an error. It is looked into once the prompt is accepted.",
                  "actions": "recordIdleHint"
                }
              }
            },
            "backingOff": {
              "description": "The prompt was refused, or lies unanswered. It is sent again, with the same ids, after a pause.",
              "entry": {
                "type": "setDeadline"
              },
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "launching",
                  "description": "Time has passed."
                },
                "HOST_IDLE": {
                  "target": "settling",
                  "description": "The host says that the child session is idle."
                },
                "HOST_ERROR": {
                  "target": "settling",
                  "actions": "recordIdleHint",
                  "description": "The host says that the child session met an error."
                }
              }
            },
            "working": {
              "tags": "working",
              "description": "The child is at work.",
              "on": {
                "HOST_IDLE": {
                  "target": "settling",
                  "description": "The host says that the child session is idle."
                },
                "HOST_ERROR": {
                  "description": "The host says that the child session met an error. Idle should follow; if it does not, the host is asked after a moment.",
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
                  "target": "settling",
                  "description": "Time has passed."
                }
              }
            },
            "settling": {
              "description": "The child looks finished. Idle is a hint, not a fact: the host is asked how the run stands.",
              "entry": "enqueueActions",
              "on": {
                "HOST_IDLE": {
                  "target": "settling",
                  "reenter": true,
                  "description": "The host says that the child session is idle. It is asked anew."
                },
                "HOST_ERROR": {
                  "target": "settling",
                  "reenter": true,
                  "description": "The host says that the child session met an error. It is asked anew.",
                  "actions": "recordIdleHint"
                },
                "CHECKED_BUSY": {
                  "guard": "isCurrentCheck",
                  "target": "working",
                  "actions": "assign sendAttempts, failedChecks, missingSince, hostError",
                  "description": "The host was asked: the child is at work."
                },
                "CHECKED_ANSWERED": {
                  "guard": "isCurrentCheck",
                  "target": "#completed",
                  "actions": [
                    "recordEnd",
                    "assign result, resultRetrievedAt"
                  ],
                  "description": "The host was asked: the run is answered."
                },
                "CHECKED_FAILED": {
                  "guard": "isCurrentCheck",
                  "target": "#error",
                  "actions": [
                    "recordEnd",
                    {
                      "type": "recordError"
                    }
                  ],
                  "description": "The host was asked: the run failed."
                },
                "CHECKED_ABORTED": {
                  "guard": "isCurrentCheck",
                  "target": "aborted",
                  "description": "The host was asked: the run was aborted."
                },
                "CHECKED_NOT_FOUND": {
                  "guard": "isCurrentCheck",
                  "target": "missing",
                  "actions": "recordNotFound",
                  "description": "The host was asked, and did not find the child session."
                },
                "CHECKED_UNANSWERED": [
                  {
                    "guard": "isCurrentCheck and sendAttemptsLeft",
                    "target": "backingOff",
                    "description": "The host was asked: nobody works on the run, and nothing answers it. The prompt is sent again.",
                    "actions": "assign failedChecks"
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked: nobody works on the run, and nothing answers it. The run is given up. What still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ],
                "CHECK_FAILED": [
                  {
                    "guard": "isCurrentCheck and failedChecksLeft",
                    "target": "working",
                    "description": "The host was asked, and did not say. It is asked again after a pause.",
                    "actions": [
                      "assign failedChecks",
                      {
                        "type": "setDeadline",
                        "params": 5000
                      }
                    ]
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked, and did not say. The run is given up. What still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ]
              }
            },
            "missing": {
              "description": "The host does not find the child session. It is asked again after a pause: only then that counts.",
              "entry": {
                "type": "setDeadline",
                "params": 5000
              },
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "settling",
                  "description": "Time has passed."
                },
                "HOST_ERROR": {
                  "description": "The host says that the child session met an error. It is looked into after the pause.",
                  "actions": "recordIdleHint"
                }
              }
            },
            "aborted": {
              "description": "The run was aborted: by a person, or because OpenCode ends. That shows within a moment.",
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
                  "target": "#cancelled",
                  "description": "Time has passed. OpenCode has not ended: a person stopped the run.",
                  "actions": "assign completedAt, nextDeadline"
                }
              }
            },
            "reclaiming": {
              "description": "The process that supervised the run is gone. The host is asked what became of the run meanwhile.",
              "entry": "enqueueActions",
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "reclaiming",
                  "reenter": true,
                  "description": "Time has passed."
                },
                "CHECKED_BUSY": {
                  "guard": "isCurrentCheck",
                  "target": "working",
                  "actions": "assign sendAttempts, failedChecks, missingSince, hostError",
                  "description": "The host was asked: the child is at work."
                },
                "CHECKED_ANSWERED": {
                  "guard": "isCurrentCheck",
                  "target": "#completed",
                  "actions": [
                    "recordEnd",
                    "assign result, resultRetrievedAt"
                  ],
                  "description": "The host was asked: the run is answered."
                },
                "CHECKED_FAILED": {
                  "guard": "isCurrentCheck",
                  "target": "#error",
                  "actions": [
                    "recordEnd",
                    {
                      "type": "recordError"
                    }
                  ],
                  "description": "The host was asked: the run failed."
                },
                "CHECKED_ABORTED": [
                  {
                    "guard": "isCurrentCheck and mayContinue",
                    "target": "launching",
                    "description": "The host was asked: the run was aborted. It was cut off, and goes on from the last step that was finished.",
                    "actions": "assign sendAttempts, failedChecks, interruptions, lastStepAt, abortedAt"
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked: the run was aborted. It was cut off, and is not continued.",
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
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ],
                "CHECKED_UNANSWERED": [
                  {
                    "guard": "isCurrentCheck and mayContinue",
                    "target": "launching",
                    "description": "The host was asked: nobody works on the run, and nothing answers it. It was cut off, and goes on from the last step that was finished.",
                    "actions": "assign sendAttempts, failedChecks, interruptions, lastStepAt, abortedAt"
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked: nobody works on the run, and nothing answers it. It was cut off, and is not continued.",
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
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ],
                "CHECKED_NOT_FOUND": {
                  "guard": "isCurrentCheck",
                  "description": "The host was asked, and did not find the child session. It is asked again after a pause.",
                  "actions": [
                    "recordNotFound",
                    {
                      "type": "setDeadline",
                      "params": 5000
                    }
                  ]
                },
                "CHECK_FAILED": [
                  {
                    "guard": "isCurrentCheck and failedChecksLeft",
                    "description": "The host was asked, and did not say. It is asked again after a pause.",
                    "actions": [
                      "assign failedChecks",
                      {
                        "type": "setDeadline",
                        "params": 5000
                      }
                    ]
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked, and did not say. The run is given up. What still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ]
              }
            },
            "stopping": {
              "tags": "stopping",
              "description": "The task was cancelled. Its session, and all below it, is being stopped.",
              "meta": {
                "refuses": {
                  "CANCEL": "is already being cancelled"
                }
              },
              "initial": "aborting",
              "on": {
                "SESSION_DELETED": {
                  "target": "#cancelled",
                  "actions": "recordEnd",
                  "description": "The child session was deleted: the host said so, or found it nowhere when it was asked again."
                },
                "ADOPTED": {
                  "target": ".aborting",
                  "description": "The process that supervised the task is gone; this one takes over. It goes on stopping the session."
                }
              },
              "states": {
                "aborting": {
                  "description": "The abort is on its way.",
                  "entry": [
                    "assign stopAttempts, nextDeadline",
                    {
                      "type": "emitEffect"
                    }
                  ],
                  "on": {
                    "STOPPED": {
                      "target": "#cancelled",
                      "actions": "recordEnd",
                      "description": "The child session, and all below it, has stopped."
                    },
                    "NOT_STOPPED": [
                      {
                        "guard": "stopAttemptsLeft",
                        "target": "pausing",
                        "description": "The child session did not stop."
                      },
                      {
                        "target": "#cancelled",
                        "description": "The child session did not stop. It was tried often enough; the task says why.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          }
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
        "resumed": {
          "id": "resumed",
          "description": "A follow-up prompt is being worked on.",
          "meta": {
            "refuses": {
              "RESUME": "is currently being resumed"
            }
          },
          "initial": "queued",
          "on": {
            "CANCEL": {
              "guard": "notStopping",
              "target": ".stopping",
              "description": "The agent or a person wants the task stopped."
            },
            "SESSION_DELETED": {
              "target": "#error",
              "description": "The child session was deleted: the host said so, or found it nowhere when it was asked again. Its model works on until it is aborted.",
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
                {
                  "type": "emitEffect"
                }
              ]
            },
            "SUPERVISION_FAILED": {
              "target": "#error",
              "description": "A fault in the plugin: the run cannot be supervised any more. The run is given up. What still works on it is stopped.",
              "actions": [
                "recordEnd",
                {
                  "type": "recordError"
                },
                {
                  "type": "emitEffect"
                }
              ]
            },
            "ADOPTED": {
              "target": ".reclaiming",
              "actions": "assign",
              "description": "The process that supervised the task is gone; this one takes over."
            }
          },
          "states": {
            "queued": {
              "description": "The child session exists. The run waits for a slot.",
              "on": {
                "SLOT_GRANTED": {
                  "target": "prompting",
                  "description": "The run has a slot: permission to be working."
                },
                "ADOPTED": {
                  "description": "The process that supervised the task is gone; this one takes over. Nothing was sent yet: the run goes on waiting."
                },
                "CANCEL": {
                  "target": "#cancelled",
                  "description": "The agent or a person wants the task stopped. Nothing was sent yet: there is nothing to stop.",
                  "actions": "recordEnd"
                }
              }
            },
            "prompting": {
              "description": "The prompt is on its way to the host.",
              "entry": [
                "assign sendAttempts, idleHinted, missingSince, nextDeadline",
                {
                  "type": "emitEffect"
                }
              ],
              "on": {
                "PROMPT_ACCEPTED": [
                  {
                    "guard": "idleHinted",
                    "target": "settling",
                    "description": "The host took the prompt. It said idle or error before that."
                  },
                  {
                    "target": "working",
                    "description": "The host took the prompt."
                  }
                ],
                "PROMPT_REFUSED": [
                  {
                    "guard": "retryable and sendAttemptsLeft",
                    "target": "backingOff",
                    "description": "The host did not take the prompt."
                  },
                  {
                    "target": "#error",
                    "description": "The host did not take the prompt. The run is given up. What still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ],
                "SESSION_NOT_FOUND": {
                  "target": "missing",
                  "actions": "recordNotFound",
                  "description": "The host did not find the child session when it was sent the prompt."
                },
                "HOST_IDLE": {
                  "description": "The host says that the child session is idle. It is looked into once the prompt is accepted.",
                  "actions": "recordIdleHint"
                },
                "HOST_ERROR": {
                  "description": "The host says that the child session met an error. It is looked into once the prompt is accepted.",
                  "actions": "recordIdleHint"
                }
              }
            },
            "backingOff": {
              "description": "The prompt was refused, or lies unanswered. It is sent again, with the same ids, after a pause.",
              "entry": {
                "type": "setDeadline"
              },
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "prompting",
                  "description": "Time has passed."
                },
                "HOST_IDLE": {
                  "target": "settling",
                  "description": "The host says that the child session is idle."
                },
                "HOST_ERROR": {
                  "target": "settling",
                  "actions": "recordIdleHint",
                  "description": "The host says that the child session met an error."
                }
              }
            },
            "working": {
              "tags": "working",
              "description": "The child is at work.",
              "on": {
                "HOST_IDLE": {
                  "target": "settling",
                  "description": "The host says that the child session is idle."
                },
                "HOST_ERROR": {
                  "description": "The host says that the child session met an error. Idle should follow; if it does not, the host is asked after a moment.",
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
                  "target": "settling",
                  "description": "Time has passed."
                }
              }
            },
            "settling": {
              "description": "The child looks finished. Idle is a hint, not a fact: the host is asked how the run stands.",
              "entry": "enqueueActions",
              "on": {
                "HOST_IDLE": {
                  "target": "settling",
                  "reenter": true,
                  "description": "The host says that the child session is idle. It is asked anew."
                },
                "HOST_ERROR": {
                  "target": "settling",
                  "reenter": true,
                  "description": "The host says that the child session met an error. It is asked anew.",
                  "actions": "recordIdleHint"
                },
                "CHECKED_BUSY": {
                  "guard": "isCurrentCheck",
                  "target": "working",
                  "actions": "assign sendAttempts, failedChecks, missingSince, hostError",
                  "description": "The host was asked: the child is at work."
                },
                "CHECKED_ANSWERED": {
                  "guard": "isCurrentCheck",
                  "target": "#completed",
                  "actions": [
                    "recordEnd",
                    "assign result, resultRetrievedAt"
                  ],
                  "description": "The host was asked: the run is answered."
                },
                "CHECKED_FAILED": {
                  "guard": "isCurrentCheck",
                  "target": "#error",
                  "actions": [
                    "recordEnd",
                    {
                      "type": "recordError"
                    }
                  ],
                  "description": "The host was asked: the run failed."
                },
                "CHECKED_ABORTED": {
                  "guard": "isCurrentCheck",
                  "target": "aborted",
                  "description": "The host was asked: the run was aborted."
                },
                "CHECKED_NOT_FOUND": {
                  "guard": "isCurrentCheck",
                  "target": "missing",
                  "actions": "recordNotFound",
                  "description": "The host was asked, and did not find the child session."
                },
                "CHECKED_UNANSWERED": [
                  {
                    "guard": "isCurrentCheck and sendAttemptsLeft",
                    "target": "backingOff",
                    "description": "The host was asked: nobody works on the run, and nothing answers it. The prompt is sent again.",
                    "actions": "assign failedChecks"
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked: nobody works on the run, and nothing answers it. The run is given up. What still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ],
                "CHECK_FAILED": [
                  {
                    "guard": "isCurrentCheck and failedChecksLeft",
                    "target": "working",
                    "description": "The host was asked, and did not say. It is asked again after a pause.",
                    "actions": [
                      "assign failedChecks",
                      {
                        "type": "setDeadline",
                        "params": 5000
                      }
                    ]
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked, and did not say. The run is given up. What still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ]
              }
            },
            "missing": {
              "description": "The host does not find the child session. It is asked again after a pause: only then that counts.",
              "entry": {
                "type": "setDeadline",
                "params": 5000
              },
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "settling",
                  "description": "Time has passed."
                },
                "HOST_ERROR": {
                  "description": "The host says that the child session met an error. It is looked into after the pause.",
                  "actions": "recordIdleHint"
                }
              }
            },
            "aborted": {
              "description": "The run was aborted: by a person, or because OpenCode ends. That shows within a moment.",
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
                  "target": "#cancelled",
                  "description": "Time has passed. OpenCode has not ended: a person stopped the run.",
                  "actions": "assign completedAt, nextDeadline"
                }
              }
            },
            "reclaiming": {
              "description": "The process that supervised the run is gone. The host is asked what became of the run meanwhile.",
              "entry": "enqueueActions",
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "reclaiming",
                  "reenter": true,
                  "description": "Time has passed."
                },
                "CHECKED_BUSY": {
                  "guard": "isCurrentCheck",
                  "target": "working",
                  "actions": "assign sendAttempts, failedChecks, missingSince, hostError",
                  "description": "The host was asked: the child is at work."
                },
                "CHECKED_ANSWERED": {
                  "guard": "isCurrentCheck",
                  "target": "#completed",
                  "actions": [
                    "recordEnd",
                    "assign result, resultRetrievedAt"
                  ],
                  "description": "The host was asked: the run is answered."
                },
                "CHECKED_FAILED": {
                  "guard": "isCurrentCheck",
                  "target": "#error",
                  "actions": [
                    "recordEnd",
                    {
                      "type": "recordError"
                    }
                  ],
                  "description": "The host was asked: the run failed."
                },
                "CHECKED_ABORTED": [
                  {
                    "guard": "isCurrentCheck and mayContinue",
                    "target": "prompting",
                    "description": "The host was asked: the run was aborted. It was cut off, and goes on from the last step that was finished.",
                    "actions": "assign sendAttempts, failedChecks, interruptions, lastStepAt, abortedAt"
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked: the run was aborted. It was cut off, and is not continued.",
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
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ],
                "CHECKED_UNANSWERED": [
                  {
                    "guard": "isCurrentCheck and mayContinue",
                    "target": "prompting",
                    "description": "The host was asked: nobody works on the run, and nothing answers it. It was cut off, and goes on from the last step that was finished.",
                    "actions": "assign sendAttempts, failedChecks, interruptions, lastStepAt, abortedAt"
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked: nobody works on the run, and nothing answers it. It was cut off, and is not continued.",
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
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ],
                "CHECKED_NOT_FOUND": {
                  "guard": "isCurrentCheck",
                  "description": "The host was asked, and did not find the child session. It is asked again after a pause.",
                  "actions": [
                    "recordNotFound",
                    {
                      "type": "setDeadline",
                      "params": 5000
                    }
                  ]
                },
                "CHECK_FAILED": [
                  {
                    "guard": "isCurrentCheck and failedChecksLeft",
                    "description": "The host was asked, and did not say. It is asked again after a pause.",
                    "actions": [
                      "assign failedChecks",
                      {
                        "type": "setDeadline",
                        "params": 5000
                      }
                    ]
                  },
                  {
                    "guard": "isCurrentCheck",
                    "target": "#error",
                    "description": "The host was asked, and did not say. The run is given up. What still works on it is stopped.",
                    "actions": [
                      "recordEnd",
                      {
                        "type": "recordError"
                      },
                      {
                        "type": "emitEffect"
                      }
                    ]
                  }
                ]
              }
            },
            "stopping": {
              "tags": "stopping",
              "description": "The task was cancelled. Its session, and all below it, is being stopped.",
              "meta": {
                "refuses": {
                  "CANCEL": "is already being cancelled"
                }
              },
              "initial": "aborting",
              "on": {
                "SESSION_DELETED": {
                  "target": "#cancelled",
                  "actions": "recordEnd",
                  "description": "The child session was deleted: the host said so, or found it nowhere when it was asked again."
                },
                "ADOPTED": {
                  "target": ".aborting",
                  "description": "The process that supervised the task is gone; this one takes over. It goes on stopping the session."
                }
              },
              "states": {
                "aborting": {
                  "description": "The abort is on its way.",
                  "entry": [
                    "assign stopAttempts, nextDeadline",
                    {
                      "type": "emitEffect"
                    }
                  ],
                  "on": {
                    "STOPPED": {
                      "target": "#cancelled",
                      "actions": "recordEnd",
                      "description": "The child session, and all below it, has stopped."
                    },
                    "NOT_STOPPED": [
                      {
                        "guard": "stopAttemptsLeft",
                        "target": "pausing",
                        "description": "The child session did not stop."
                      },
                      {
                        "target": "#cancelled",
                        "description": "The child session did not stop. It was tried often enough; the task says why.",
                        "actions": [
                          "recordEnd",
                          {
                            "type": "recordError"
                          }
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
        "completed": {
          "id": "completed",
          "description": "The newest run was answered.",
          "meta": {
            "refuses": {
              "CANCEL": "has already finished (completed)"
            }
          },
          "entry": "raise RUN_ENDED",
          "on": {
            "RESULT_READ": {
              "actions": "assign resultRetrievedAt",
              "description": "The result was read."
            },
            "RESUME": {
              "guard": "in #told and not waitedFor",
              "target": "resumed",
              "actions": "assign",
              "description": "A follow-up prompt begins the next run."
            }
          }
        },
        "error": {
          "id": "error",
          "description": "The newest run failed.",
          "meta": {
            "refuses": {
              "CANCEL": "has already finished (error)",
              "RESUME": "only completed tasks can be resumed (this one is error)"
            }
          },
          "entry": "raise RUN_ENDED",
          "on": {
            "RESULT_READ": {
              "actions": "assign resultRetrievedAt",
              "description": "The result was read."
            }
          }
        },
        "cancelled": {
          "id": "cancelled",
          "description": "The newest run was stopped, by the agent or by a person.",
          "meta": {
            "refuses": {
              "CANCEL": "has already finished (cancelled)",
              "RESUME": "only completed tasks can be resumed (this one is cancelled)"
            }
          },
          "entry": "raise RUN_ENDED",
          "on": {
            "RESULT_READ": {
              "actions": "assign resultRetrievedAt",
              "description": "The result was read."
            }
          }
        }
      }
    },
    "notice": {
      "description": "What is owed to the parent about the newest run.",
      "initial": "none",
      "on": {
        "WAIT_BEGAN": {
          "actions": "addWaiter",
          "description": "A tool call waits for the run's end, in order to tell it."
        },
        "WAIT_ABANDONED": {
          "guard": "isWaiter",
          "actions": "removeWaiter",
          "description": "A tool call waits no longer, and has told nothing."
        },
        "WAIT_DELIVERED": {
          "guard": "isWaiter",
          "actions": "removeWaiter",
          "description": "A tool call's answer told the parent of the run's end."
        }
      },
      "states": {
        "none": {
          "id": "told",
          "description": "Nothing is owed to the parent.",
          "on": {
            "RUN_ENDED": [
              {
                "guard": "waitedFor",
                "target": "held",
                "description": "The lifecycle ended the run. It raises this for the other regions. A tool call waits for it.",
                "actions": "recordRunResult"
              },
              {
                "target": "due",
                "actions": "recordRunResult",
                "description": "The lifecycle ended the run. It raises this for the other regions."
              }
            ]
          }
        },
        "held": {
          "meta": {
            "refuses": {
              "RESUME": "has an end that is still being told"
            }
          },
          "description": "The run has ended, and a tool call waits for it. That call's answer will tell the parent.",
          "on": {
            "WAIT_DELIVERED": {
              "guard": "isWaiter",
              "target": "none",
              "actions": "removeWaiter",
              "description": "A tool call's answer told the parent of the run's end."
            },
            "WAIT_ABANDONED": {
              "guard": "isWaiter and isOnlyWaiter",
              "target": "due",
              "description": "A tool call waits no longer, and has told nothing. It was the last one.",
              "actions": "removeWaiter"
            }
          }
        },
        "due": {
          "meta": {
            "refuses": {
              "RESUME": "has an end that is still being told"
            }
          },
          "description": "The parent is owed the run's end.",
          "entry": "enqueueActions",
          "on": {
            "NOTICE_COMPOSED": {
              "target": "sending",
              "description": "A prompt to the parent carries the notice."
            },
            "NOTICE_DROPPED": {
              "target": "none",
              "description": "Nobody is left to tell."
            },
            "ADOPTED": {
              "target": "due",
              "reenter": true,
              "description": "The process that supervised the task is gone; this one takes over. Its outbox is told once more."
            },
            "WAIT_BEGAN": {
              "target": "held",
              "description": "A tool call waits for the run's end, in order to tell it. The notice is not formed yet, and is withdrawn.",
              "actions": [
                "addWaiter",
                {
                  "type": "emitEffect"
                }
              ]
            }
          }
        },
        "sending": {
          "meta": {
            "refuses": {
              "RESUME": "has an end that is still being told"
            }
          },
          "description": "The notice is part of a prompt to the parent. Its words and ids are fixed.",
          "on": {
            "NOTICE_ACKNOWLEDGED": {
              "target": "none",
              "description": "The parent was told of the run's end."
            },
            "NOTICE_DROPPED": {
              "target": "none",
              "description": "Nobody is left to tell."
            },
            "ADOPTED": {
              "guard": "noNoticePending",
              "target": "due",
              "description": "The process that supervised the task is gone; this one takes over. The prompt went with the process that is gone."
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
          "actions": "assign userRequests, staleSince",
          "description": "The lifecycle ended the run. It raises this for the other regions."
        },
        "ADOPTED": {
          "target": ".none",
          "description": "The process that supervised the task is gone; this one takes over. What was asked went with the process that is gone.",
          "actions": "assign userRequests, staleSince"
        }
      },
      "states": {
        "none": {
          "description": "Nothing holds the task up.",
          "on": {
            "REQUEST_ASKED": [
              {
                "guard": "live and newQuestion",
                "target": "#awaitingUser.question",
                "actions": "addUserRequest",
                "description": "The child asks a person for a permission, or a question."
              },
              {
                "guard": "live and newRequest",
                "target": "#awaitingUser.permission",
                "actions": "addUserRequest",
                "description": "The child asks a person for a permission, or a question."
              }
            ],
            "BECAME_STALE": {
              "guard": "live",
              "target": "stale",
              "description": "The child has not been heard of for `staleAfter` milliseconds."
            }
          }
        },
        "stale": {
          "description": "The child has not been heard of for a while.",
          "entry": "assign staleSince",
          "exit": "assign staleSince",
          "on": {
            "REQUEST_ASKED": [
              {
                "guard": "live and newQuestion",
                "target": "#awaitingUser.question",
                "actions": "addUserRequest",
                "description": "The child asks a person for a permission, or a question."
              },
              {
                "guard": "live and newRequest",
                "target": "#awaitingUser.permission",
                "actions": "addUserRequest",
                "description": "The child asks a person for a permission, or a question."
              }
            ],
            "ACTIVITY_SEEN": {
              "target": "none",
              "description": "The child gave a sign of life."
            }
          }
        },
        "awaitingUser": {
          "id": "awaitingUser",
          "description": "The child asks something that only a person can answer. The oldest request is shown first.",
          "initial": "permission",
          "on": {
            "REQUEST_ASKED": {
              "guard": "newRequest",
              "description": "The child asks a person for a permission, or a question. It waits for its turn.",
              "actions": "addUserRequest"
            },
            "REQUEST_ANSWERED": [
              {
                "guard": "onlyRequest",
                "target": "none",
                "description": "A request of the child was answered. It was the only one.",
                "actions": "removeUserRequest"
              },
              {
                "guard": "openRequest and questionNext",
                "target": ".question",
                "description": "A request of the child was answered. A question is next.",
                "actions": "removeUserRequest"
              },
              {
                "guard": "openRequest and not questionNext",
                "target": ".permission",
                "description": "A request of the child was answered. A permission is next.",
                "actions": "removeUserRequest"
              }
            ]
          },
          "states": {
            "permission": {
              "description": "It asks for a permission."
            },
            "question": {
              "description": "It asks a question."
            }
          }
        }
      }
    }
  }
});
