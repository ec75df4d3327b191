import { chosenNode, networkSettings } from '../../../core/alterations/network.ts';
import type { NetworkDraft } from '../../../core/contract/network-body.ts';
import type { NetworkRecord } from '../../../core/model/network.ts';
import { PLATFORM_SLUG } from '../../../core/model/tenant.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { type NetworkCandidate, readNetwork, networkNode } from '../../../core/rules/network.ts';
import type { NETWORKS } from '../../../core/operations/networks.ts';
import { idOf } from '../../store/record-ids.ts';
import { KvUnavailableError } from '../../store/kv.ts';
import {
  acceptedOf,
  type Admission,
  type Attempt,
  type Caller,
  commitAttempts,
  type Outcome,
} from '../admission.ts';
import { findNetwork, networkView } from '../../reads/network.ts';
import type { NetworkAdmission } from './network-stored.ts';

/**
 * The tenant's own nodes; a claim for a hand-over gives no right to place yet, and machines of control planes take nothing new
 * except the platform's.
 */
function candidates({ clusters }: Admission, { tenant, tenantSlug }: Caller): readonly NetworkCandidate[] {
  return tenant
    .list('nodes')
    .filter(({ record }) => !clusters.runsControlPlane(record.name) || tenantSlug === PLATFORM_SLUG)
    .map(({ id, record }) => ({
      name: record.name,
      available: record.schedulable && tenant.get('node-liveness', id)?.record.status === 'ready',
    }));
}

function alreadyExists(name: string): Rejection {
  return reject('network_already_exists', {
    field: 'name',
    received: received(name),
    why: 'The tenant already has a network of this name.',
  });
}

const accepted = acceptedOf<typeof NETWORKS.create>();

/** Stored at once; the agent of the node makes it, and the status says how that went. */
export async function createNetwork(
  { admission }: NetworkAdmission,
  caller: Caller,
  body: unknown,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Outcome<typeof NETWORKS.create>> {
  const draft = readNetwork(body);
  if (isRejection(draft)) return draft;
  const { settings, alterations } = networkSettings(draft);
  const { tenant } = caller;
  const attempt = (): Attempt<typeof NETWORKS.create> => {
    const id = idOf('networks', settings.name);
    if (findNetwork(tenant, settings.name) !== undefined) return alreadyExists(settings.name);
    const nodeId = networkNode(draft.nodeId, candidates(admission, caller));
    if (isRejection(nodeId)) return nodeId;
    const record: NetworkRecord = {
      ...settings,
      tenantId: tenant.tenantId,
      nodeId,
      createdAt: admission.clock.now().toISOString(),
    };
    const announced = draft.nodeId === undefined ? [...alterations, chosenNode(nodeId)] : alterations;
    const view = { ...networkView(tenant, record), alterations: announced, warnings: [], removed: [] };
    if (dryRun)
      return { answer: accepted(200, view), would: () => tenant.transaction().put('networks', id, record) };
    const transaction = tenant
      .transaction()
      .expect('networks', id, undefined)
      .expect('nodes', idOf('nodes', nodeId), tenant.get('nodes', idOf('nodes', nodeId)))
      .put('networks', id, record);
    const subject = { kind: 'Network', name: settings.name } as const;
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'network.created',
      subject,
      message: `${settings.name} created for ${nodeId}`,
      details: { nodeId },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'network.created', subject);
    return { answer: accepted(201, view), transaction };
  };
  try {
    return await commitAttempts(admission, caller, attempt);
  } catch (error) {
    if (error instanceof KvUnavailableError && error.certainlyNotApplied) return unresolvable(draft);
    throw error;
  }
}

/** Which nodes are candidates is confirmed by the commit, which is guarded by the node's record. */
function unresolvable({ nodeId }: NetworkDraft): Rejection {
  return {
    ...reject('network_node_candidates_unresolvable', {
      field: 'nodeId',
      received: received(nodeId),
      why: 'The store cannot be reached, so the candidate nodes cannot be confirmed; nothing was stored.',
    }),
    status: 503,
    retryAfterSeconds: 1,
  };
}
