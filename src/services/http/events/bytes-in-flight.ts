/** Bytes that were handed out and are not known to be taken. */
export interface BytesInFlight {
  /** The bytes of all. */
  bytes(): number;
  /** Counts somebody's from now on, until the returned function is called. `behind` says how many they are. */
  count(reader: SlowReader): () => void;
  /** True when so many more can be handed out. One who is alone is always served. */
  hasRoom(more: number): boolean;
  /** Drops whoever is furthest behind, until there is room again. */
  relieve(): void;
}

/** Somebody whom bytes are on their way to. */
export interface SlowReader {
  /** Bytes that were handed out and are not known to be taken. */
  behind(): number;
  /** Ends it, and lets go of what it has not taken. */
  drop(): void;
}

/** At most `most` bytes, be it many who are a little behind or few who are far behind. */
export const createBytesInFlight = (most: number): BytesInFlight => {
  const readers = new Set<SlowReader>();
  const bytes = () => [...readers].reduce((sum, reader) => sum + reader.behind(), 0);
  return {
    bytes,
    count: (reader) => {
      readers.add(reader);
      return () => void readers.delete(reader);
    },
    hasRoom: (more) => {
      const underWay = bytes();
      return underWay === 0 || underWay + more <= most;
    },
    relieve: () => {
      while (bytes() > most) {
        const slowest = [...readers].reduce((one, other) => (other.behind() > one.behind() ? other : one));
        readers.delete(slowest);
        slowest.drop();
      }
    },
  };
};
