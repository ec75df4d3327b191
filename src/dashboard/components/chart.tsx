import { useEffect, useRef } from 'react';
import uPlot, { type AlignedData, type Options } from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A colour of the theme, as `--accent`. */
  readonly colour: string;
}

function themed(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function optionsOf(
  series: readonly Series[],
  width: number,
  height: number,
  kind: 'line' | 'bars',
  shown: (value: number) => string,
): Options {
  const axis = {
    stroke: themed('--muted'),
    grid: { stroke: themed('--line'), width: 1 },
    ticks: { show: false },
    font: '11px "Inter Variable", system-ui, sans-serif',
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 40], radius: 0.15 });
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
        fill: `${themed(colour)}${kind === 'bars' ? 'cc' : '1f'}`,
        points: { show: false },
        ...(kind === 'bars' && bars !== undefined ? { paths: bars, width: 0 } : {}),
      })),
    ],
  };
}

/** Values over time. `summary` describes it for screen readers. */
export function Chart({
  times,
  series,
  summary,
  kind = 'line',
  height = 160,
  shown = String,
}: {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly summary: string;
  readonly kind?: 'line' | 'bars';
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
      plot = new uPlot(optionsOf(series, element.clientWidth, height, kind, shown), data, element);
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
  }, [times, series, kind, height, shown]);
  return (
    <figure className="m-0">
      {series.length < 2 ? null : (
        <figcaption className="flex gap-4 pb-1 text-xs text-muted">
          {series.map(({ label, colour }) => (
            <span key={label} className="flex items-center gap-1.5">
              <span
                aria-hidden="true"
                className="h-0.5 w-3.5 rounded"
                style={{ background: `var(${colour})` }}
              />
              {label}
            </span>
          ))}
        </figcaption>
      )}
      <div ref={place} role="img" aria-label={summary} style={{ height }} />
    </figure>
  );
}
