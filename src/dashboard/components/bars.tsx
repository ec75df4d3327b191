export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A colour of the theme, as `--accent`. */
  readonly colour: string;
}

function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <figcaption className="flex gap-4 pb-1 text-xs text-muted">
      {series.map(({ label, colour }) => (
        <span key={label} className="flex items-center gap-1.5">
          <span aria-hidden="true" className="h-0.5 w-3.5 rounded" style={{ background: `var(${colour})` }} />
          {label}
        </span>
      ))}
    </figcaption>
  );
}

/** Of the height, so that the highest column does not touch the edge. */
const TOP = 1.1;
const LABELLED = 6;

function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
}

/** Numbers per span of time, one series on the other. Without the code of the charts, which the first page would wait for. */
export function Bars({
  times,
  series,
  summary,
}: {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly summary: string;
}) {
  const columns = times.map((_, at) => series.map(({ values }) => values[at] ?? 0));
  const highest = Math.max(1, ...columns.map((values) => values.reduce((sum, value) => sum + value, 0)));
  const scale = 100 / (highest * TOP);
  return (
    <figure className="m-0">
      <Legend series={series} />
      <div role="img" aria-label={summary} className="relative">
        <svg
          viewBox={`0 0 ${Math.max(1, times.length)} 100`}
          preserveAspectRatio="none"
          aria-hidden="true"
          className="h-38 w-full border-y"
        >
          {columns.map((values, at) => {
            let below = 0;
            return values.map((value, which) => {
              const height = value * scale;
              below += height;
              if (value === 0) return null;
              return (
                <rect
                  key={`${times[at]} ${series[which]?.label}`}
                  x={at + 0.15}
                  y={100 - below}
                  width={0.7}
                  height={height}
                  style={{ fill: `var(${series[which]?.colour})` }}
                />
              );
            });
          })}
        </svg>
        <span aria-hidden="true" className="absolute inset-x-0 top-0 h-38 text-2xs text-muted">
          <span className="absolute left-0 border-t pr-1" style={{ top: `${100 - 100 / TOP}%` }}>
            {highest}
          </span>
        </span>
        <div aria-hidden="true" className="relative h-5 pt-1 text-2xs text-muted">
          {times.map((time, at) =>
            at % LABELLED === 0 ? (
              <span key={time} className="absolute" style={{ left: `${(100 * at) / times.length}%` }}>
                {clock(time)}
              </span>
            ) : null,
          )}
        </div>
      </div>
    </figure>
  );
}
