import { type Credential, pathOf } from './model.ts';
import type { World } from './world.ts';

const RANKS = ['process', 'external', 'volume'];

function rank(anchor: string): number {
  return RANKS.indexOf(anchor.startsWith('volume') ? 'volume' : anchor);
}

/** Of all who read it; a volume counts while who names it mounts it. Without readers nothing binds. */
export function strictestAnchor(world: World, { tenant, path }: Credential): string {
  const jobs = world.plane.store.forTenant(tenant.id).list('jobs');
  const anchors = [...world.consumers(tenant), ...jobs.map(({ record }) => record)]
    .flatMap(({ spec }) => spec.secrets.filter((entry) => pathOf(entry) === path))
    .map(({ anchor }) => anchor);
  return anchors.toSorted((a, b) => rank(b) - rank(a))[0] ?? 'none';
}
