/** Bounds the bytes that streams have handed out and that are not known to have been read. */
export interface BytesInFlight {
  /** The bytes of all readers. */
  total(): number;
  /** Adds a reader; returns a function that removes it. */
  add(reader: Reader): () => void;
  /** True when so many more bytes can be handed out. A reader that is the only one is always served. */
  hasRoom(more: number): boolean;
  /** Drops the reader that is furthest behind, until the total is within the bound. */
  dropSlowest(): void;
}

/** Somebody who reads a stream. */
export interface Reader {
  /** Bytes that were handed out to it and are not known to have been read. */
  unread(): number;
  /** Closes its connection and frees what it has not read. */
  drop(): void;
}

/** Creates a bound of `max` bytes, whether they belong to many readers that are a little behind or to few far behind. */
export const createBytesInFlight = (max: number): BytesInFlight => {
  const readers = new Set<Reader>();
  const total = () => [...readers].reduce((sum, reader) => sum + reader.unread(), 0);
  return {
    total,
    add: (reader) => {
      readers.add(reader);
      return () => void readers.delete(reader);
    },
    hasRoom: (more) => {
      const bytes = total();
      return bytes === 0 || bytes + more <= max;
    },
    dropSlowest: () => {
      while (total() > max) {
        const slowest = [...readers].reduce((one, other) => (other.unread() > one.unread() ? other : one));
        readers.delete(slowest);
        slowest.drop();
      }
    },
  };
};
