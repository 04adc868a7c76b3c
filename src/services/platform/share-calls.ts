/** Wraps a call so that all who want its result while it is under way share one call, by their `key`. Nothing is kept after that. */
export const shareCalls = <T>(call: (key: string) => Promise<T>): ((key: string) => Promise<T>) => {
  const underWay = new Map<string, Promise<T>>();
  return (key) => {
    const shared = underWay.get(key) ?? call(key).finally(() => underWay.delete(key));
    underWay.set(key, shared);
    return shared;
  };
};
