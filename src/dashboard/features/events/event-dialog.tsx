import { Link } from '@tanstack/react-router';
import { Dialog } from '../../components/dialog.tsx';
import { Facts } from '../../components/facts.tsx';
import { dateTime } from '../../lib/format.ts';
import type { Event } from '../../lib/records.ts';

const PAGES: Partial<Record<Event['subject']['kind'], string>> = {
  Deployment: '/deployments',
  Node: '/nodes',
  Volume: '/volumes',
  Job: '/jobs',
};

function Subject({ event }: { readonly event: Event }) {
  const { kind, name } = event.subject;
  const page = PAGES[kind];
  if (page === undefined) return `${kind} ${name}`;
  return (
    <Link to={`${page}/${encodeURIComponent(name)}`} className="underline hover:text-accent">
      {kind} {name}
    </Link>
  );
}

/** Everything an event says. */
export function EventDialog({ event, onClose }: { readonly event: Event; readonly onClose: () => void }) {
  const { id, at, kind, message, details } = event;
  return (
    <Dialog wide title={kind} isOpen onClose={onClose}>
      <p className="whitespace-pre-wrap">{message}</p>
      <Facts
        facts={[
          ['Of', <Subject key="subject" event={event} />],
          ['At', dateTime(at)],
          [
            'Id',
            <code key="id" className="font-mono">
              {id}
            </code>,
          ],
        ]}
      />
      {Object.keys(details).length === 0 ? null : (
        <pre
          aria-label="Details"
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          tabIndex={0}
          className="max-h-72 shrink-0 overflow-auto rounded-md border bg-sunken p-3 font-mono text-xs"
        >
          {JSON.stringify(details, undefined, 2)}
        </pre>
      )}
    </Dialog>
  );
}
