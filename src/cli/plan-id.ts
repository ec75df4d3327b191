import { hash } from 'node:crypto';
import { Failure } from './failure.ts';
import type { Entry } from './set/planned-set.ts';
import type { Leftover } from './set/prune.ts';

/** Of one document the control plane's own; of several, one for all of them. What has no plan of its own is what its document says. */
export function planIdOf(entries: readonly Entry[], leftovers: readonly Leftover[] = []): string {
  const [only, another] = entries;
  const own = only?.planned.plan?.id;
  if (own !== undefined && another === undefined && leftovers.length === 0) return own;
  const parts: unknown[] = entries.map(({ manifest: { kind, name, body }, planned }) => {
    const { action, plan, revision } = planned;
    return [kind, name, action, ...(plan?.id === undefined ? [body, revision] : [plan.id])];
  });
  if (leftovers.length > 0) parts.push(leftovers);
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 24);
}

export function outdated(shown: string, id: string): Failure {
  return new Failure(`the plan ${shown} does not hold any more: it would be ${id} now; nothing was stored`, {
    advice: ['Look at what would happen now: the same command with --dry-run', 'code: plan_outdated'],
  });
}
