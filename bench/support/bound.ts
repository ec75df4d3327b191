/** What each part of a measurement took, as a share of its time. */
export interface Shares {
  /** Of one core, by part: `load`, `etcd`, `plane1`, … */
  readonly cores: Readonly<Record<string, number>>;
  /** Of the time, etcd's disk was writing its log. */
  readonly fsync: number;
  readonly machineCores: number;
  /** Cores that were busy with anything at all. */
  readonly busyCores: number;
}

/** A part that does one thing at a time is at its limit near one core; the rest are pauses of its own. */
const FULL = 0.85;

/** What is at its limit, in words. Several may be: each of them would have to grow. */
export function boundOf({ cores, fsync, machineCores, busyCores }: Shares): string {
  const used = Object.values(cores).reduce((sum, share) => sum + share, 0);
  const full = (name: string): boolean => (cores[name] ?? 0) >= FULL;
  const planes = Object.keys(cores).filter((name) => name.startsWith('plane'));
  const bounds: string[] = [];
  if (busyCores >= FULL * machineCores && busyCores - used > 0.25 * machineCores)
    bounds.push(
      `other programs, which use ${(busyCores - used).toFixed(1)} of ${machineCores} cores: this is no quiet machine, and the figure says nothing`,
    );
  if (full('load')) bounds.push('the load generator (a core of its own): the true figure is higher');
  if (planes.length > 0 && planes.every(full))
    bounds.push('the processor time of the control planes, one core each');
  if (fsync >= FULL) bounds.push("the fsync of etcd's disk");
  if ((cores['etcd'] ?? 0) >= FULL * machineCores) bounds.push('the processor time of etcd');
  if (used >= FULL * machineCores)
    bounds.push(`the machine: ${used.toFixed(1)} of ${machineCores} cores are used by all parts together`);
  return bounds.length > 0
    ? bounds.join('; ')
    : 'waiting: no part is at its limit, so more connections would bring more';
}
