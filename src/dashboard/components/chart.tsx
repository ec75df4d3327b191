import { useEffect, useRef } from 'react';
import uPlot, { type AlignedData, type Options } from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Series } from './bars.tsx';

function themed(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function optionsOf(
  series: readonly Series[],
  width: number,
  height: number,
  shown: (value: number) => string,
): Options {
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
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      { ...axis, space: 70, size: 28, values: '{HH}:{mm}' },
      { ...axis, size: 52, values: (_plot, ticks) => ticks.map(shown) },
    ],
    series: [
      {},
      ...series.map(({ label, colour }) => ({
        label,
        stroke: themed(colour),
        width: 1.75,
        fill: `${themed(colour)}1f`,
        points: { show: false },
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
}: {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly summary: string;
  readonly height?: number;
  readonly shown?: (value: number) => string;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const data: AlignedData = [[...times], ...series.map(({ values }) => [...values])];
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(optionsOf(series, element.clientWidth, height, shown), data, element);
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
  }, [times, series, height, shown]);
  return (
    <figure className="m-0">
      <div ref={place} role="img" aria-label={summary} style={{ height }} />
    </figure>
  );
}
