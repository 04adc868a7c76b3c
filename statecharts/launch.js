// The chart `launch` of opencode-taskchart, to be loaded and simulated by XState 5. `npm run statecharts` makes it.
//
//   import { createActor } from "xstate";
//   import { plainRun, launch } from "./launch.js";
//
//   const actor = createActor(launch).start();
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

import { createMachine, not } from "xstate";

export const answers = {
  "xstate.init": {"asksFleet":false,"needsWorktree":false,"isLeft":false},
  "SESSION_CREATED": {"isText":false,"isCopy":false},
};

const otherwise = {
  "isLeft": false,
  "needsWorktree": false,
  "asksFleet": false,
  "isCopy": false,
  "isText": false,
  "searchesLeft": false,
  "preamblesLeft": false,
  "mayHaveSession": false,
  "hasMadeWorktree": false,
  "isSearchedTooLong": false,
  "due": true,
};

const answering = (name) => ({ event }) =>
  event.guards?.[name] ?? answers[event.type]?.[name] ?? otherwise[name];

export const plainRun = [
  {"type":"TURN_TAKEN"},
  {"type":"SESSION_CREATED"},
  {"type":"TASK_STARTED"},
];

export const launch = createMachine({
  "id": "launch",
  "description": "One launch: it makes what the task needs, and ends when the task begins, or when everything half made is removed.",
  "initial": "beginning",
  "states": {
    "beginning": {
      "description": "It is decided what comes first.",
      "always": [
        {
          "guard": {
            "type": "isLeft"
          },
          "target": "leftBehind",
          "description": "Another launch has left something."
        },
        {
          "guard": {
            "type": "needsWorktree"
          },
          "target": "preparing",
          "description": "The task gets a worktree of its own."
        },
        {
          "guard": {
            "type": "asksFleet"
          },
          "target": "#askingFleet",
          "description": "This server is in a fleet."
        },
        {
          "guard": {
            "type": "not asksFleet"
          },
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
          "actions": {
            "type": "recordStopped"
          }
        },
        "FAULT": {
          "target": "#removingSession",
          "actions": {
            "type": "recordFault"
          },
          "description": "A service threw, which is a fault of ours."
        },
        "CLOSE": {
          "target": "#closed",
          "description": "The plugin is disposed of: OpenCode can be asked nothing any more. What is stored of the session stays, for the next process.",
          "actions": [
            {
              "type": "recordStopped"
            },
            {
              "type": "removeWorktree"
            },
            {
              "type": "answerCall"
            }
          ]
        }
      },
      "states": {
        "makingWorktree": {
          "description": "A worktree is made for the task.",
          "entry": {
            "type": "makeWorktree"
          },
          "on": {
            "WORKTREE_MADE": [
              {
                "guard": {
                  "type": "asksFleet"
                },
                "target": "askingFleet",
                "actions": {
                  "type": "recordWorktree"
                },
                "description": "The worktree is there."
              },
              {
                "target": "waiting",
                "actions": {
                  "type": "recordWorktree"
                },
                "description": "The worktree is there."
              }
            ],
            "WORKTREE_REFUSED": {
              "target": "#answering",
              "actions": {
                "type": "recordNoWorktree"
              },
              "description": "No worktree could be made, and nothing is left of it."
            }
          }
        },
        "askingFleet": {
          "id": "askingFleet",
          "description": "It is decided whether other servers are offered the task.",
          "entry": {
            "type": "askFleet"
          },
          "on": {
            "FLEET_ANSWERED": {
              "target": "waiting",
              "actions": {
                "type": "recordOffer"
              },
              "description": "It is known whether the task is offered to the fleet."
            }
          }
        },
        "waiting": {
          "id": "waiting",
          "description": "The launch waits until few enough other sessions are being created.",
          "entry": {
            "type": "takeTurn"
          },
          "on": {
            "TURN_TAKEN": {
              "target": "creating",
              "actions": {
                "type": "recordPending"
              },
              "description": "Few enough other sessions are being created."
            },
            "CANCEL": {
              "target": "#removingSession",
              "description": "The calling turn was aborted, or its session stopped. Nothing is under way.",
              "actions": {
                "type": "recordStopped"
              }
            }
          }
        },
        "creating": {
          "description": "The session of the task is created, and prepared for its first prompt.",
          "initial": "requesting",
          "states": {
            "requesting": {
              "description": "OpenCode creates the session, or copies the caller's conversation.",
              "tags": "creating",
              "entry": {
                "type": "createSession"
              },
              "on": {
                "SESSION_CREATED": [
                  {
                    "guard": {
                      "type": "isCopy"
                    },
                    "target": "cutting",
                    "actions": {
                      "type": "recordSession"
                    },
                    "description": "OpenCode has created the session."
                  },
                  {
                    "guard": {
                      "type": "isText"
                    },
                    "target": "#informing",
                    "actions": {
                      "type": "recordSession"
                    },
                    "description": "OpenCode has created the session."
                  },
                  {
                    "target": "#starting",
                    "actions": {
                      "type": "recordSession"
                    },
                    "description": "OpenCode has created the session."
                  }
                ],
                "CREATION_REFUSED": [
                  {
                    "guard": {
                      "type": "isCopy"
                    },
                    "target": "readingConversation",
                    "description": "OpenCode refused to create the session: there is none. The agent gets the conversation as a text.",
                    "actions": [
                      {
                        "type": "recordForkRefusal"
                      },
                      {
                        "type": "endPending"
                      },
                      {
                        "type": "forgetSession"
                      }
                    ]
                  },
                  {
                    "target": "#removingSession",
                    "actions": [
                      {
                        "type": "recordFailure"
                      },
                      {
                        "type": "endPending"
                      },
                      {
                        "type": "forgetSession"
                      }
                    ],
                    "description": "OpenCode refused to create the session: there is none."
                  }
                ],
                "CREATION_UNCONFIRMED": [
                  {
                    "guard": {
                      "type": "isCopy"
                    },
                    "target": "removingCopy",
                    "description": "OpenCode did not say whether it created the session: it may have, or may do so later. It cannot be used: it is not marked as ours, and may still be growing.",
                    "actions": {
                      "type": "recordForkRefusal"
                    }
                  },
                  {
                    "target": "searching",
                    "actions": {
                      "type": "recordUnconfirmed"
                    },
                    "description": "OpenCode did not say whether it created the session: it may have, or may do so later."
                  }
                ]
              }
            },
            "searching": {
              "description": "OpenCode did not say whether it created the session, so it is looked for.",
              "initial": "looking",
              "entry": {
                "type": "startCounting"
              },
              "on": {
                "SESSION_FOUND": [
                  {
                    "guard": {
                      "type": "isText"
                    },
                    "target": "#informing",
                    "actions": {
                      "type": "recordSession"
                    },
                    "description": "OpenCode lists the session."
                  },
                  {
                    "target": "#starting",
                    "actions": {
                      "type": "recordSession"
                    },
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
                  "description": "OpenCode is asked which sessions there are.",
                  "entry": [
                    {
                      "type": "countTry"
                    },
                    {
                      "type": "findSession"
                    }
                  ],
                  "on": {
                    "SESSION_NOT_FOUND": [
                      {
                        "guard": {
                          "type": "searchesLeft"
                        },
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
                  "exit": {
                    "type": "clearDeadline"
                  },
                  "on": {
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "looking",
                      "description": "Time has passed."
                    },
                    "CANCEL": {
                      "target": "#removingSession",
                      "description": "The calling turn was aborted, or its session stopped. Nothing is under way.",
                      "actions": {
                        "type": "recordStopped"
                      }
                    }
                  }
                }
              }
            },
            "cutting": {
              "description": "The copy is marked as ours, and its conversation is shortened to the limits.",
              "tags": "creating",
              "entry": {
                "type": "cutCopy"
              },
              "on": {
                "COPY_CUT": {
                  "target": "informing",
                  "description": "The copied conversation is marked as ours, and short enough."
                },
                "PREPARATION_FAILED": {
                  "target": "#removingCopy",
                  "description": "OpenCode refused to prepare the session, which cannot be used. The agent gets the conversation as a text.",
                  "actions": {
                    "type": "recordForkRefusal"
                  }
                }
              }
            },
            "informing": {
              "id": "informing",
              "description": "The agent is to read first that it has a conversation which may be incomplete.",
              "initial": "storing",
              "entry": {
                "type": "startCounting"
              },
              "states": {
                "storing": {
                  "description": "OpenCode stores that message.",
                  "entry": [
                    {
                      "type": "countTry"
                    },
                    {
                      "type": "storePreamble"
                    }
                  ],
                  "on": {
                    "PREAMBLE_STORED": {
                      "target": "#starting",
                      "description": "The message that the agent reads first is stored."
                    },
                    "PREAMBLE_NOT_STORED": [
                      {
                        "guard": {
                          "type": "preamblesLeft"
                        },
                        "target": "pausing",
                        "description": "OpenCode does not show the message that the agent reads first."
                      },
                      {
                        "guard": {
                          "type": "isCopy"
                        },
                        "target": "#removingCopy",
                        "description": "OpenCode does not show the message that the agent reads first. The agent gets the conversation as a text.",
                        "actions": {
                          "type": "recordNoPreamble"
                        }
                      },
                      {
                        "target": "#removingSession",
                        "actions": {
                          "type": "recordNoPreamble"
                        },
                        "description": "OpenCode does not show the message that the agent reads first."
                      }
                    ],
                    "PREPARATION_FAILED": [
                      {
                        "guard": {
                          "type": "isCopy"
                        },
                        "target": "#removingCopy",
                        "description": "OpenCode refused to prepare the session, which cannot be used. The agent gets the conversation as a text.",
                        "actions": {
                          "type": "recordForkRefusal"
                        }
                      },
                      {
                        "target": "#removingSession",
                        "actions": {
                          "type": "recordFailure"
                        },
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
                  "exit": {
                    "type": "clearDeadline"
                  },
                  "on": {
                    "TICK": {
                      "guard": {
                        "type": "due"
                      },
                      "target": "storing",
                      "description": "Time has passed."
                    },
                    "CANCEL": {
                      "target": "#removingSession",
                      "description": "The calling turn was aborted, or its session stopped. Nothing is under way.",
                      "actions": {
                        "type": "recordStopped"
                      }
                    }
                  }
                }
              }
            },
            "removingCopy": {
              "id": "removingCopy",
              "description": "The conversation could not be copied, and what there is of the copy is deleted.",
              "entry": {
                "type": "removeSessions"
              },
              "on": {
                "SESSIONS_REMOVED": {
                  "target": "readingConversation",
                  "actions": {
                    "type": "forgetSession"
                  },
                  "description": "Nothing is left of the session."
                },
                "SESSIONS_LEFT": {
                  "target": "readingConversation",
                  "description": "The session was not deleted, or it is not known whether there is one. An actor of its own goes on with that.",
                  "actions": [
                    {
                      "type": "recordLeft"
                    },
                    {
                      "type": "leaveCopy"
                    },
                    {
                      "type": "forgetSession"
                    }
                  ]
                }
              }
            },
            "readingConversation": {
              "description": "The conversation that could not be copied is read.",
              "entry": {
                "type": "readConversation"
              },
              "on": {
                "CONVERSATION_READ": {
                  "target": "requesting",
                  "description": "The conversation is there as a text. A session of its own gets it.",
                  "actions": {
                    "type": "turnIntoText"
                  }
                },
                "CONVERSATION_NOT_READ": {
                  "target": "#removingSession",
                  "actions": {
                    "type": "recordFailure"
                  },
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
      "entry": {
        "type": "startTask"
      },
      "on": {
        "TASK_STARTED": {
          "target": "started",
          "actions": {
            "type": "answerCall"
          },
          "description": "The task's actor has started."
        },
        "NOT_SERVED": {
          "target": "#removingSession",
          "actions": {
            "type": "recordNotServed"
          },
          "description": "OpenCode starts no plugin of ours in the worktree, so nobody would hear of the task's end."
        },
        "FAULT": {
          "target": "#removingSession",
          "actions": {
            "type": "recordFault"
          },
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
          "actions": {
            "type": "recordStopped"
          }
        },
        "CLOSE": {
          "target": "#closed",
          "description": "The plugin is disposed of: OpenCode can be asked nothing any more. What is stored of the session stays, for the next process.",
          "actions": [
            {
              "type": "recordStopped"
            },
            {
              "type": "removeWorktree"
            },
            {
              "type": "answerCall"
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
              "actions": {
                "type": "recordWorktree"
              },
              "description": "The worktree is there."
            },
            "WORKTREE_REFUSED": {
              "target": "answering",
              "actions": {
                "type": "recordNoWorktree"
              },
              "description": "No worktree could be made, and nothing is left of it."
            },
            "FLEET_ANSWERED": {
              "target": "removingSession",
              "description": "It is known whether the task is offered to the fleet. It made nothing that is not known."
            },
            "SESSION_CREATED": {
              "target": "removingSession",
              "actions": {
                "type": "recordSession"
              },
              "description": "OpenCode has created the session."
            },
            "CREATION_REFUSED": {
              "target": "removingSession",
              "actions": [
                {
                  "type": "endPending"
                },
                {
                  "type": "forgetSession"
                }
              ],
              "description": "OpenCode refused to create the session: there is none."
            },
            "CREATION_UNCONFIRMED": {
              "target": "removingSession",
              "description": "OpenCode did not say whether it created the session: it may have, or may do so later. It is looked for."
            },
            "SESSION_FOUND": {
              "target": "removingSession",
              "actions": {
                "type": "recordSession"
              },
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
              "actions": {
                "type": "forgetSession"
              }
            },
            "SESSIONS_LEFT": {
              "target": "removingWorktree",
              "description": "The session was not deleted, or it is not known whether there is one. The copy is left.",
              "actions": {
                "type": "recordLeft"
              }
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
          "entry": {
            "type": "removeSessions"
          },
          "always": {
            "guard": {
              "type": "not mayHaveSession"
            },
            "target": "removingWorktree",
            "description": "There is none."
          },
          "on": {
            "SESSIONS_REMOVED": {
              "target": "removingWorktree",
              "actions": {
                "type": "forgetSession"
              },
              "description": "Nothing is left of the session."
            },
            "SESSIONS_LEFT": {
              "target": "removingWorktree",
              "description": "The session was not deleted, or it is not known whether there is one. The caller does not wait for it.",
              "actions": {
                "type": "recordLeft"
              }
            }
          }
        },
        "removingWorktree": {
          "description": "The worktree that was made is removed.",
          "entry": {
            "type": "removeWorktree"
          },
          "always": {
            "guard": {
              "type": "not hasMadeWorktree"
            },
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
              "actions": {
                "type": "recordFault"
              },
              "description": "A service threw, which is a fault of ours."
            }
          }
        },
        "answering": {
          "id": "answering",
          "description": "The caller is answered.",
          "entry": {
            "type": "answerCall"
          },
          "always": [
            {
              "guard": {
                "type": "mayHaveSession"
              },
              "target": "#pausing",
              "description": "Its session is not deleted yet.",
              "actions": [
                {
                  "type": "startCounting"
                },
                {
                  "type": "postponeRemoval"
                }
              ]
            },
            {
              "guard": {
                "type": "not mayHaveSession"
              },
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
          "exit": {
            "type": "clearDeadline"
          },
          "on": {
            "TICK": {
              "guard": {
                "type": "due"
              },
              "target": "removing",
              "description": "Time has passed."
            }
          }
        },
        "removing": {
          "description": "The session is deleted, or looked for where none is known.",
          "entry": {
            "type": "removeSessions"
          },
          "on": {
            "SESSIONS_REMOVED": {
              "target": "#removed",
              "description": "Nothing is left of the session."
            },
            "SESSIONS_LEFT": [
              {
                "guard": {
                  "type": "isSearchedTooLong"
                },
                "target": "#leftToNext",
                "actions": {
                  "type": "leaveToNext"
                },
                "description": "The session was not deleted, or it is not known whether there is one."
              },
              {
                "target": "pausing",
                "actions": [
                  {
                    "type": "recordLeft"
                  },
                  {
                    "type": "postponeRemoval"
                  }
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
}).provide({
  guards: {
    ...Object.fromEntries(Object.keys(otherwise).map((name) => [name, answering(name)])),
    "not asksFleet": not("asksFleet"),
    "not mayHaveSession": not("mayHaveSession"),
    "not hasMadeWorktree": not("hasMadeWorktree"),
  },
  actions: {
    "answerCall": () => {},
    "askFleet": () => {},
    "clearDeadline": () => {},
    "countTry": () => {},
    "createSession": () => {},
    "cutCopy": () => {},
    "endPending": () => {},
    "findSession": () => {},
    "forgetSession": () => {},
    "leaveCopy": () => {},
    "leaveToNext": () => {},
    "makeWorktree": () => {},
    "postponeRemoval": () => {},
    "readConversation": () => {},
    "recordFailure": () => {},
    "recordFault": () => {},
    "recordForkRefusal": () => {},
    "recordLeft": () => {},
    "recordNoPreamble": () => {},
    "recordNoWorktree": () => {},
    "recordNotServed": () => {},
    "recordOffer": () => {},
    "recordPending": () => {},
    "recordSession": () => {},
    "recordStopped": () => {},
    "recordUnconfirmed": () => {},
    "recordWorktree": () => {},
    "removeSessions": () => {},
    "removeWorktree": () => {},
    "setDeadline": () => {},
    "startCounting": () => {},
    "startTask": () => {},
    "storePreamble": () => {},
    "takeTurn": () => {},
    "turnIntoText": () => {},
  },
});
