import { useEffect, useRef } from 'react';
import uPlot, { type AlignedData, type Options } from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Series } from './bars.tsx';

function themed(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Steps of an axis in bytes: 512 KiB and 1 MiB, not 0.95 MiB. */
const BINARY = Array.from({ length: 60 }, (_, power) => 2 ** power);

interface Look {
  readonly height: number;
  readonly shown: (value: number) => string;
  /** Of the axis, at least: a flat line near zero stays near zero. */
  readonly least: number;
  readonly unit: 'decimal' | 'binary' | 'whole';
  /** How often something went wrong in each step; null: not known. */
  readonly marks?: readonly (number | null)[] | undefined;
}

/** Steps that are known while those beside them are not. */
function alone({ data }: uPlot, which: number): number[] {
  const values = data[which] ?? [];
  return [...values.keys()].filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null,
  );
}

const MARK = 4;

/** A red point at the top of every step that has some, with a line down to the axis. */
function drawMarks({ ctx, bbox, data, valToPos }: uPlot, marks: readonly (number | null)[]): void {
  ctx.save();
  ctx.strokeStyle = themed('--bad');
  ctx.fillStyle = themed('--bad');
  const ratio = devicePixelRatio;
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  for (const [at, time] of (data[0] ?? []).entries()) {
    if ((marks[at] ?? 0) === 0) continue;
    const x = Math.round(valToPos(time, 'x', true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top + MARK * ratio);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x, bbox.top + MARK * ratio, MARK * ratio, 0, 2 * Math.PI);
    ctx.fill();
  }
  ctx.restore();
}

function optionsOf(series: readonly Series[], width: number, look: Look): Options {
  const { height, shown, least, unit, marks } = look;
  const axis = {
    stroke: themed('--muted'),
    grid: { stroke: themed('--line'), width: 1 },
    ticks: { show: false },
    font: '11px "Inter Variable", system-ui, sans-serif',
  };
  return {
    width,
    height,
    padding: [10, 10, 0, 0],
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max((max ?? 0) * 1.1, least)] } },
    axes: [
      { ...axis, space: 70, size: 28, values: '{HH}:{mm}' },
      {
        ...axis,
        size: 64,
        values: (_plot, ticks) => ticks.map(shown),
        ...(unit === 'binary' ? { incrs: BINARY } : {}),
        ...(unit === 'whole' ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] } : {}),
      },
    ],
    ...(marks === undefined ? {} : { hooks: { draw: [(plot: uPlot) => drawMarks(plot, marks)] } }),
    series: [
      {},
      ...series.map(({ label, colour }) => ({
        label,
        stroke: themed(colour),
        width: 1.75,
        fill: `${themed(colour)}1f`,
        // Between two gaps there is no line to be seen.
        points: { show: true, size: 5, fill: themed(colour), filter: alone },
      })),
    ],
  };
}

/** Values over time. `summary` describes it for screen readers. */
export function Chart({
  times,
  series,
  summary,
  height = 160,
  shown = String,
  least = 1,
  unit = 'decimal',
  marks,
}: {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly summary: string;
} & Partial<Look>) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const data: AlignedData = [[...times], ...series.map(({ values }) => [...values])];
    const look: Look = { height, shown, least, unit, marks };
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(optionsOf(series, element.clientWidth, look), data, element);
    };
    draw();
    const resized = new ResizeObserver(() => {
      if (plot !== undefined && plot.width !== element.clientWidth)
        plot.setSize({ width: element.clientWidth, height });
    });
    resized.observe(element);
    // The colours are read when it is drawn.
    const recoloured = new MutationObserver(draw);
    recoloured.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      resized.disconnect();
      recoloured.disconnect();
      plot?.destroy();
    };
  }, [times, series, height, shown, least, unit, marks]);
  return (
    <figure className="m-0">
      <div ref={place} role="img" aria-label={summary} style={{ height }} />
    </figure>
  );
}
