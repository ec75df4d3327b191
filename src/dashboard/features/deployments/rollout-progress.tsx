import type { Deployment } from '../../lib/records.ts';

const STEPS = [
  ['placed', 'Placed', 'have a node'],
  ['updated', 'Current', 'run this version'],
  ['running', 'Running', 'have a running container'],
  ['healthy', 'Healthy', 'pass their check'],
] as const;

/** How far the current version has come: each step as a share of the instances that are wanted. */
export function RolloutProgress({ status }: { readonly status: Deployment['status'] }) {
  const { desired } = status;
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-4 lg:grid-cols-4">
      {STEPS.map(([key, title, meaning]) => {
        const value = status[key];
        const share = desired === 0 ? 0 : Math.min(100, (value / desired) * 100);
        return (
          <div key={key} title={`${value} of ${desired} ${meaning}`}>
            <dt className="text-xs text-muted">{title}</dt>
            <dd className="text-lg font-semibold tabular-nums">
              {value}
              <span className="text-sm font-normal text-muted"> / {desired}</span>
            </dd>
            <div aria-hidden="true" className="mt-1 h-1.5 overflow-hidden rounded-full bg-sunken">
              <div
                className={`h-full rounded-full transition-[width] duration-500 ${value >= desired ? 'bg-ok' : 'bg-info'}`}
                style={{ width: `${share}%` }}
              />
            </div>
          </div>
        );
      })}
    </dl>
  );
}
