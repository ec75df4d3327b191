import { isFailure } from '../lib/event-kind.ts';
import type { Event } from '../lib/records.ts';
import { shortIds } from '../lib/short-ids.ts';
import { TimeAgo } from './time-ago.tsx';

/** Events as they are given, each with its message whole. */
export function EventList({ events }: { readonly events: readonly Event[] }) {
  return (
    <ul>
      {events.map(({ id, at, kind, message }) => (
        <li
          key={id}
          className="flex flex-wrap gap-x-4 gap-y-0.5 border-b px-4 py-2.5 last:border-b-0 sm:flex-nowrap"
        >
          <span className="w-20 shrink-0 text-xs text-muted">
            <TimeAgo time={at} />
          </span>
          <span className={`w-56 shrink-0 text-xs font-medium ${isFailure(kind) ? 'text-bad' : ''}`}>
            {kind}
          </span>
          <span className="min-w-0 flex-1 text-xs whitespace-pre-wrap text-muted" title={message}>
            {shortIds(message)}
          </span>
        </li>
      ))}
    </ul>
  );
}
