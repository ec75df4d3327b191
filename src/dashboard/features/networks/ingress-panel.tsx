import { useMemo } from 'react';
import { Badge, type Tone } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { dateTime } from '../../lib/format.ts';
import type { Deployment } from '../../lib/records.ts';
import { useDeployments } from '../deployments/deployment-queries.ts';

type Served = NonNullable<Deployment['status']['ingress']>[number];

interface WayIn extends Served {
  readonly deployment: string;
}

const TONES: Readonly<Record<Served['state'], Tone>> = {
  serving: 'ok',
  waiting: 'info',
  failed: 'bad',
  unserved: 'warn',
};

/** As a client would write it. */
function placeOf({ url, host, path, protocol, listen }: Served): string {
  return url ?? (host === undefined ? `${protocol} port ${listen ?? ''}` : `${host}${path ?? ''}`);
}

function certificateText({ certificate }: Served): string {
  return certificate === undefined ? '' : `until ${dateTime(certificate.notAfter)}, by ${certificate.issuer}`;
}

/** Renewed a month before its end: one with less left is not being renewed. */
const SOON_MS = 14 * 86_400_000;

function isEnding({ certificate }: Served): boolean {
  return certificate !== undefined && Date.parse(certificate.notAfter) - Date.now() < SOON_MS;
}

const COLUMNS: readonly Column<WayIn>[] = [
  {
    title: 'From outside',
    width: '26%',
    sortBy: placeOf,
    cell: (way) => (
      <span className="font-mono text-xs" title={placeOf(way)}>
        {placeOf(way)}
      </span>
    ),
  },
  {
    title: 'State',
    width: '7.5rem',
    sortBy: ({ state }) => state,
    cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>,
  },
  {
    title: 'Deployment',
    width: '14%',
    wide: true,
    sortBy: ({ deployment }) => deployment,
    cell: ({ deployment }) => <RowLink to={`/deployments/${deployment}`}>{deployment}</RowLink>,
  },
  {
    title: 'Nodes',
    width: '14%',
    wide: true,
    cell: ({ nodes }) => <span className="text-muted">{nodes.join(', ')}</span>,
  },
  {
    title: 'Certificate, or what is wrong',
    wide: true,
    cell: (way) => (
      <span
        className={way.problem === undefined && !isEnding(way) ? 'text-muted' : 'text-bad'}
        title={way.problem ?? certificateText(way)}
      >
        {way.problem ?? certificateText(way)}
      </span>
    ),
  },
];

/** Hosts and ports by which clients outside of the tenant's network reach its deployments. */
export function IngressPanel() {
  const { data, error } = useDeployments();
  const ways = useMemo(
    () =>
      data?.flatMap(({ name, status }) =>
        (status.ingress ?? []).map((way): WayIn => ({ ...way, deployment: name })),
      ),
    [data],
  );
  return (
    <div className="flex flex-col gap-3">
      <RecordTable
        label="Ways in"
        one="way in"
        rows={ways}
        error={error}
        columns={COLUMNS}
        rowKey={(way) => `${way.deployment} ${placeOf(way)}`}
        textOf={(way) => `${placeOf(way)} ${way.deployment} ${way.state} ${way.problem ?? ''}`}
        detail={(way) => way.problem ?? `${way.deployment} · ${certificateText(way)}`}
        empty={
          <EmptyState title="No deployment is reached from outside" icon="network">
            <p>
              A host in <span className="font-mono text-xs">ingress</span> of a deployment is served by nodes
              whose agent runs with <span className="font-mono text-xs">--ingress on</span>.
            </p>
          </EmptyState>
        }
      />
    </div>
  );
}
