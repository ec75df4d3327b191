import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import { Badge } from '../../components/badge.tsx';
import { Icon } from '../../components/icon.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { count } from '../../lib/format.ts';
import type { Problem } from './problems.ts';

/** More are shown when asked for. */
const MAX_SHOWN = 8;

/** What needs a person, the worst first, each with the way to it. */
export function Attention({ problems }: { readonly problems: readonly Problem[] }) {
  const [isWhole, setWhole] = useState(false);
  if (problems.length === 0)
    return (
      <div className="flex items-center gap-3 rounded-lg border border-ok/25 bg-ok-soft px-4 py-3 text-ok">
        <Icon name="check" />
        <p className="font-medium">Nothing needs attention: everything is as it should be.</p>
      </div>
    );
  const shown = isWhole ? problems : problems.slice(0, MAX_SHOWN);
  return (
    <Panel flush title="Needs attention" note={count(problems.length, 'problem')}>
      <ul>
        {shown.map(({ key, severity, what, title, detail, to, search, since }) => (
          <li key={key} className="border-b last:border-b-0">
            <Link
              to={to}
              search={search ?? {}}
              className="grid grid-cols-[auto_1fr_auto] items-center gap-x-4 gap-y-1 px-4 py-2.5 hover:bg-hover sm:grid-cols-[9.5rem_11rem_1fr_auto]"
            >
              <span>
                <Badge tone={severity}>{what}</Badge>
              </span>
              <span className="truncate font-medium">{title}</span>
              <span
                title={detail}
                className="order-last col-span-3 line-clamp-2 min-w-0 text-muted sm:order-none sm:col-span-1 sm:line-clamp-1"
              >
                {detail}
              </span>
              <span className="text-right text-xs text-muted">
                {since === undefined ? null : <TimeAgo time={since} />}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {shown.length === problems.length ? null : (
        <button
          type="button"
          onClick={() => setWhole(true)}
          className="block w-full border-t px-4 py-2 text-left text-xs text-accent hover:underline"
        >
          Show {problems.length - shown.length} more
        </button>
      )}
    </Panel>
  );
}
