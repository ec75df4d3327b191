import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { graphOf, ROW_PX } from './consumers-graph.ts';
import type { SecretSource } from './readers.ts';

const WIDTH = 100;

function curve(from: number, to: number): string {
  const y = (row: number) => row * ROW_PX + ROW_PX / 2;
  return `M0 ${y(from)}C${WIDTH / 2} ${y(from)} ${WIDTH / 2} ${y(to)} ${WIDTH} ${y(to)}`;
}

function targetOf(reader: string): string {
  return reader.startsWith('job ') ? `/jobs/${reader.slice(4)}` : `/deployments/${reader}`;
}

const ROW = 'flex items-center gap-2 truncate';

/** Who reads what. A line without a document behind it is marked: what reads it does not start. */
export function GraphView({ sources }: { readonly sources: readonly SecretSource[] }) {
  const { paths, readers, lines, rows } = graphOf(sources);
  return (
    <div className="grid grid-cols-[minmax(0,5fr)_minmax(2rem,3fr)_minmax(0,5fr)] gap-3 text-xs">
      <ul aria-label="Paths">
        {paths.map(({ name, exists }) => (
          <li
            key={name}
            style={{ height: ROW_PX }}
            className={`${ROW} justify-end ${exists ? '' : 'text-bad'}`}
          >
            {exists ? null : <Icon name="warning" className="size-3.5" />}
            <code className="truncate font-mono" title={name}>
              {name}
            </code>
          </li>
        ))}
      </ul>
      <svg
        aria-hidden="true"
        viewBox={`0 0 ${WIDTH} ${rows * ROW_PX}`}
        preserveAspectRatio="none"
        style={{ height: rows * ROW_PX }}
        className="w-full"
      >
        {lines.map(({ from, to, exists }) => (
          <path
            key={`${from}-${to}`}
            d={curve(from, to)}
            fill="none"
            stroke={exists ? 'var(--accent)' : 'var(--bad)'}
            strokeWidth="1.5"
            strokeDasharray={exists ? undefined : '4 3'}
            vectorEffect="non-scaling-stroke"
            opacity="0.7"
          />
        ))}
      </svg>
      <ul aria-label="Readers">
        {readers.map(({ name }) => (
          <li key={name} style={{ height: ROW_PX }} className={ROW}>
            <Icon name={name.startsWith('job ') ? 'clock' : 'layers'} className="size-3.5" />
            <Link to={targetOf(name)} className="truncate font-medium hover:text-accent hover:underline">
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
