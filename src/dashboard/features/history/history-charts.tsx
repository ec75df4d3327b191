import { lazy, Suspense, useMemo, useState } from 'react';
import type { Series } from '../../components/bars.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { bytes, count } from '../../lib/format.ts';
import { type HistoryKind, type UsageHistory, useHistory } from './history-queries.ts';

const Chart = lazy(async () => ({ default: (await import('../../components/chart.tsx')).Chart }));

const SPANS = [
  ['1h', 'Hour'],
  ['6h', '6 hours'],
  ['24h', 'Day'],
] as const;

type Figures = readonly (number | null)[];

interface Drawing {
  readonly title: string;
  readonly note: string;
  readonly lines: readonly { readonly label: string; readonly colour: string; readonly values: Figures }[];
  readonly shown: (value: number) => string;
  readonly least: number;
  readonly unit: 'decimal' | 'binary' | 'whole';
  readonly marks?: Figures;
}

const cores = (value: number): string => String(Number(value.toFixed(2)));
const perSecond = (value: number): string => `${bytes(value)}/s`;
const KIB = 1024;
const MIB = 1024 * KIB;

function lastOf(values: Figures): number | undefined {
  return values.findLast((one) => one !== null) ?? undefined;
}

function isKnown(values: Figures | undefined): boolean {
  return values?.some((one) => one !== null) === true;
}

function drawingsOf(history: UsageHistory, of: HistoryKind): readonly Drawing[] {
  const { running = [], wanted = [], failures } = history;
  const whose = of === 'nodes' ? 'Containers of Berth on this node' : 'All instances';
  return [
    {
      title: 'CPU',
      note: `${whose}, in cores`,
      lines: [{ label: 'CPU', colour: '--accent', values: history.cpuCores }],
      shown: cores,
      least: 0.1,
      unit: 'decimal',
      marks: failures,
    },
    {
      title: 'Memory',
      note: whose,
      lines: [{ label: 'Memory', colour: '--info', values: history.memoryBytes }],
      shown: bytes,
      least: MIB,
      unit: 'binary',
      marks: failures,
    },
    {
      title: 'Network',
      note: `${whose}, bytes per second`,
      lines: [
        { label: 'Received', colour: '--accent', values: history.receivedBytesPerSecond },
        { label: 'Sent', colour: '--info', values: history.sentBytesPerSecond },
      ],
      shown: perSecond,
      least: KIB,
      unit: 'binary',
    },
    of === 'nodes'
      ? {
          title: 'Containers',
          note: 'That were measured',
          lines: [{ label: 'Measured', colour: '--accent', values: history.measured }],
          shown: cores,
          least: 2,
          unit: 'whole',
          marks: failures,
        }
      : {
          title: 'Instances over time',
          note: 'Running, and how many were wanted',
          lines: [
            { label: 'Wanted', colour: '--info', values: wanted },
            { label: 'Running', colour: '--accent', values: running },
          ],
          shown: cores,
          least: 2,
          unit: 'whole',
          marks: failures,
        },
  ];
}

function Legend({ lines }: { readonly lines: Drawing['lines'] }) {
  return (
    <ul className="flex gap-4 pb-1 text-xs text-muted">
      {lines.map(({ label, colour, values }) => (
        <li key={label} className="flex items-center gap-1.5">
          <span aria-hidden="true" className="h-0.5 w-3.5 rounded" style={{ background: `var(${colour})` }} />
          {label}
          {isKnown(values) ? null : ' (not known)'}
        </li>
      ))}
    </ul>
  );
}

function Drawn({ drawing, times }: { readonly drawing: Drawing; readonly times: readonly number[] }) {
  const { title, note, lines, shown, least, unit, marks } = drawing;
  const series = useMemo((): readonly Series[] => lines.map((line) => ({ ...line })), [lines]);
  const failed = marks?.reduce<number>((sum, one) => sum + (one ?? 0), 0) ?? 0;
  const now = lines.map(({ label, values }) => {
    const last = lastOf(values);
    return last === undefined ? `${label} not known` : `${label} last ${shown(last)}`;
  });
  const [first] = lines;
  const last = lines.length === 1 && first !== undefined ? lastOf(first.values) : undefined;
  return (
    <Panel
      title={title}
      note={note}
      actions={
        last === undefined ? undefined : (
          <span className="text-lg font-semibold tabular-nums">{shown(last)}</span>
        )
      }
    >
      {lines.length > 1 ? <Legend lines={lines} /> : null}
      {lines.some(({ values }) => isKnown(values)) ? (
        <Suspense fallback={<Loading />}>
          <Chart
            times={times}
            series={series}
            height={150}
            shown={shown}
            least={least}
            unit={unit}
            {...(failed === 0 ? {} : { marks })}
            summary={`${title}: ${now.join(', ')}${failed === 0 ? '' : `; ${count(failed, 'failure')}`}`}
          />
        </Suspense>
      ) : (
        <p className="py-8 text-center text-muted">Nothing has been measured in this time.</p>
      )}
    </Panel>
  );
}

function Charts({ history, of }: { readonly history: UsageHistory; readonly of: HistoryKind }) {
  const { start, stepSeconds, cpuCores, failures } = history;
  const times = useMemo(
    () => cpuCores.map((_, at) => Date.parse(start) / 1000 + at * stepSeconds),
    [cpuCores, start, stepSeconds],
  );
  const drawings = useMemo(() => drawingsOf(history, of), [history, of]);
  const failed = failures.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  return (
    <>
      <p className="text-xs text-muted">
        A line ends where nothing is known.
        {failed === 0 ? null : (
          <>
            {' '}
            <span aria-hidden="true" className="text-bad">
              ●
            </span>{' '}
            <span className="text-bad">{count(failed, 'failed run')}</span> of instances in this time.
          </>
        )}
        {history.partial === true
          ? ' A control plane did not answer: what its agents measured is missing.'
          : null}
      </p>
      <div className="grid gap-5 lg:grid-cols-2">
        {drawings.map((drawing) => (
          <Drawn key={drawing.title} drawing={drawing} times={times} />
        ))}
      </div>
    </>
  );
}

/** The last hours of a deployment or a node. */
export function HistoryCharts({ of, name }: { readonly of: HistoryKind; readonly name: string }) {
  const [since, setSince] = useState<string>('1h');
  const { data, error } = useHistory(of, name, since);
  return (
    <section aria-label="History" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="font-semibold">History</h2>
        <div role="group" aria-label="Time shown" className="flex overflow-hidden rounded-md border">
          {SPANS.map(([value, title]) => (
            <button
              key={value}
              type="button"
              aria-pressed={since === value}
              onClick={() => setSince(value)}
              className={`px-3 py-1 text-xs ${since === value ? 'bg-accent-soft font-semibold text-accent' : 'bg-surface text-muted hover:bg-hover'}`}
            >
              {title}
            </button>
          ))}
        </div>
      </div>
      {error === null ? null : <ErrorNotice error={error} />}
      {data === undefined ? (
        error === null ? (
          <Loading lines={4} />
        ) : null
      ) : data.recorded ? (
        <Charts history={data} of={of} />
      ) : (
        <Panel>
          <EmptyState title="Nothing is recorded yet" icon="pulse">
            <p>Figures come every 15 seconds, unless the room for them is used up (limits.historyBytes).</p>
          </EmptyState>
        </Panel>
      )}
    </section>
  );
}
