import { Badge } from '../../components/badge.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { printable } from '../../lib/printable.ts';
import type { InstanceDetail } from '../../lib/records.ts';

/** The last health checks as its agent has them; text of a workload, so shown as text only. */
export function InstanceChecks({ instance }: { readonly instance: InstanceDetail }) {
  const { checks, node } = instance;
  if (checks === undefined || checks.length === 0)
    return (
      <Panel title="Health">
        <EmptyState title="No health checks" icon="pulse">
          <p>
            {node.connected
              ? 'It has no health check, or none has run yet.'
              : 'They are on its node, whose agent cannot be asked now.'}
          </p>
        </EmptyState>
      </Panel>
    );
  return (
    <Panel flush title="Health" note="The last checks, newest first, by the clock of the node">
      <ul>
        {checks.toReversed().map(({ at, exitCode, output }) => (
          <li key={at} className="flex flex-wrap gap-x-4 gap-y-1 border-b px-4 py-2.5 last:border-b-0">
            <span className="w-20 text-xs text-muted">
              <TimeAgo time={at} />
            </span>
            <span className="w-20">
              <Badge tone={exitCode === 0 ? 'ok' : 'bad'}>
                {exitCode === undefined ? 'no answer' : `exit ${exitCode}`}
              </Badge>
            </span>
            <span className="min-w-0 flex-[1_1_12rem] font-mono text-xs whitespace-pre-wrap">
              {printable(output)}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
