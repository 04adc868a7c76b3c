/** What each process has of its own in a session. */
interface Run {
  busy: boolean;
  refusal: unknown;
}

/** The sessions as one process has them. */
interface OpenFile<Session> {
  sessions: Pick<Map<string, Session>, "get" | "set" | "has" | "delete" | "keys" | "values">;
  createSessionID(): string;
  /** Records that this process wrote the message. */
  wrote(messageID: string): void;
  /** True for a message that another process wrote. */
  isForeign(messageID: string): boolean;
}

/** The database of OpenCode. Its processes share the conversations; which runs are under way, each knows of its own only. */
export interface SessionFile<Session> {
  /** Opens it for one more process. */
  open(): OpenFile<Session>;
}

const isOfRun = (name: string | symbol): name is keyof Run => name === "busy" || name === "refusal";

/** Returns the session as a process sees that has runs of its own in it. */
const seenBy = <Session extends Run>(session: Session): Session => {
  const run: Run = { busy: false, refusal: undefined };
  return new Proxy(session, {
    get: (target, name) => (isOfRun(name) ? run[name] : Reflect.get(target, name)),
    set: (target, name, value) => Reflect.set(isOfRun(name) ? run : target, name, value),
  });
};

/** Creates the sessions of one process, which no other has: the fastest way. */
export const createSessionFile = <Session>(): SessionFile<Session> => {
  const sessions = new Map<string, Session>();
  let count = 0;
  return {
    open: () => ({
      sessions,
      createSessionID: () => {
        count += 1;
        return `ses_${String(count).padStart(4, "0")}`;
      },
      wrote: () => undefined,
      isForeign: () => false,
    }),
  };
};

/** Creates sessions that several processes share. */
export const createSharedSessionFile = <Session extends Run>(): SessionFile<Session> => {
  const stored = new Map<string, Session>();
  /** Which process wrote a message, by its number. */
  const writers = new Map<string, number>();
  let processes = 0;
  let count = 0;

  return {
    open: () => {
      processes += 1;
      const me = processes;
      const seen = new Map<Session, Session>();
      const see = (session: Session): Session => {
        const known = seen.get(session) ?? seenBy(session);
        seen.set(session, known);
        return known;
      };
      return {
        sessions: {
          get: (id) => {
            const session = stored.get(id);
            return session && see(session);
          },
          set: (id, session) => stored.set(id, session),
          has: (id) => stored.has(id),
          delete: (id) => stored.delete(id),
          keys: () => stored.keys(),
          values: () => [...stored.values()].map(see).values(),
        },
        createSessionID: () => {
          count += 1;
          return `ses_${String(count).padStart(4, "0")}`;
        },
        wrote: (messageID) => void writers.set(messageID, me),
        isForeign: (messageID) => (writers.get(messageID) ?? me) !== me,
      };
    },
  };
};
