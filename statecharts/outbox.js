import { createMachine } from "xstate";

export const outbox = createMachine({
  "id": "outbox",
  "description": "The notices owed to one parent session: one prompt at a time, composed once, sent until the parent answers it.",
  "type": "parallel",
  "on": {
    "NOTICE_DUE": {
      "guard": "isNew",
      "actions": "enqueue",
      "description": "The parent is owed the notice of a run."
    },
    "ADOPTED": {
      "actions": "adoptPrompts",
      "description": "A process with prompts to this parent under way has ended: this outbox takes them over."
    },
    "PARENT_STORED": {
      "guard": "isCurrentPrompt",
      "actions": "assign storedAt",
      "description": "OpenCode has stored a user message in the parent."
    },
    "WITHDRAW": {
      "actions": "withdraw",
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
          "guard": "answersPrompt",
          "description": "The parent's model begins to answer a message. It has read the prompt.",
          "target": "#idle",
          "actions": [
            "showToasts",
            "assign prompt",
            "noticeAcknowledged",
            "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt"
          ]
        }
      },
      "states": {
        "idle": {
          "id": "idle",
          "description": "Nothing is owed, and nothing is under way.",
          "always": [
            {
              "guard": "hasAdopted",
              "target": "#checking",
              "description": "A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
              "actions": "takeAdoptedPrompt"
            },
            {
              "guard": "wakesParent",
              "target": "#gathering",
              "description": "The parent is to be notified."
            },
            {
              "guard": "hasQueued",
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
                "checkBatches",
                {
                  "type": "setDeadline",
                  "params": 15000
                }
              ],
              "exit": "clearDeadline",
              "always": [
                {
                  "guard": "hasAdopted",
                  "target": "#checking",
                  "description": "A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
                  "actions": "takeAdoptedPrompt"
                },
                {
                  "guard": "wakesParent",
                  "target": "#gathering",
                  "description": "The parent is to be notified."
                },
                {
                  "guard": "not hasQueued",
                  "target": "#idle",
                  "description": "Nothing is owed any more.",
                  "actions": "startAfresh"
                }
              ],
              "on": {
                "NOTICE_DUE": {
                  "guard": "isNew",
                  "target": "holding",
                  "reenter": true,
                  "actions": "enqueue",
                  "description": "The parent is owed the notice of a run."
                },
                "WITHDRAW": {
                  "target": "holding",
                  "reenter": true,
                  "actions": "withdraw",
                  "description": "The parent gets the result of a run in another way, or its task is gone."
                },
                "BATCHES_CHECKED": {
                  "actions": "markEnded",
                  "description": "It is known which batches have no running task any more."
                },
                "TICK": {
                  "guard": "due",
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
                  "guard": "hasAdopted",
                  "target": "#checking",
                  "description": "A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
                  "actions": "takeAdoptedPrompt"
                },
                {
                  "guard": "not hasQueued",
                  "target": "#idle",
                  "description": "Nothing is owed any more.",
                  "actions": "startAfresh"
                },
                {
                  "guard": "not wakesParent",
                  "target": "holding",
                  "description": "What was to wake the parent is not owed any more."
                },
                {
                  "guard": "isOpen",
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
                "assign queuedBefore",
                "readParent"
              ],
              "on": {
                "PARENT_NOT_FOUND": {
                  "target": "#missing",
                  "description": "OpenCode did not find the parent session."
                },
                "PARENT_READ": [
                  {
                    "guard": "isSetAside",
                    "target": "#setAside",
                    "description": "The parent's agent and model are known. A person has taken back messages of it, or archived it.",
                    "actions": "reportSetAside"
                  },
                  {
                    "guard": "hasPrompt and isOpen",
                    "target": "#sending",
                    "description": "The parent's agent and model are known. The prompt is composed already.",
                    "actions": "assign room, sender"
                  },
                  {
                    "guard": "hasPrompt",
                    "target": "#resending",
                    "description": "The parent's agent and model are known. It can no longer be sent a prompt."
                  },
                  {
                    "guard": "hasAdopted",
                    "target": "#checking",
                    "description": "The parent's agent and model are known. A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
                    "actions": "takeAdoptedPrompt"
                  },
                  {
                    "guard": "moreMayEnd",
                    "target": "reading",
                    "reenter": true,
                    "description": "The parent's agent and model are known. Runs ended meanwhile, and others have not yet: they may be about to.",
                    "actions": "assign readsAgain"
                  },
                  {
                    "guard": "lacksRoom",
                    "target": "reading",
                    "reenter": true,
                    "description": "The parent's agent and model are known. More came to be owed meanwhile: it is to be known how much its model has room for."
                  },
                  {
                    "guard": "wakesParent and isOpen",
                    "target": "composing",
                    "actions": "assign room, sender",
                    "description": "The parent's agent and model are known."
                  },
                  {
                    "target": "#gathering",
                    "description": "The parent's agent and model are known. It can no longer be sent a prompt, or is owed nothing."
                  }
                ],
                "READ_FAILED": {
                  "target": "#backingOff",
                  "actions": "assign attempts",
                  "description": "The parent's agent and model could not be read."
                }
              }
            },
            "composing": {
              "description": "The prompt is written for all notices that are owed: its text, counts and ids.",
              "entry": "composeNotice",
              "on": {
                "COMPOSE_FAILED": {
                  "target": "#backingOff",
                  "actions": "assign attempts",
                  "description": "The prompt could not be composed."
                },
                "COMPOSED": {
                  "target": "#sending",
                  "actions": [
                    "noticeComposed",
                    "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt, queue"
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
                "assign attempts",
                "assign refusal",
                "sendNotice"
              ],
              "on": {
                "PARENT_ERROR": {
                  "description": "OpenCode reports that the parent's own work failed or was aborted. The prompt may be the cause: the error counts if the prompt stays unanswered.",
                  "actions": "assign refusal"
                },
                "PARENT_NOT_FOUND": {
                  "target": "#missing",
                  "actions": "assign refusal",
                  "description": "OpenCode did not find the parent session."
                },
                "SENT": {
                  "guard": "isCurrentPrompt",
                  "target": "awaiting",
                  "actions": [
                    "showToasts",
                    "assign prompt",
                    "assign notFoundCount, sentAt"
                  ],
                  "description": "OpenCode accepted the prompt."
                },
                "SEND_REFUSED": [
                  {
                    "guard": "isCurrentPrompt and retryable",
                    "target": "backingOff",
                    "description": "OpenCode refused the prompt."
                  },
                  {
                    "guard": "isCurrentPrompt and refusalsLeft",
                    "target": "backingOff",
                    "description": "OpenCode refused the prompt. It is refused for good, perhaps because its agent no longer exists.",
                    "actions": "assign refusals"
                  },
                  {
                    "guard": "isCurrentPrompt",
                    "target": "#idle",
                    "description": "OpenCode refused the prompt. It was refused too often: the person is notified.",
                    "actions": [
                      "noticeRejected",
                      "noticeDropped",
                      "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt"
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
              "exit": "clearDeadline",
              "on": {
                "PARENT_ERROR": {
                  "description": "OpenCode reports that the parent's own work failed or was aborted. The prompt may be the cause: the error counts if the prompt stays unanswered.",
                  "actions": "assign refusal"
                },
                "PARENT_IDLE": {
                  "description": "OpenCode reports that the parent is idle. It should have begun to answer: OpenCode is asked after a moment.",
                  "actions": {
                    "type": "setDeadline",
                    "params": 500
                  }
                },
                "TICK": {
                  "guard": "due",
                  "target": "checking",
                  "description": "Time has passed."
                }
              }
            },
            "checking": {
              "id": "checking",
              "description": "OpenCode is asked whether the parent has begun to answer the prompt.",
              "entry": "checkNotice",
              "on": {
                "PARENT_ERROR": {
                  "description": "OpenCode reports that the parent's own work failed or was aborted. The prompt may be the cause: the error counts if the prompt stays unanswered.",
                  "actions": "assign refusal"
                },
                "CHECKED": [
                  {
                    "guard": "isCurrentPrompt and answered",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It has begun.",
                    "target": "#idle",
                    "actions": [
                      "showToasts",
                      "assign prompt",
                      "noticeAcknowledged",
                      "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt"
                    ]
                  },
                  {
                    "guard": "isCurrentPrompt and pending",
                    "target": "awaiting",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It is about to begin.",
                    "actions": [
                      "assign attempts",
                      "assign storedAt"
                    ]
                  },
                  {
                    "guard": "isCurrentPrompt and stopped",
                    "target": "stopped",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. A person stopped the turn that was to.",
                    "actions": [
                      "assign storedAt",
                      "assign stoppedAt"
                    ]
                  },
                  {
                    "guard": "isCurrentPrompt and refused and refusalsLeft",
                    "target": "resending",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It has not, and an error was reported: the prompt is sent again, perhaps without the agent.",
                    "actions": "assign refusals"
                  },
                  {
                    "guard": "isCurrentPrompt and refused",
                    "target": "#idle",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It was refused too often: the person is notified.",
                    "actions": [
                      "noticeRejected",
                      "noticeDropped",
                      "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, prompt"
                    ]
                  },
                  {
                    "guard": "isCurrentPrompt",
                    "target": "resending",
                    "description": "OpenCode says whether the parent has begun to answer the prompt. It has not: the prompt is sent again.",
                    "actions": "assign refusals"
                  }
                ],
                "CHECK_FAILED": {
                  "guard": "isCurrentPrompt",
                  "target": "awaiting",
                  "description": "OpenCode was asked, and did not answer. It is asked again after a pause.",
                  "actions": "assign attempts"
                }
              }
            },
            "stopped": {
              "description": "A person stopped the parent's turn before its model had read the prompt. The prompt is in the conversation: it is read in the next turn, and starts none.",
              "entry": [
                "assign looks, nextDeadline",
                "checkBatches"
              ],
              "exit": "clearDeadline",
              "always": {
                "guard": "wakesSinceStop",
                "target": "resending",
                "description": "A later notice wakes the parent."
              },
              "on": {
                "NOTICE_DUE": {
                  "guard": "isNew",
                  "actions": [
                    "enqueue",
                    "checkBatches"
                  ],
                  "description": "The parent is owed the notice of a run."
                },
                "BATCHES_CHECKED": {
                  "actions": "markEnded",
                  "description": "It is known which batches have no running task any more."
                },
                "PARENT_BUSY": {
                  "target": "awaiting",
                  "description": "OpenCode reports that the parent is at work. A turn begins, in which the prompt is read."
                },
                "TICK": {
                  "guard": "due",
                  "target": "checking",
                  "description": "Time has passed. It is looked at again."
                }
              }
            },
            "resending": {
              "id": "resending",
              "description": "The prompt is to be sent again. It waits until the parent can be sent one.",
              "always": {
                "guard": "isOpen",
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
              "exit": "clearDeadline",
              "on": {
                "TICK": {
                  "guard": "due",
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
                "guard": "hasPrompt",
                "target": "#checking",
                "description": "The parent launches a task: it exists, whatever closed its outbox. The prompt may have arrived already."
              },
              {
                "target": "#gathering",
                "description": "The parent launches a task: it exists, whatever closed its outbox."
              }
            ]
          },
          "states": {
            "missing": {
              "id": "missing",
              "description": "OpenCode does not find the parent. This may pass: nothing is sent, and nothing is removed.",
              "entry": [
                "assign notFoundCount",
                {
                  "type": "setDeadline"
                }
              ],
              "exit": "clearDeadline",
              "on": {
                "TICK": {
                  "guard": "due",
                  "target": "searching",
                  "description": "Time has passed."
                }
              }
            },
            "searching": {
              "description": "OpenCode is asked for the parent again, and for all its sessions. A parent found in neither is gone.",
              "entry": "findParent",
              "on": {
                "PARENT_FOUND": [
                  {
                    "guard": "hasPrompt",
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
          "description": "A person has taken back messages of the parent, which any prompt would delete for good, or has archived it. Nothing is sent until a person uses it again.",
          "entry": "assign looks, nextDeadline",
          "exit": "clearDeadline",
          "always": {
            "guard": "not hasPrompt and not hasQueued",
            "target": "#idle",
            "description": "Nothing is owed any more.",
            "actions": "startAfresh"
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
              "guard": "not isCurrentPrompt",
              "target": "#reading",
              "description": "OpenCode has stored a user message in the parent. A person writes to it."
            },
            "TICK": {
              "guard": "due",
              "target": "#reading",
              "description": "Time has passed. It is looked at again."
            }
          }
        },
        "closed": {
          "description": "The parent session was deleted, or stopped for good. Notices can no longer be delivered.",
          "entry": [
            "noticeDropped",
            "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, queue, prompt, adoptedPrompts"
          ],
          "on": {
            "NOTICE_DUE": {
              "description": "The parent is owed the notice of a run. It cannot be delivered.",
              "actions": [
                "enqueue",
                "noticeDropped",
                "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, queue, prompt, adoptedPrompts"
              ]
            },
            "ADOPTED": {
              "description": "A process with prompts to this parent under way has ended: this outbox takes them over. They cannot be delivered.",
              "actions": [
                "adoptPrompts",
                "noticeDropped",
                "assign readsAgain, attempts, looks, notFoundCount, refusals, refusal, sentAt, storedAt, stoppedAt, queue, prompt, adoptedPrompts"
              ]
            },
            "PARENT_PRESENT": {
              "target": "#idle",
              "description": "The parent launches a task: it exists, whatever closed its outbox."
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
          "entry": "assign parentReadyAt",
          "exit": "assign parentReadyAt",
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
              "guard": "parentReady",
              "target": "open",
              "description": "Time has passed."
            }
          }
        }
      }
    }
  }
});
