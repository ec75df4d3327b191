import type { Deployment } from '../../lib/records.ts';

/** Worst first: what needs a person is at the top. */
const RANK = { Degraded: 0, Pending: 1, Waiting: 2, Progressing: 3, Running: 4, Stopped: 5 } as const;

export function urgency({ status }: Deployment): number {
  return RANK[status.phase];
}

/** Up to this many instances are drawn one by one. */
const MAX_DOTS = 12;

/** Healthy of desired, as a drawing and as text. */
export function InstanceDots({ status }: { readonly status: Deployment['status'] }) {
  const { desired, healthy, running } = status;
  const dots =
    desired > MAX_DOTS
      ? []
      : Array.from({ length: desired }, (_, at) =>
          at < healthy ? 'bg-ok' : at < running ? 'bg-warn' : 'bg-line-strong',
        );
  return (
    <span className="flex items-center gap-2">
      <span className="w-11 tabular-nums">
        {healthy}/{desired}
      </span>
      <span aria-hidden="true" className="flex gap-0.5">
        {dots.map((tone, at) => (
          <span key={at} className={`h-3.5 w-1.5 rounded-sm ${tone}`} />
        ))}
      </span>
      <span className="sr-only">healthy</span>
    </span>
  );
}
