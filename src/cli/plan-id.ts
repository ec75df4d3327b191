import { hash } from 'node:crypto';
import { Failure } from './failure.ts';
import type { Entry } from './set/planned-set.ts';

/** Of one document the control plane's own; of several, one for all of them. What has no plan of its own is what its document says. */
export function planIdOf(entries: readonly Entry[]): string {
  const [only, another] = entries;
  const own = only?.planned.plan?.id;
  if (own !== undefined && another === undefined) return own;
  const parts = entries.map(({ manifest: { kind, name, body }, planned: { action, plan } }) => [
    kind,
    name,
    action,
    plan?.id ?? body,
  ]);
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 24);
}

export function outdated(shown: string, id: string): Failure {
  return new Failure(`the plan ${shown} does not hold any more: it would be ${id} now; nothing was stored`, {
    advice: ['Look at what would happen now: the same command with --dry-run', 'code: plan_outdated'],
  });
}

const PLAIN = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-+:@%,=';

/** As a shell takes it. */
export function quoted(path: string): string {
  return [...path].every((character) => PLAIN.includes(character))
    ? path
    : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
