/** Of one tenant: what could be named, first what matters most. */
export interface Candidates<T> {
  readonly of: Iterable<T>;
  readonly size: number;
}

/**
 * Takes at most `most` of all, and of each tenant at most an equal share, so that one with very many does not hide those of the others.
 * What a small tenant does not use is given to nobody: the share depends on the number of tenants alone, and series do not come and go.
 */
export function fairShare<T>(
  tenants: readonly Candidates<T>[],
  most: number,
): { readonly taken: readonly T[]; readonly leftOut: number } {
  const used = tenants.filter(({ size }) => size > 0);
  const share = Math.max(1, Math.floor(most / Math.max(1, used.length)));
  const taken: T[] = [];
  let leftOut = 0;
  for (const { of, size } of used) {
    const room = Math.min(share, size, most - taken.length);
    leftOut += size - room;
    let count = 0;
    for (const one of of) {
      if (count === room) break;
      taken.push(one);
      count += 1;
    }
  }
  return { taken, leftOut };
}
