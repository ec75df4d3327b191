import type { NodeCleaning } from '../../core/protocol/agent-protocol.ts';
import { dueDivergences, type VolumeView } from './plan.ts';

export type DivergenceRow = NonNullable<NodeCleaning['divergences']>[number];

const HOUR_MS = 60 * 60_000;

/** As `berth node clean` shows them: whether each goes, or why it stays. */
export function divergenceRows(
  view: Pick<VolumeView, 'order' | 'state' | 'keepDivergedMs'>,
): readonly DivergenceRow[] {
  const due = new Set(dueDivergences(view).map(({ path }) => path));
  return view.state.diverged.map(({ epoch, path, keptMs }) => ({
    volumeId: view.order.id,
    epoch,
    path,
    removed: due.has(path),
    message: messageOf(keptMs, view.keepDivergedMs, due.has(path)),
  }));
}

function messageOf(keptMs: number, keepMs: number | undefined, isDue: boolean): string {
  if (keepMs === undefined) return 'it is kept until somebody removes it (--clean-diverged off)';
  const kept = `kept for ${hours(keptMs)} of ${hours(keepMs)} h`;
  if (isDue) return kept;
  return keptMs < keepMs ? kept : `${kept}, and no whole copy of the volume's present bytes is here yet`;
}

function hours(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}
