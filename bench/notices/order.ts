/**
 * The order in which contenders play a round, counted from 1: each goes first, and each goes last, as often as the others,
 * and each follows each other one as often. Of two, the order is reversed with each round.
 */
export function orderOf<T>(contenders: T[], index: number): T[] {
  const count = contenders.length;
  const first = (index - 1) % count;
  const turned = [...contenders.slice(first), ...contenders.slice(0, first)];
  // Two are reversed by turning already.
  return count > 2 && Math.floor((index - 1) / count) % 2 === 1 ? turned.toReversed() : turned;
}
