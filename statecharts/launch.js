import { createMachine } from "xstate";

export const launch = createMachine({
  "id": "launch",
  "description": "One launch: it makes what the task needs, and ends when the task begins, or when everything half made is removed.",
  "initial": "beginning",
  "states": {
    "beginning": {
      "description": "It is decided what comes first.",
      "always": [
        {
          "guard": "isLeft",
          "target": "leftBehind",
          "description": "Another launch has left something."
        },
        {
          "guard": "needsWorktree",
          "target": "preparing",
          "description": "The task gets a worktree of its own."
        },
        {
          "guard": "asksFleet",
          "target": "#askingFleet",
          "description": "This server is in a fleet."
        },
        {
          "guard": "not asksFleet",
          "target": "#waiting",
          "description": "Only a session is to be created."
        }
      ]
    },
    "preparing": {
      "description": "What the task needs is made: a worktree where it is to have one, and a session.",
      "initial": "makingWorktree",
      "on": {
        "CANCEL": {
          "target": "#awaitingAnswer",
          "description": "The calling turn was aborted, or its session stopped. A call that is under way cannot be taken back.",
          "actions": "recordStopped"
        },
        "FAULT": {
          "target": "#removingSession",
          "actions": "recordFault",
          "description": "A service threw, which is a fault of ours."
        },
        "CLOSE": {
          "target": "#closed",
          "description": "The plugin is disposed of: OpenCode can be asked nothing any more. What is stored of the session stays, for the next process.",
          "actions": [
            "recordStopped",
            "enqueueActions",
            {
              "type": "emitEffect"
            }
          ]
        }
      },
      "states": {
        "makingWorktree": {
          "id": "makingWorktree",
          "description": "A worktree is made for the task.",
          "entry": {
            "type": "emitEffect"
          },
          "on": {
            "WORKTREE_MADE": [
              {
                "guard": "asksFleet",
                "target": "askingFleet",
                "actions": "recordWorktree",
                "description": "The worktree is there."
              },
              {
                "target": "waiting",
                "actions": "recordWorktree",
                "description": "The worktree is there."
              }
            ],
            "WORKTREE_REFUSED": {
              "target": "#answering",
              "actions": "recordNoWorktree",
              "description": "No worktree could be made, and nothing is left of it."
            }
          }
        },
        "askingFleet": {
          "id": "askingFleet",
          "description": "It is decided whether other servers are offered the task.",
          "entry": {
            "type": "emitEffect"
          },
          "on": {
            "FLEET_ANSWERED": {
              "target": "waiting",
              "actions": "recordOffer",
              "description": "It is known whether the task is offered to the fleet."
            }
          }
        },
        "waiting": {
          "id": "waiting",
          "description": "The launch waits until few enough other sessions are being created.",
          "entry": {
            "type": "emitEffect"
          },
          "on": {
            "TURN_TAKEN": {
              "target": "creating",
              "actions": "recordPending",
              "description": "Few enough other sessions are being created."
            },
            "CANCEL": {
              "target": "#removingSession",
              "description": "The calling turn was aborted, or its session stopped. Nothing is under way.",
              "actions": "recordStopped"
            }
          }
        },
        "creating": {
          "description": "The session of the task is created, and prepared for its first prompt.",
          "initial": "requesting",
          "states": {
            "requesting": {
              "id": "requesting",
              "description": "OpenCode creates the session, or copies the caller's conversation.",
              "tags": "creating",
              "entry": "enqueueActions",
              "on": {
                "SESSION_CREATED": [
                  {
                    "guard": "isCopy",
                    "target": "cutting",
                    "actions": "recordSession",
                    "description": "OpenCode has created the session."
                  },
                  {
                    "guard": "isText",
                    "target": "#informing",
                    "actions": "recordSession",
                    "description": "OpenCode has created the session."
                  },
                  {
                    "target": "#starting",
                    "actions": "recordSession",
                    "description": "OpenCode has created the session."
                  }
                ],
                "CREATION_REFUSED": [
                  {
                    "guard": "isCopy",
                    "target": "readingConversation",
                    "description": "OpenCode refused to create the session: there is none. The agent gets the conversation as a text.",
                    "actions": [
                      "recordForkRefusal",
                      "enqueueActions",
                      "forgetSession"
                    ]
                  },
                  {
                    "target": "#removingSession",
                    "actions": [
                      "recordFailure",
                      "enqueueActions",
                      "forgetSession"
                    ],
                    "description": "OpenCode refused to create the session: there is none."
                  }
                ],
                "CREATION_UNCONFIRMED": [
                  {
                    "guard": "isCopy",
                    "target": "removingCopy",
                    "description": "OpenCode did not say whether it created the session: it may have, or may do so later. It cannot be used: it is not marked as ours, and may still be growing.",
                    "actions": "recordForkRefusal"
                  },
                  {
                    "target": "searching",
                    "actions": "recordUnconfirmed",
                    "description": "OpenCode did not say whether it created the session: it may have, or may do so later."
                  }
                ]
              }
            },
            "searching": {
              "description": "OpenCode did not say whether it created the session, so it is looked for.",
              "initial": "looking",
              "entry": "startCounting",
              "on": {
                "SESSION_FOUND": [
                  {
                    "guard": "isText",
                    "target": "#informing",
                    "actions": "recordSession",
                    "description": "OpenCode lists the session."
                  },
                  {
                    "target": "#starting",
                    "actions": "recordSession",
                    "description": "OpenCode lists the session."
                  }
                ],
                "FAULT": {
                  "target": "#removingSession",
                  "description": "A service threw, which is a fault of ours. Nothing was found."
                }
              },
              "states": {
                "looking": {
                  "id": "looking",
                  "description": "OpenCode is asked which sessions there are.",
                  "entry": [
                    "countTry",
                    "enqueueActions"
                  ],
                  "on": {
                    "SESSION_NOT_FOUND": [
                      {
                        "guard": "searchesLeft",
                        "target": "pausing",
                        "description": "OpenCode does not list the session, or did not answer."
                      },
                      {
                        "target": "#removingSession",
                        "description": "OpenCode does not list the session, or did not answer."
                      }
                    ]
                  }
                },
                "pausing": {
                  "description": "It may appear a moment later.",
                  "entry": {
                    "type": "setDeadline"
                  },
                  "exit": "clearDeadline",
                  "on": {
                    "TICK": {
                      "guard": "due",
                      "target": "looking",
                      "description": "Time has passed."
                    },
                    "CANCEL": {
                      "target": "#removingSession",
                      "description": "The calling turn was aborted, or its session stopped. Nothing is under way.",
                      "actions": "recordStopped"
                    }
                  }
                }
              }
            },
            "cutting": {
              "description": "The copy is marked as ours, and its conversation is shortened to the limits.",
              "tags": "creating",
              "entry": "enqueueActions",
              "on": {
                "COPY_CUT": {
                  "target": "informing",
                  "description": "The copied conversation is marked as ours, and short enough."
                },
                "PREPARATION_FAILED": {
                  "target": "#removingCopy",
                  "description": "OpenCode refused to prepare the session, which cannot be used. The agent gets the conversation as a text.",
                  "actions": "recordForkRefusal"
                }
              }
            },
            "informing": {
              "id": "informing",
              "description": "The agent is to read first that it has a conversation which may be incomplete.",
              "initial": "storing",
              "entry": "startCounting",
              "states": {
                "storing": {
                  "description": "OpenCode stores that message.",
                  "entry": [
                    "countTry",
                    "enqueueActions"
                  ],
                  "on": {
                    "PREAMBLE_STORED": {
                      "target": "#starting",
                      "description": "The message that the agent reads first is stored."
                    },
                    "PREAMBLE_NOT_STORED": [
                      {
                        "guard": "preamblesLeft",
                        "target": "pausing",
                        "description": "OpenCode does not show the message that the agent reads first."
                      },
                      {
                        "guard": "isCopy",
                        "target": "#removingCopy",
                        "description": "OpenCode does not show the message that the agent reads first. The agent gets the conversation as a text.",
                        "actions": "recordNoPreamble"
                      },
                      {
                        "target": "#removingSession",
                        "actions": "recordNoPreamble",
                        "description": "OpenCode does not show the message that the agent reads first."
                      }
                    ],
                    "PREPARATION_FAILED": [
                      {
                        "guard": "isCopy",
                        "target": "#removingCopy",
                        "description": "OpenCode refused to prepare the session, which cannot be used. The agent gets the conversation as a text.",
                        "actions": "recordForkRefusal"
                      },
                      {
                        "target": "#removingSession",
                        "actions": "recordFailure",
                        "description": "OpenCode refused to prepare the session, which cannot be used."
                      }
                    ]
                  }
                },
                "pausing": {
                  "description": "It is stored again, with the same ids, after a pause.",
                  "entry": {
                    "type": "setDeadline"
                  },
                  "exit": "clearDeadline",
                  "on": {
                    "TICK": {
                      "guard": "due",
                      "target": "storing",
                      "description": "Time has passed."
                    },
                    "CANCEL": {
                      "target": "#removingSession",
                      "description": "The calling turn was aborted, or its session stopped. Nothing is under way.",
                      "actions": "recordStopped"
                    }
                  }
                }
              }
            },
            "removingCopy": {
              "id": "removingCopy",
              "description": "The conversation could not be copied, and what there is of the copy is deleted.",
              "entry": "enqueueActions",
              "on": {
                "SESSIONS_REMOVED": {
                  "target": "readingConversation",
                  "actions": "forgetSession",
                  "description": "Nothing is left of the session."
                },
                "SESSIONS_LEFT": {
                  "target": "readingConversation",
                  "description": "The session was not deleted, or it is not known whether there is one. An actor of its own goes on with that.",
                  "actions": [
                    "recordLeft",
                    "enqueueActions",
                    "forgetSession"
                  ]
                }
              }
            },
            "readingConversation": {
              "description": "The conversation that could not be copied is read.",
              "entry": {
                "type": "emitEffect"
              },
              "on": {
                "CONVERSATION_READ": {
                  "target": "requesting",
                  "description": "The conversation is there as a text. A session of its own gets it.",
                  "actions": "turnIntoText"
                },
                "CONVERSATION_NOT_READ": {
                  "target": "#removingSession",
                  "actions": "recordFailure",
                  "description": "OpenCode did not return the conversation."
                }
              }
            }
          }
        }
      }
    },
    "starting": {
      "id": "starting",
      "description": "The session is ready, and the task's actor is started.",
      "entry": "enqueueActions",
      "on": {
        "TASK_STARTED": {
          "target": "started",
          "actions": "enqueueActions",
          "description": "The task's actor has started."
        },
        "NOT_SERVED": {
          "target": "#removingSession",
          "actions": "recordNotServed",
          "description": "OpenCode starts no plugin of ours in the worktree, so nobody would hear of the task's end."
        },
        "FAULT": {
          "target": "#removingSession",
          "actions": "recordFault",
          "description": "A service threw, which is a fault of ours."
        }
      }
    },
    "givingUp": {
      "description": "Nothing is launched: what was made is removed, and the caller is answered.",
      "initial": "removingSession",
      "on": {
        "CANCEL": {
          "description": "The calling turn was aborted, or its session stopped. The answer says so.",
          "actions": "recordStopped"
        },
        "CLOSE": {
          "target": "#closed",
          "description": "The plugin is disposed of: OpenCode can be asked nothing any more. What is stored of the session stays, for the next process.",
          "actions": [
            "recordStopped",
            "enqueueActions",
            {
              "type": "emitEffect"
            }
          ]
        }
      },
      "states": {
        "awaitingAnswer": {
          "id": "awaitingAnswer",
          "description": "A call is under way whose answer says what there is to remove.",
          "tags": "creating",
          "on": {
            "WORKTREE_MADE": {
              "target": "removingSession",
              "actions": "recordWorktree",
              "description": "The worktree is there."
            },
            "WORKTREE_REFUSED": {
              "target": "answering",
              "actions": "recordNoWorktree",
              "description": "No worktree could be made, and nothing is left of it."
            },
            "FLEET_ANSWERED": {
              "target": "removingSession",
              "description": "It is known whether the task is offered to the fleet. It made nothing that is not known."
            },
            "SESSION_CREATED": {
              "target": "removingSession",
              "actions": "recordSession",
              "description": "OpenCode has created the session."
            },
            "CREATION_REFUSED": {
              "target": "removingSession",
              "actions": [
                "enqueueActions",
                "forgetSession"
              ],
              "description": "OpenCode refused to create the session: there is none."
            },
            "CREATION_UNCONFIRMED": {
              "target": "removingSession",
              "description": "OpenCode did not say whether it created the session: it may have, or may do so later. It is looked for."
            },
            "SESSION_FOUND": {
              "target": "removingSession",
              "actions": "recordSession",
              "description": "OpenCode lists the session."
            },
            "SESSION_NOT_FOUND": {
              "target": "removingSession",
              "description": "OpenCode does not list the session, or did not answer. It is looked for once more."
            },
            "COPY_CUT": {
              "target": "removingSession",
              "description": "The copied conversation is marked as ours, and short enough. It made nothing that is not known."
            },
            "PREAMBLE_STORED": {
              "target": "removingSession",
              "description": "The message that the agent reads first is stored. It made nothing that is not known."
            },
            "PREAMBLE_NOT_STORED": {
              "target": "removingSession",
              "description": "OpenCode does not show the message that the agent reads first. It made nothing that is not known."
            },
            "PREPARATION_FAILED": {
              "target": "removingSession",
              "description": "OpenCode refused to prepare the session, which cannot be used. It made nothing that is not known."
            },
            "SESSIONS_REMOVED": {
              "target": "removingSession",
              "description": "Nothing is left of the session. The copy is gone.",
              "actions": "forgetSession"
            },
            "SESSIONS_LEFT": {
              "target": "removingWorktree",
              "description": "The session was not deleted, or it is not known whether there is one. The copy is left.",
              "actions": "recordLeft"
            },
            "CONVERSATION_READ": {
              "target": "removingSession",
              "description": "The conversation is there as a text. It made nothing that is not known."
            },
            "CONVERSATION_NOT_READ": {
              "target": "removingSession",
              "description": "OpenCode did not return the conversation. It made nothing that is not known."
            },
            "FAULT": {
              "target": "removingSession",
              "description": "A service threw, which is a fault of ours. It made nothing that is not known."
            }
          }
        },
        "removingSession": {
          "id": "removingSession",
          "description": "The session is deleted, or looked for where none is known.",
          "entry": "enqueueActions",
          "always": {
            "guard": "not mayHaveSession",
            "target": "removingWorktree",
            "description": "There is none."
          },
          "on": {
            "SESSIONS_REMOVED": {
              "target": "removingWorktree",
              "actions": "forgetSession",
              "description": "Nothing is left of the session."
            },
            "SESSIONS_LEFT": {
              "target": "removingWorktree",
              "description": "The session was not deleted, or it is not known whether there is one. The caller does not wait for it.",
              "actions": "recordLeft"
            }
          }
        },
        "removingWorktree": {
          "description": "The worktree that was made is removed.",
          "entry": "enqueueActions",
          "always": {
            "guard": "not hasMadeWorktree",
            "target": "answering",
            "description": "There is none."
          },
          "on": {
            "WORKTREE_REMOVED": {
              "target": "answering",
              "description": "Nothing is left of the worktree."
            },
            "FAULT": {
              "target": "answering",
              "actions": "recordFault",
              "description": "A service threw, which is a fault of ours."
            }
          }
        },
        "answering": {
          "id": "answering",
          "description": "The caller is answered.",
          "entry": {
            "type": "emitEffect"
          },
          "always": [
            {
              "guard": "mayHaveSession",
              "target": "#pausing",
              "description": "Its session is not deleted yet.",
              "actions": [
                "startCounting",
                "postponeRemoval"
              ]
            },
            {
              "guard": "not mayHaveSession",
              "target": "#refused",
              "description": "Nothing is left."
            }
          ]
        }
      }
    },
    "leftBehind": {
      "description": "Nobody waits any more. The session may still be there, or appear later: it is deleted as soon as it can be.",
      "initial": "pausing",
      "on": {
        "CLOSE": {
          "target": "#closed",
          "description": "The plugin is disposed of: OpenCode can be asked nothing any more. What is stored of the session stays, for the next process."
        }
      },
      "states": {
        "pausing": {
          "id": "pausing",
          "description": "Some time passes until the next attempt, more each time.",
          "exit": "clearDeadline",
          "on": {
            "TICK": {
              "guard": "due",
              "target": "removing",
              "description": "Time has passed."
            }
          }
        },
        "removing": {
          "description": "The session is deleted, or looked for where none is known.",
          "entry": "enqueueActions",
          "on": {
            "SESSIONS_REMOVED": {
              "target": "#removed",
              "description": "Nothing is left of the session."
            },
            "SESSIONS_LEFT": [
              {
                "guard": "isSearchedTooLong",
                "target": "#leftToNext",
                "actions": "enqueueActions",
                "description": "The session was not deleted, or it is not known whether there is one."
              },
              {
                "target": "pausing",
                "actions": [
                  "recordLeft",
                  "postponeRemoval"
                ],
                "description": "The session was not deleted, or it is not known whether there is one."
              }
            ]
          }
        }
      }
    },
    "started": {
      "type": "final",
      "description": "The task has begun, and its own chart goes on."
    },
    "refused": {
      "id": "refused",
      "type": "final",
      "description": "Nothing was launched, and nothing is left."
    },
    "removed": {
      "id": "removed",
      "type": "final",
      "description": "Nothing is left."
    },
    "leftToNext": {
      "id": "leftToNext",
      "type": "final",
      "description": "It is still not known whether there is a session: the next process looks again."
    },
    "closed": {
      "id": "closed",
      "type": "final",
      "description": "The plugin was disposed of."
    }
  }
});
