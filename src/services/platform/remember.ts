/** Puts an entry last in a map, as the newest one, and drops the oldest one where there are more than `most`. */
export const remember = <Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void => {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next();
  if (map.size > most && !oldest.done) map.delete(oldest.value);
};
