import { isRecord } from '../../../core/model/values.ts';
import type { ItemOf } from '../../../sdk/index.ts';

export type AuditLine = ItemOf<'GET /api/v1/audit'>;

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
    .map(([name, value]) => `${name} ${isRecord(value) ? JSON.stringify(value) : String(value)}`);
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

/** The time that so many hours are back from now. */
export function sinceTime(hours: number | undefined, nowMs: number): string | undefined {
  return hours === undefined ? undefined : new Date(nowMs - hours * 3_600_000).toISOString();
}

export function fits({ actor, kind, hours }: AuditFilter, line: AuditLine, nowMs: number): boolean {
  return (
    (actor === '' || line.actor === actor) &&
    (kind === '' || line.subject.kind === kind) &&
    (hours === undefined || Date.parse(line.at) >= nowMs - hours * 3_600_000)
  );
}
