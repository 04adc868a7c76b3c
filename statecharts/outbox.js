import { createMachine } from "xstate";

export const outbox = createMachine({
  "id": "outbox",
  "description": "The notices owed to one parent session: one prompt at a time, formed once, sent until it is taken up.",
  "type": "parallel",
  "on": {
    "NOTICE_DUE": {
      "guard": "isNew",
      "actions": "enqueue",
      "description": "A run has ended, and the parent is owed its notice."
    },
    "ADOPTED": {
      "actions": "adoptPrompts",
      "description": "The process that had prompts to this parent under way is gone: they go on from here."
    },
    "PARENT_STORED": {
      "guard": "isCurrentPrompt",
      "actions": "assign storedAt",
      "description": "The host has stored a user message in the parent."
    },
    "WITHDRAW": {
      "actions": "withdraw",
      "description": "The parent learned of a run's end in another way."
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
      "description": "What becomes of the notices that are owed.",
      "initial": "idle",
      "states": {
        "idle": {
          "description": "Nothing is owed, and nothing is under way.",
          "always": [
            {
              "guard": "hasAdopted",
              "target": "checking",
              "description": "A prompt was taken over. It may have been sent, and answered, before: the host is asked first.",
              "actions": "takeAdoptedPrompt"
            },
            {
              "guard": "hasQueued",
              "target": "gathering",
              "description": "Something is owed."
            }
          ],
          "on": {
            "PARENT_NOT_FOUND": {
              "target": "missing",
              "description": "The host did not find the parent session."
            }
          }
        },
        "gathering": {
          "description": "Something is owed. It waits until the parent can take it.",
          "always": [
            {
              "guard": "hasAdopted",
              "target": "checking",
              "description": "A prompt was taken over. It may have been sent, and answered, before: the host is asked first.",
              "actions": "takeAdoptedPrompt"
            },
            {
              "guard": "not hasQueued",
              "target": "idle",
              "description": "Nothing is owed any more."
            },
            {
              "guard": "in #open",
              "target": "reading",
              "description": "The parent can take a prompt."
            }
          ],
          "on": {
            "PARENT_NOT_FOUND": {
              "target": "missing",
              "description": "The host did not find the parent session."
            }
          }
        },
        "reading": {
          "description": "The parent's agent and model are read. What else ends meanwhile goes into the same prompt.",
          "entry": [
            "clearDeadline",
            {
              "type": "emitEffect"
            }
          ],
          "on": {
            "PARENT_ANSWERED": {
              "guard": "answersPrompt",
              "description": "The parent's model answers a message. It was shown the prompt.",
              "target": "idle",
              "actions": [
                "enqueueActions",
                "enqueueActions"
              ]
            },
            "PARENT_NOT_FOUND": {
              "target": "missing",
              "description": "The host did not find the parent session."
            },
            "PARENT_READ": [
              {
                "guard": "hasPrompt",
                "target": "sending",
                "description": "The parent's agent and model are known. The prompt is formed already.",
                "actions": "assign sender"
              },
              {
                "guard": "hasQueued and in #open",
                "target": "composing",
                "actions": "assign sender",
                "description": "The parent's agent and model are known."
              },
              {
                "target": "gathering",
                "description": "The parent's agent and model are known. It cannot take a prompt any more, or is owed nothing."
              }
            ],
            "READ_FAILED": {
              "target": "backingOff",
              "actions": "assign attempts, nextDeadline",
              "description": "The parent's agent and model could not be read."
            }
          }
        },
        "composing": {
          "description": "Words, counts and ids are found for everything that is owed.",
          "entry": {
            "type": "emitEffect"
          },
          "on": {
            "COMPOSE_FAILED": {
              "target": "backingOff",
              "actions": "assign attempts, nextDeadline",
              "description": "The prompt could not be formed."
            },
            "COMPOSED": {
              "target": "sending",
              "actions": [
                {
                  "type": "emitEffect"
                },
                "assign attempts, notFoundCount, refusals, refusal, storedAt, prompt, queue"
              ],
              "description": "The prompt has its words and ids."
            }
          }
        },
        "sending": {
          "description": "The prompt is on its way to the parent.",
          "entry": [
            "assign attempts, nextDeadline",
            "assign refusal",
            "enqueueActions"
          ],
          "on": {
            "PARENT_ANSWERED": {
              "guard": "answersPrompt",
              "description": "The parent's model answers a message. It was shown the prompt.",
              "target": "idle",
              "actions": [
                "enqueueActions",
                "enqueueActions"
              ]
            },
            "PARENT_ERROR": {
              "description": "The host says that a run of the parent failed or was aborted. It may be the prompt's fault: that counts if it stays unanswered.",
              "actions": "assign refusal"
            },
            "PARENT_NOT_FOUND": {
              "target": "missing",
              "actions": "assign refusal",
              "description": "The host did not find the parent session."
            },
            "SENT": {
              "guard": "isCurrentPrompt",
              "target": "awaiting",
              "actions": [
                "enqueueActions",
                "assign notFoundCount"
              ],
              "description": "The host took the prompt."
            },
            "SEND_REFUSED": [
              {
                "guard": "isCurrentPrompt and retryable",
                "target": "backingOff",
                "description": "The host did not take the prompt."
              },
              {
                "guard": "isCurrentPrompt and refusalsLeft",
                "target": "backingOff",
                "description": "The host did not take the prompt. For good, it says. It may be for an agent that is no more.",
                "actions": "assign refusals"
              },
              {
                "guard": "isCurrentPrompt",
                "target": "idle",
                "description": "The host did not take the prompt. It was refused often enough: the person is told.",
                "actions": "enqueueActions"
              }
            ]
          }
        },
        "awaiting": {
          "description": "The host took the prompt. The parent has not begun to answer it.",
          "entry": {
            "type": "setDeadline"
          },
          "on": {
            "PARENT_ANSWERED": {
              "guard": "answersPrompt",
              "description": "The parent's model answers a message. It was shown the prompt.",
              "target": "idle",
              "actions": [
                "enqueueActions",
                "enqueueActions"
              ]
            },
            "PARENT_NOT_FOUND": {
              "target": "missing",
              "description": "The host did not find the parent session."
            },
            "PARENT_ERROR": {
              "description": "The host says that a run of the parent failed or was aborted. It may be the prompt's fault: that counts if it stays unanswered.",
              "actions": "assign refusal"
            },
            "PARENT_IDLE": {
              "description": "The host says that the parent is idle. It should have begun to answer: the host is asked after a moment.",
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
          "description": "The host is asked whether the prompt was taken up.",
          "entry": [
            "clearDeadline",
            "enqueueActions"
          ],
          "on": {
            "PARENT_ANSWERED": {
              "guard": "answersPrompt",
              "description": "The parent's model answers a message. It was shown the prompt.",
              "target": "idle",
              "actions": [
                "enqueueActions",
                "enqueueActions"
              ]
            },
            "PARENT_NOT_FOUND": {
              "target": "missing",
              "description": "The host did not find the parent session."
            },
            "PARENT_ERROR": {
              "description": "The host says that a run of the parent failed or was aborted. It may be the prompt's fault: that counts if it stays unanswered.",
              "actions": "assign refusal"
            },
            "CHECKED": [
              {
                "guard": "isCurrentPrompt and answered",
                "description": "The host was asked whether the parent has taken the prompt up, and answered. It has.",
                "target": "idle",
                "actions": [
                  "enqueueActions",
                  "enqueueActions"
                ]
              },
              {
                "guard": "isCurrentPrompt and pending",
                "target": "awaiting",
                "description": "The host was asked whether the parent has taken the prompt up, and answered. It is about to.",
                "actions": [
                  "assign attempts, nextDeadline",
                  "assign storedAt"
                ]
              },
              {
                "guard": "isCurrentPrompt and refused and refusalsLeft",
                "target": "reading",
                "description": "The host was asked whether the parent has taken the prompt up, and answered. It has not, and an error was heard of: the prompt is sent again, perhaps without the agent.",
                "actions": "assign refusals"
              },
              {
                "guard": "isCurrentPrompt and refused",
                "target": "idle",
                "description": "The host was asked whether the parent has taken the prompt up, and answered. It was refused often enough: the person is told.",
                "actions": "enqueueActions"
              },
              {
                "guard": "isCurrentPrompt",
                "target": "reading",
                "description": "The host was asked whether the parent has taken the prompt up, and answered. It has not: the prompt is sent again.",
                "actions": "assign refusals"
              }
            ],
            "CHECK_FAILED": {
              "guard": "isCurrentPrompt",
              "target": "awaiting",
              "description": "The host was asked, and did not say. It is asked again after a pause."
            }
          }
        },
        "backingOff": {
          "description": "The host refused a call. It is tried again after a pause; a prompt keeps its ids.",
          "entry": {
            "type": "setDeadline"
          },
          "on": {
            "PARENT_ANSWERED": {
              "guard": "answersPrompt",
              "description": "The parent's model answers a message. It was shown the prompt.",
              "target": "idle",
              "actions": [
                "enqueueActions",
                "enqueueActions"
              ]
            },
            "PARENT_NOT_FOUND": {
              "target": "missing",
              "description": "The host did not find the parent session."
            },
            "TICK": {
              "guard": "due",
              "target": "reading",
              "description": "Time has passed."
            }
          }
        },
        "missing": {
          "description": "The host does not find the parent. Nothing is sent, and nothing is removed: that may pass.",
          "entry": [
            "assign notFoundCount",
            {
              "type": "setDeadline"
            }
          ],
          "on": {
            "PARENT_ANSWERED": {
              "guard": "answersPrompt",
              "description": "The parent's model answers a message. It was shown the prompt.",
              "target": "idle",
              "actions": [
                "enqueueActions",
                "enqueueActions"
              ]
            },
            "PARENT_PRESENT": [
              {
                "guard": "hasPrompt",
                "target": "checking",
                "description": "The parent launches a task: whatever closed its outbox, it is there. The prompt may have come through before."
              },
              {
                "target": "gathering",
                "description": "The parent launches a task: whatever closed its outbox, it is there."
              }
            ],
            "TICK": {
              "guard": "due",
              "target": "searching",
              "description": "Time has passed."
            }
          }
        },
        "searching": {
          "description": "The host is asked for the parent again, and for all its sessions: where it is in neither, it is gone.",
          "entry": [
            "clearDeadline",
            {
              "type": "emitEffect"
            }
          ],
          "on": {
            "PARENT_ANSWERED": {
              "guard": "answersPrompt",
              "description": "The parent's model answers a message. It was shown the prompt.",
              "target": "idle",
              "actions": [
                "enqueueActions",
                "enqueueActions"
              ]
            },
            "PARENT_PRESENT": [
              {
                "guard": "hasPrompt",
                "target": "checking",
                "description": "The parent launches a task: whatever closed its outbox, it is there. The prompt may have come through before."
              },
              {
                "target": "gathering",
                "description": "The parent launches a task: whatever closed its outbox, it is there."
              }
            ],
            "PARENT_FOUND": [
              {
                "guard": "hasPrompt",
                "target": "checking",
                "description": "The host was asked again: the parent session is there. The prompt may have come through before."
              },
              {
                "target": "gathering",
                "description": "The host was asked again: the parent session is there."
              }
            ],
            "SEARCH_FAILED": {
              "target": "missing",
              "description": "The host was asked again, and did not say."
            }
          }
        },
        "closed": {
          "description": "The parent session was deleted, or stopped for good. There is nobody to tell.",
          "entry": "enqueueActions",
          "on": {
            "NOTICE_DUE": {
              "description": "A run has ended, and the parent is owed its notice. Nobody is left to tell.",
              "actions": [
                "enqueue",
                "enqueueActions"
              ]
            },
            "ADOPTED": {
              "description": "The process that had prompts to this parent under way is gone: they go on from here. Nobody is left to tell.",
              "actions": [
                "adoptPrompts",
                "enqueueActions"
              ]
            },
            "PARENT_PRESENT": {
              "target": "idle",
              "description": "The parent launches a task: whatever closed its outbox, it is there."
            }
          }
        }
      }
    },
    "parent": {
      "description": "Whether the parent session can take a prompt.",
      "initial": "open",
      "states": {
        "open": {
          "id": "open",
          "description": "The parent can take a prompt, busy or idle.",
          "on": {
            "PARENT_ERROR": {
              "target": "coolingDown",
              "description": "The host says that a run of the parent failed or was aborted."
            }
          }
        },
        "coolingDown": {
          "description": "A run of the parent just failed or was aborted. What is sent now could get lost in it.",
          "entry": "assign parentReadyAt",
          "exit": "assign parentReadyAt",
          "on": {
            "PARENT_ERROR": {
              "target": "coolingDown",
              "reenter": true,
              "description": "The host says that a run of the parent failed or was aborted. The wait begins anew."
            },
            "PARENT_IDLE": {
              "target": "coolingDown",
              "reenter": true,
              "description": "The host says that the parent is idle. The wait begins anew."
            },
            "PARENT_BUSY": {
              "target": "open",
              "description": "The host says that the parent works."
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
