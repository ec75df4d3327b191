/** How far a candidate may be from the word: a third of its length, so that short names do not match everything. */
function tolerance(candidate: string): number {
  return Math.min(5, Math.floor(candidate.length / 3));
}

/**
 * Optimal string alignment distance (insertions, deletions, substitutions and swaps of neighbours), or undefined once
 * it is certain to exceed the bound. The bound also keeps a very long word from costing anything.
 */
function boundedDistance(a: string, b: string, bound: number): number | undefined {
  if (Math.abs(a.length - b.length) > bound) return undefined;
  let beforePrevious: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    let smallest = row;
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, (beforePrevious[column - 2] ?? 0) + 1);
      current.push(cost);
      smallest = Math.min(smallest, cost);
    }
    if (smallest > bound) return undefined;
    beforePrevious = previous;
    previous = current;
  }
  const distance = previous[b.length] ?? 0;
  return distance <= bound ? distance : undefined;
}

/** The candidates near the word, nearest first; equally near ones keep their order. Case does not count. */
export function nearestFew(word: string, candidates: Iterable<string>, limit: number): readonly string[] {
  const sought = word.toLowerCase();
  const near: { readonly candidate: string; readonly distance: number }[] = [];
  for (const candidate of candidates) {
    const distance = boundedDistance(sought, candidate.toLowerCase(), tolerance(candidate));
    if (distance !== undefined) near.push({ candidate, distance });
  }
  return near
    .sort((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map((found) => found.candidate);
}

/** The candidate that was probably meant, or undefined when none is near: a wild guess misleads more than none. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  return nearestFew(word, candidates, 1)[0];
}
