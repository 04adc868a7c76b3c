/**
 * Wraps a call so that those who make it with the same `key` while it is under way share its result. Once it has ended, nothing
 * is kept.
 */
export const shareCalls = <T>(call: (key: string) => Promise<T>): ((key: string) => Promise<T>) => {
  const underWay = new Map<string, Promise<T>>();
  return (key) => {
    const shared = underWay.get(key) ?? call(key).finally(() => underWay.delete(key));
    underWay.set(key, shared);
    return shared;
  };
};
