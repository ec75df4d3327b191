import type { ReactNode } from 'react';
import type { DeploymentPhase } from '../../core/model/deployment.ts';

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'none';

const TONES: Readonly<Record<Tone, string>> = {
  ok: 'bg-ok-soft text-ok',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
  none: 'bg-sunken text-muted',
};

const DOTS: Readonly<Record<Tone, string>> = {
  ok: 'bg-ok',
  warn: 'bg-warn',
  bad: 'bg-bad',
  info: 'bg-info',
  none: 'bg-faint',
};

/** A short label with a tone; the label carries the meaning, the colour only helps to find it. */
export function Badge({ tone = 'none', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      <span aria-hidden="true" className={`size-1.5 rounded-full ${DOTS[tone]}`} />
      {children}
    </span>
  );
}

const PHASES: Readonly<Record<DeploymentPhase, Tone>> = {
  Pending: 'warn',
  Waiting: 'warn',
  Progressing: 'info',
  Running: 'ok',
  Degraded: 'bad',
  Stopped: 'none',
};

export function PhaseBadge({ phase }: { readonly phase: DeploymentPhase }) {
  return <Badge tone={PHASES[phase]}>{phase}</Badge>;
}
