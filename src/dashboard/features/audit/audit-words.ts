import type { ItemOf } from '../../../sdk/index.ts';

export type AuditLine = ItemOf<'GET /api/v1/audit'>;

/** Who did it, for a person: the name of the token, the system, or a platform administrator of another tenant. */
export function actorName(
  { actor, actorTenantId, tenantId, role }: AuditLine,
  names: ReadonlyMap<string, string>,
): string {
  if (actor === 'system') return 'Berth itself';
  const name = names.get(actor);
  if (name !== undefined) return name;
  if (actor.startsWith('join')) return 'a join token';
  return actorTenantId !== undefined && actorTenantId !== tenantId ? `${role} of the platform` : actor;
}

const PAGES: Readonly<Record<string, string>> = {
  Deployment: '/deployments',
  Node: '/nodes',
  Job: '/jobs',
  Volume: '/volumes',
};

/** The page of what it was done to; undefined: it has none. */
export function pageOf({ subject: { kind, name } }: AuditLine): string | undefined {
  const page = PAGES[kind];
  return page === undefined ? undefined : `${page}/${encodeURIComponent(name)}`;
}

/** `deployment.create` → `deployment create`: what was done, as it is filtered by. */
export function doneText({ action, details }: AuditLine): string {
  const more = Object.entries(details ?? {})
    .slice(0, 3)
    .map(([name, value]) => `${name} ${String(value)}`);
  return more.length === 0 ? action : `${action} (${more.join(', ')})`;
}

export interface AuditFilter {
  /** Of a token; empty: of anybody. */
  readonly actor: string;
  /** `Deployment`, `Node`, …; empty: to anything. */
  readonly kind: string;
  /** Back from now; undefined: everything that is kept. */
  readonly hours: number | undefined;
}

export function fits({ actor, kind, hours }: AuditFilter, line: AuditLine, nowMs: number): boolean {
  return (
    (actor === '' || line.actor === actor) &&
    (kind === '' || line.subject.kind === kind) &&
    (hours === undefined || Date.parse(line.at) >= nowMs - hours * 3_600_000)
  );
}
