import type { JobRunState } from '../../core/model/job-run.ts';
import { Badge, type Tone } from './badge.tsx';

type State = JobRunState | 'Scheduled' | 'Waiting';

const TONES: Readonly<Record<State, Tone>> = {
  Pending: 'warn',
  Waiting: 'warn',
  Running: 'info',
  Retrying: 'warn',
  Succeeded: 'ok',
  Failed: 'bad',
  Cancelled: 'none',
  Scheduled: 'none',
};

export function RunBadge({ state }: { readonly state: State }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}
