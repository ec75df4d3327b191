import { Badge, type Tone } from '../../components/badge.tsx';
import type { Job } from './job-queries.ts';

const TONES: Readonly<Record<Job['status']['phase'], Tone>> = {
  Pending: 'warn',
  Running: 'info',
  Retrying: 'warn',
  Succeeded: 'ok',
  Failed: 'bad',
  Cancelled: 'none',
  Scheduled: 'none',
};

export function RunBadge({ state }: { readonly state: Job['status']['phase'] }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}
