import { isFailure } from '../../lib/event-kind.ts';
import type { Event } from '../../lib/records.ts';

export interface EventFilter {
  /** `Deployment`, `Node`, …; empty: of everything. */
  readonly subject: string;
  readonly onlyFailures: boolean;
}

export function fits({ subject, onlyFailures }: EventFilter, event: Event): boolean {
  return (subject === '' || event.subject.kind === subject) && (!onlyFailures || isFailure(event.kind));
}

/** As many as the control plane keeps. */
const MAX_EVENTS = 10_000;

/** Newest first, each once: a stream that was resumed may bring what was read already. */
export function merged(known: readonly Event[], fresh: readonly Event[]): readonly Event[] {
  const ids = new Set(known.map(({ id }) => id));
  return [...fresh.filter(({ id }) => !ids.has(id)), ...known].slice(0, MAX_EVENTS);
}
