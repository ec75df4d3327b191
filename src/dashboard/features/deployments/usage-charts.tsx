import { lazy, Suspense, useMemo } from 'react';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { bytes } from '../../lib/format.ts';
import type { UsageSample } from './usage-history.ts';

const Chart = lazy(async () => ({ default: (await import('../../components/chart.tsx')).Chart }));

const coreShare = (percent: number) => `${percent.toFixed(0)} %`;

function Measured({
  title,
  note,
  samples,
  pick,
  colour,
  shown,
}: {
  readonly title: string;
  readonly note: string;
  readonly samples: readonly UsageSample[];
  readonly pick: (sample: UsageSample) => number;
  readonly colour: string;
  readonly shown: (value: number) => string;
}) {
  const times = useMemo(() => samples.map(({ time }) => time), [samples]);
  const series = useMemo(
    () => [{ label: title, values: samples.map(pick), colour }],
    [samples, pick, title, colour],
  );
  const last = samples.at(-1);
  return (
    <Panel
      title={title}
      note={note}
      actions={
        last === undefined ? undefined : (
          <span className="text-lg font-semibold tabular-nums">{shown(pick(last))}</span>
        )
      }
    >
      {last === undefined ? (
        <p className="py-8 text-center text-muted">Nothing has been measured yet.</p>
      ) : (
        <Suspense fallback={<Loading />}>
          <Chart
            times={times}
            series={series}
            height={130}
            shown={shown}
            summary={`${title} now ${shown(pick(last))}`}
          />
        </Suspense>
      )}
    </Panel>
  );
}

const cpuOf = (sample: UsageSample) => sample.cpuPercent;
const memoryOf = (sample: UsageSample) => sample.memoryBytes;

/** What the agents measure, of all instances together or of one. */
export function UsageCharts({
  samples,
  of = 'All instances',
}: {
  readonly samples: readonly UsageSample[];
  readonly of?: string;
}) {
  return (
    <div className="grid gap-5 lg:grid-cols-2">
      <Measured
        title="CPU"
        note={`${of}, per cent of one core, since this page was opened`}
        samples={samples}
        pick={cpuOf}
        colour="--accent"
        shown={coreShare}
      />
      <Measured
        title="Memory"
        note={`${of}, since this page was opened`}
        samples={samples}
        pick={memoryOf}
        colour="--info"
        shown={bytes}
      />
    </div>
  );
}
