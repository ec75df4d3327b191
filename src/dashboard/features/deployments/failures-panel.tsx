import { useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CopyLine } from '../../components/copy-line.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { count, span } from '../../lib/format.ts';
import { printable } from '../../lib/printable.ts';
import type { Failure } from '../../lib/records.ts';
import { useFailureLog, useFailures } from './deployment-queries.ts';

/** What it printed last; text of a workload, so shown as text only. */
function LastLines({ name, failure }: { readonly name: string; readonly failure: Failure }) {
  const { data, error } = useFailureLog(name, failure);
  if (data === undefined) return error === null ? <Loading lines={3} /> : <ErrorNotice error={error} />;
  return (
    <div className="mt-2 flex flex-col gap-2">
      <div
        role="log"
        aria-live="off"
        aria-label={`Last output of ${failure.instance}`}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className="max-h-80 overflow-auto rounded-md border bg-sunken p-3 font-mono text-xs leading-5 whitespace-pre-wrap"
      >
        {data === '' ? <span className="text-muted">It printed nothing.</span> : printable(data)}
      </div>
      <CopyLine
        label="Command that prints these lines"
        text={`berth logs ${name} --previous --instance ${failure.instance}`}
      />
    </div>
  );
}

function FailureRow({
  name,
  failure,
  specHash,
  isNewest,
}: {
  readonly name: string;
  readonly failure: Failure;
  readonly specHash: string;
  /** Of its instance: the lines of the one before are not answered. */
  readonly isNewest: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  const { instance, nodeId, at, reason, message, exitCode, ranMs, canary, lines } = failure;
  return (
    <li className="border-b px-4 py-2.5 last:border-b-0" data-failure={instance}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <Badge tone="bad">{reason.replaceAll('_', ' ')}</Badge>
        <span className="min-w-0 flex-[1_1_10rem] truncate font-mono text-xs" title={instance}>
          {instance.slice(-8)} <span className="text-muted">on {nodeId}</span>
        </span>
        {canary ? <Badge tone="info">canary</Badge> : null}
        {failure.specHash === specHash || canary ? null : <Badge>earlier version</Badge>}
        <span className="text-xs text-muted tabular-nums">
          {[
            ...(exitCode === undefined ? [] : [`exit ${exitCode}`]),
            ...(ranMs === undefined ? [] : [`after ${span(ranMs)}`]),
          ].join(' ')}
        </span>
        <span className="text-right text-xs text-muted sm:w-20">
          <TimeAgo time={at} />
        </span>
        {isNewest ? (
          <Button small aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide output' : lines === 0 ? 'Show output' : `Show ${count(lines, 'line')}`}
            <span className="sr-only"> of {instance}</span>
          </Button>
        ) : null}
      </div>
      <p className="mt-1 text-xs whitespace-pre-wrap text-muted">{printable(message)}</p>
      {isOpen ? <LastLines name={name} failure={failure} /> : null}
    </li>
  );
}

/** How instances failed, newest first. */
export function FailureList({
  name,
  failures,
  specHash,
}: {
  readonly name: string;
  readonly failures: readonly Failure[];
  readonly specHash: string;
}) {
  const seen = new Set<string>();
  return (
    <ul>
      {failures.map((failure) => {
        const isNewest = !seen.has(failure.instance);
        seen.add(failure.instance);
        return (
          <FailureRow
            key={`${failure.instance} ${failure.at}`}
            name={name}
            failure={failure}
            specHash={specHash}
            isNewest={isNewest}
          />
        );
      })}
    </ul>
  );
}

/** Also of those that are gone; nothing while none has failed. */
export function FailuresPanel({ name, specHash }: { readonly name: string; readonly specHash: string }) {
  const { data = [], error } = useFailures(name);
  if (error !== null) return <ErrorNotice error={error} />;
  if (data.length === 0) return null;
  return (
    <Panel
      flush
      title="Failures"
      note="The newest of each instance with its last output, kept for 7 days; values it was given are taken out"
    >
      <FailureList name={name} failures={data} specHash={specHash} />
    </Panel>
  );
}
