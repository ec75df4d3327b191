import { useMemo } from 'react';
import { WAY_WORDS, type Way } from '../../../core/contract/mesh-standing.ts';
import type { NodePath } from './network-queries.ts';

const MARKS: Readonly<Record<Way['state'], { readonly mark: string; readonly look: string }>> = {
  direct: { mark: '●', look: 'text-ok' },
  relayed: { mark: '◐', look: 'bg-warn-soft text-warn' },
  none: { mark: '✕', look: 'bg-bad-soft text-bad font-semibold' },
};

function told({ from, to, way, roundTripMs }: NodePath): string {
  const where = way.address === undefined ? '' : ` at ${way.address}`;
  const time = roundTripMs === undefined || way.state === 'none' ? '' : `, ${roundTripMs} ms`;
  return `${from} to ${to}: ${WAY_WORDS[way.state]}${where}${time}${way.why === undefined ? '' : `, ${way.why}`}`;
}

/** More nodes than this are drawn smaller. */
const DENSE = 25;

/** From each node (row) to each (column). Marks differ in form and not in colour alone; fifty nodes fit a screen. */
export function PathMatrix({
  nodes,
  paths,
}: {
  readonly nodes: readonly string[];
  readonly paths: readonly NodePath[];
}) {
  const size = nodes.length > DENSE ? 'size-4 min-w-4 text-2xs leading-none' : 'size-6 min-w-6';
  const found = useMemo(() => new Map(paths.map((path) => [`${path.from} ${path.to}`, path])), [paths]);
  return (
    <section
      aria-label="Paths between nodes"
      // A region that scrolls must be reachable for those who scroll with keys.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      className="relative max-h-[64rem] overflow-auto p-4"
    >
      <table className="border-separate border-spacing-0 text-xs">
        <thead className="sticky -top-4 z-20 bg-surface">
          <tr>
            <th
              scope="col"
              className="sticky -left-4 z-10 bg-surface px-2 py-1 text-left align-bottom font-medium text-muted"
            >
              from \ to
            </th>
            {nodes.map((node) => (
              <th
                key={node}
                scope="col"
                title={node}
                className={`${size} px-0 pb-2 align-bottom font-medium`}
              >
                <span className="mx-auto block max-h-32 truncate [writing-mode:vertical-rl] rotate-180">
                  {node}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map((from) => (
            <tr key={from} className="hover:bg-hover">
              <th
                scope="row"
                title={from}
                className="sticky -left-4 max-w-40 truncate bg-surface pr-3 pl-2 text-left font-medium"
              >
                {from}
              </th>
              {nodes.map((to) => {
                const path = found.get(`${from} ${to}`);
                if (path === undefined)
                  return (
                    <td key={to} className={`${size} text-center text-faint`}>
                      <span aria-hidden="true">{from === to ? '' : '·'}</span>
                    </td>
                  );
                const { mark, look } = MARKS[path.way.state];
                return (
                  <td key={to} title={told(path)} className={`${size} text-center ${look}`}>
                    <span aria-hidden="true">{mark}</span>
                    <span className="sr-only">{WAY_WORDS[path.way.state]}</span>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function MatrixLegend() {
  return (
    <span className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
      {(['direct', 'relayed', 'none'] as const).map((state) => (
        <span key={state} className="inline-flex items-center gap-1.5">
          <span aria-hidden="true" className={`grid size-5 place-items-center rounded ${MARKS[state].look}`}>
            {MARKS[state].mark}
          </span>
          {WAY_WORDS[state]}
        </span>
      ))}
    </span>
  );
}
