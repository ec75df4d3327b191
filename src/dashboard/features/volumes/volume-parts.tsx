import type { Volume } from '../../lib/records.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Meter } from '../../components/meter.tsx';
import { bytes } from '../../lib/format.ts';
import type { VolumeCopy } from './volume-queries.ts';

const PHASES: Readonly<Record<Volume['phase'], Tone>> = {
  Pending: 'warn',
  Materializing: 'info',
  Ready: 'ok',
  Degraded: 'bad',
  Deleting: 'none',
};

const COPIES: Readonly<Record<VolumeCopy['state'], Tone>> = { live: 'ok', syncing: 'info', failed: 'bad' };

export function VolumePhaseBadge({ phase }: Pick<Volume, 'phase'>) {
  return <Badge tone={PHASES[phase]}>{phase}</Badge>;
}

export function CopyBadge({ state }: Pick<VolumeCopy, 'state'>) {
  return <Badge tone={COPIES[state]}>{state}</Badge>;
}

/** How full it is; what nobody has measured is not drawn. */
export function Fill({ volume, label = 'Used' }: { readonly volume: Volume; readonly label?: string }) {
  const { usedBytes, sizeBytes } = volume;
  if (usedBytes === null)
    return <span className="text-xs text-muted">{bytes(sizeBytes)}, use not measured yet</span>;
  return (
    <Meter
      label={label}
      value={usedBytes}
      max={sizeBytes}
      text={`${bytes(usedBytes)} of ${bytes(sizeBytes)}`}
    />
  );
}

export function lagText({ lagSeconds, state }: VolumeCopy): string {
  if (lagSeconds !== null) return `${lagSeconds} s behind`;
  return state === 'failed' ? 'not reached' : 'not measured yet';
}
