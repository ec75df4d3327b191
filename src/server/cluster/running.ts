import { releasesApart } from '../../core/protocol/releases.ts';
import { globalKey } from '../store/keys.ts';
import type { Kv } from '../store/kv.ts';
import { StoreFormatError } from '../store/record-codec.ts';
import { type ControlPlaneRecord, decodeRecord } from '../store/records.ts';

interface Running {
  readonly id: string;
  readonly record: ControlPlaneRecord;
}

/** From the store, not from the view: what is decided by it is guarded by what the store has now. */
export async function runningControlPlanes(kv: Kv): Promise<readonly Running[]> {
  const prefix = globalKey('control-planes', '');
  const { entries } = await kv.range(prefix);
  return entries.map(({ key, value }) => ({
    id: key.slice(prefix.length),
    record: decodeRecord(key, value),
  }));
}

/** Control planes of one store answer one another: they may be one release apart, and not more. */
export function requireNeighbours(own: ControlPlaneRecord, others: readonly Running[]): void {
  const far = others.find(({ record }) => releasesApart(own.version, record.version) > 1);
  if (far === undefined) return;
  const { nodeName, version } = far.record;
  throw new StoreFormatError(
    `control_plane_too_far: the control plane on ${nodeName} runs Berth ${version}, and this is Berth ${own.version}: control planes of one store may be one release apart. Upgrade one release at a time: start the release between them on every machine first.`,
  );
}
