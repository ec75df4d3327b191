import { Badge } from '../../components/badge.tsx';
import { count } from '../../lib/format.ts';
import type { DrainReport } from './node-queries.ts';

/** What goes where, and what cannot go and why. */
export function DrainReportView({ report }: { readonly report: DrainReport }) {
  const { movable = [], blocked = [] } = report;
  return (
    <div className="flex flex-col gap-4">
      <p role="status">
        {count(movable.length, 'instance')} can move, {blocked.length} cannot.
      </p>
      {movable.length === 0 ? null : (
        <ul className="flex flex-col gap-1.5">
          {movable.map(({ instance, deployment, to, why }) => (
            <li key={instance} className="flex flex-wrap items-center gap-2">
              <Badge tone="ok">moves</Badge>
              <span className="font-medium">{deployment}</span>
              <span className="text-muted">to {to}</span>
              {why === undefined ? null : <span className="text-xs text-muted">stops first: {why}</span>}
            </li>
          ))}
        </ul>
      )}
      {blocked.length === 0 ? null : (
        <ul className="flex flex-col gap-3">
          {blocked.map(({ instance, deployment, why, nodes }) => (
            <li key={instance}>
              <span className="flex flex-wrap items-center gap-2">
                <Badge tone="bad">stays</Badge>
                <span className="font-medium">{deployment}</span>
              </span>
              <p className="mt-1 text-xs text-muted">{why}</p>
              <ul className="mt-1 text-xs text-muted">
                {nodes.map(({ node, reasons }) => (
                  <li key={node}>
                    {node}: {reasons.map(({ message }) => message).join('; ')}
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
