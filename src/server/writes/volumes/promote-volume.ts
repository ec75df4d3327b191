import { type NodeName } from '../../../core/model/ids.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import type { VOLUMES } from '../../../core/operations/volumes.ts';
import { begun, movingText, whyNoTarget } from '../../../core/plan/volumes/volume-switchover.ts';
import { SEAL_FEATURE } from '../../../core/protocol/agent-protocol.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { busyWith, moveTarget, prepares, unfitFor, volumeImages } from '../../placement/switchover.ts';
import { idOf } from '../../store/record-ids.ts';
import { storedVolumeView, volumeNotFound } from '../../reads/volume.ts';
import { acceptedOf, type Attempt, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { enrolledNode, notReplicated, volumeChange } from './volume-replicas.ts';
import type { VolumeAdmission } from './volume-stored.ts';

const accepted = acceptedOf<typeof VOLUMES.promote>();

/** Why the primary cannot be moved there now, for people. */
function whyNot(
  { admission: { clusters } }: VolumeAdmission,
  { tenant }: Caller,
  record: VolumeRecord,
  node: NodeName,
): string | undefined {
  if (record.switchover !== undefined) return `The volume is being moved to ${record.switchover.to} already.`;
  const unable = whyNoTarget(
    record.replicas.find(({ nodeId }) => nodeId === node),
    moveTarget(tenant, clusters, node),
  );
  if (unable !== undefined) return `${node}: ${unable}.`;
  const primary = tenant.get('nodes', idOf('nodes', record.primaryNodeId ?? ''))?.record;
  if (primary?.features?.includes(SEAL_FEATURE) !== true)
    return `The agent of ${record.primaryNodeId} is too old to give a volume away; update it.`;
  const held = busyWith(tenant, clusters, record) ?? unfitFor(tenant, clusters, record, node);
  return held === undefined ? undefined : `${held}.`;
}

function notReady(record: VolumeRecord): Rejection | undefined {
  if (record.phase === 'Ready') return undefined;
  return reject('volume_not_ready', {
    field: 'id',
    received: received(record.id),
    why: `The volume is ${record.phase}${record.message === undefined ? '' : `: ${record.message}`}.`,
  });
}

/** Wishes the move; the volumes controller carries it out. A move that is under way, or done, is answered as it is. */
export async function promoteVolume(
  volumes: VolumeAdmission,
  caller: Caller,
  volumeId: string,
  nodeId: string | undefined,
): Promise<Outcome<typeof VOLUMES.promote>> {
  return commitAttempts(volumes.admission, caller, (): Attempt<typeof VOLUMES.promote> => {
    const { tenant } = caller;
    const stored = tenant.get('volumes', idOf('volumes', volumeId));
    if (stored === undefined) return volumeNotFound(volumeId);
    const node = notReplicated(stored.record) ?? enrolledNode(caller, nodeId);
    if (isRejection(node)) return node;
    const answer = (record: VolumeRecord) => {
      const { revision: _before, ...view } = storedVolumeView(tenant, volumes.seen, { ...stored, record });
      return accepted(200, { ...view, alterations: [], warnings: [], removed: [] });
    };
    const { primaryNodeId, switchover } = stored.record;
    if (primaryNodeId === node || switchover?.to === node) return { answer: answer(stored.record) };
    const problem = notReady(stored.record);
    if (problem) return problem;
    const why = whyNot(volumes, caller, stored.record, node);
    if (why !== undefined)
      return reject('volume_promote_refused', { field: 'node_id', received: received(nodeId), why });
    const now = volumes.admission.clock.now().toISOString();
    const { clusters } = volumes.admission;
    const images = prepares(tenant, node) ? volumeImages(tenant, clusters, stored.record) : [];
    const { record } = begun(stored.record, { to: node, by: 'request', since: now, images });
    const transaction = volumeChange(volumes, caller, stored, record, {
      kind: 'volume.switchover',
      message: movingText(primaryNodeId, node, images),
      details: { from: primaryNodeId, to: node, by: 'request' },
    });
    return { answer: answer(record), transaction };
  });
}
