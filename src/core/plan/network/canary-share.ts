interface Sharing {
  readonly isCanary: boolean;
}

/**
 * What each gets of new connections: together the canary's instances get `weight` percent, and all of one kind the same. Undefined:
 * everybody gets as much, because nothing else was asked for, or because there is only one kind.
 */
export function canaryShares(
  all: readonly Sharing[],
  weight: number | undefined,
): readonly number[] | undefined {
  const canaries = all.filter(({ isCanary }) => isCanary).length;
  const stable = all.length - canaries;
  if (weight === undefined || canaries === 0 || stable === 0) return undefined;
  return all.map(({ isCanary }) => (isCanary ? weight * stable : (100 - weight) * canaries));
}
