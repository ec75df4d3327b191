import type { instance } from '../../core/contract/answers/deployment.ts';
import type { InstanceView } from '../../core/model/deployment.ts';
import type { NodeName } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import type { InstanceUsage } from '../../core/protocol/agent-protocol.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { type Answer, type Exactly, exactly } from '../../core/schema/shape.ts';
import type { Stored } from '../store/collection.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

export function instanceNotFound(id: string): Rejection {
  return reject('instance_not_found', {
    field: 'instance',
    received: received(id),
    why: 'The deployment has no instance of this id.',
  });
}

/** Of an instance whose node does not answer. */
export function awayNode(store: TenantStore, nodeId: NodeName): Pick<InstanceView, 'nodeStatus'> {
  const liveness = store.get('node-liveness', idOf('node-liveness', nodeId))?.record;
  if (liveness?.status !== 'failed') return {};
  return { nodeStatus: liveness.lost === true ? 'lost' : 'failed' };
}

type Instance = Answer<typeof instance>;
const asInstance = exactly<Instance>();

/** The record as wanted, with what the node's agent last saw and measured. */
export function instanceView(
  store: TenantStore,
  { id, record }: Stored<InstanceRecord>,
  usage?: InstanceUsage,
): Exactly<Instance> {
  const { tenantId: _own, once: _terms, restart: _asked, ...wanted } = record;
  const {
    phase,
    id: _same,
    specHash: observedSpecHash,
    secretsVersion: observedSecretsVersion,
    ...seen
  } = store.get('observations', id)?.record ?? { phase: 'pending' as const };
  return asInstance({
    ...wanted,
    ...awayNode(store, record.nodeId),
    state: record.wanted === 'stop' && phase !== 'removed' ? 'stopping' : phase,
    ...seen,
    ...(observedSpecHash === undefined ? {} : { observedSpecHash }),
    ...(observedSecretsVersion === undefined ? {} : { observedSecretsVersion }),
    ...(usage && { usage: { cpuPercent: usage.cpuPercent, memoryBytes: usage.memoryBytes } }),
  });
}
