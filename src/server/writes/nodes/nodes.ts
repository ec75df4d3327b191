import { setTimeout as pause } from 'node:timers/promises';
import type { Warning } from '../../../core/model/announcement.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import { fencedAfterMs } from '../../../core/model/volume.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { NODES } from '../../../core/operations/nodes.ts';
import { type DrainReport, drainReport } from '../../placement/drain-report.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import {
  acceptedOf,
  type Attempt,
  type Caller,
  commitAttempts,
  type Outcome,
  type Silent,
} from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { revokeNodeToken } from './enrol-node.ts';
import { networksOn } from '../../reads/network.ts';
import { removeNetwork } from '../networks/network-stored.ts';
import type { NodeAdmission } from './node-admission.ts';
import { nodeNotFound, nodeView } from '../../reads/node.ts';

const ANNOUNCED = { alterations: [], warnings: [], removed: [] } as const;

/** Cordoned: keeps what it has and takes nothing new. Drained: gives away what it has, too. */
export type NodeMode = 'cordon' | 'uncordon' | 'drain';

const MODES: Readonly<
  Record<
    NodeMode,
    { readonly event: string; readonly effect: string; readonly apply: (record: NodeRecord) => NodeRecord }
  >
> = {
  cordon: {
    event: 'node.cordoned',
    effect: 'takes no new instances',
    apply: (record) => ({ ...record, schedulable: false }),
  },
  uncordon: {
    event: 'node.uncordoned',
    effect: 'takes instances again',
    apply: ({ draining: _ended, ordersHeld, ...record }) => ({
      ...record,
      schedulable: true,
      ...(ordersHeld && { ordersForgone: ordersHeld }),
    }),
  },
  drain: {
    event: 'node.draining',
    effect: 'gives its instances away',
    apply: (record) => ({ ...record, schedulable: false, draining: true }),
  },
};

/** One warning for each workload whose instances are fewer for a moment. */
function stopsFirst(movable: DrainReport['movable']): readonly Warning[] {
  const first = new Map(
    movable.flatMap(({ deployment, why }) => (why === undefined ? [] : [[deployment, why]])),
  );
  return [...first].map(([deployment, why]) => ({
    code: 'drain_stops_first',
    field: 'name',
    why: `${deployment} stops before its successor starts: ${why}.`,
  }));
}

/**
 * After an older store was put back another node may have a lease that an earlier process gave, for a volume that this one orders to be
 * written here. Orders wait until that has certainly ended; processes since then give none to such a node.
 */
async function leasesEnded(
  { admission: { clock, startedMs } }: NodeAdmission,
  tenant: TenantStore,
  name: string,
): Promise<void> {
  if (startedMs === undefined) return;
  if (tenant.get('nodes', idOf('nodes', name))?.record.ordersHeld === undefined) return;
  const leased = tenant.list('volumes').filter(({ record }) => record.class === 'replicated');
  const fencedMs = Math.max(0, ...leased.map(({ record }) => fencedAfterMs(record)));
  const leftMs = startedMs + fencedMs - clock.monotonicMs();
  if (leftMs > 0) await pause(leftMs);
}

const inMode = acceptedOf<(typeof NODES)[NodeMode]>();
const silent = acceptedOf<Silent>();
const deleted = acceptedOf<typeof NODES.remove>();

export async function setNodeMode(
  nodes: NodeAdmission,
  caller: Caller,
  name: string,
  mode: NodeMode,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<Outcome<(typeof NODES)[NodeMode]>> {
  const { admission } = nodes;
  const { tenant } = caller;
  if (mode === 'uncordon') await leasesEnded(nodes, tenant, name);
  return commitAttempts(admission, caller, () => {
    const stored = tenant.get('nodes', idOf('nodes', name));
    if (stored === undefined) return nodeNotFound(name);
    const { event, effect, apply } = MODES[mode];
    const record = dryRun ? stored.record : apply(stored.record);
    const report: Partial<DrainReport> =
      mode === 'drain' ? drainReport(admission.clusters, tenant, stored.record.name) : {};
    const warnings = stopsFirst(report.movable ?? []);
    const answer = inMode(200, {
      ...nodeView(tenant, nodes.nodes, record),
      ...report,
      ...ANNOUNCED,
      warnings,
    });
    const changed =
      record.schedulable !== stored.record.schedulable ||
      record.draining !== stored.record.draining ||
      record.ordersHeld !== stored.record.ordersHeld;
    // A preview answers the node as it is, with what would become of what runs there.
    if (dryRun || !changed) return { answer };
    const transaction = tenant
      .transaction()
      .expect('nodes', stored.id, stored)
      .put('nodes', stored.id, record)
      .delete('node-drains', stored.id);
    const subject = { kind: 'Node', name } as const;
    admission.journal.event(transaction, tenant.tenantId, {
      kind: event,
      subject,
      message: `${name} ${effect}`,
      details: { ...report },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, event, subject);
    return { answer, transaction };
  });
}

/** Instances, the only copies of volumes, and networks that would be left behind. */
/** `gone`: what to do where the machine will never empty itself, if the route knows a way. */
export function nodeInUse(
  { nodes }: NodeAdmission,
  tenant: TenantStore,
  name: string,
  gone: string,
): Rejection | undefined {
  const instances = nodes.placedOn(tenant.tenantId, name).length;
  const volumes = tenant.list('volumes').filter(({ record }) => record.primaryNodeId === name).length;
  const networks = networksOn(tenant, name).length;
  if (instances === 0 && volumes === 0 && networks === 0) return undefined;
  const held = [
    instances > 0 ? `${instances} instances` : '',
    volumes > 0 ? `${volumes} primary volumes` : '',
    networks > 0 ? `${networks} networks` : '',
  ].filter((part) => part !== '');
  return reject('node_in_use', {
    field: 'name',
    received: received(name),
    expected: `a node that holds nothing: POST /api/v1/nodes/${name}/drain first; or ${gone}`,
    why: `${name} still holds ${held.join(' and ')}.`,
  });
}

/** The record, its name, its liveness and its token: with the token its session ends, and the farewell tells the agent not to return. */
export function removeNode(
  { admission }: NodeAdmission,
  stored: Stored<NodeRecord>,
  transaction: Transaction,
): void {
  const name = admission.store.getGlobal('node-names', stored.id);
  transaction
    .expect('nodes', stored.id, stored)
    .delete('nodes', stored.id)
    .delete('node-liveness', stored.id)
    .delete('node-drains', stored.id)
    .delete('node-sessions', stored.id)
    .delete('ingress-reports', stored.id)
    .expectGlobal('node-names', stored.id, name)
    .deleteGlobal('node-names', stored.id);
  revokeNodeToken(admission, transaction, stored.record.tokenId);
}

/** Each takes two records and an event, and a commit of etcd has room for 128. */
const NETWORKS_PER_COMMIT = 30;

/** All but as many as go with the node itself; should it end in between, the node is there with fewer. */
async function removeManyNetworks(
  { admission }: NodeAdmission,
  { idempotency: _itsOwn, ...caller }: Caller,
  name: string,
  ifMatch: IfMatch | undefined,
): Promise<Rejection | undefined> {
  const { tenant } = caller;
  const left = () => networksOn(tenant, name);
  while (left().length > NETWORKS_PER_COMMIT) {
    const outcome = await commitAttempts(admission, caller, (): Attempt<Silent> => {
      const stored = tenant.get('nodes', idOf('nodes', name));
      if (stored === undefined) return nodeNotFound(name);
      const outdated = revisionRejection(ifMatch, stored.modRevision);
      if (outdated) return outdated;
      const transaction = tenant.transaction().expect('nodes', stored.id, stored);
      for (const network of left().slice(0, NETWORKS_PER_COMMIT))
        removeNetwork(admission, tenant, network, transaction);
      return { answer: silent(200, {}), transaction };
    });
    if (isRejection(outcome)) return outcome;
  }
  return undefined;
}

export async function deleteNode(
  nodes: NodeAdmission,
  caller: Caller,
  name: string,
  force: boolean,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof NODES.remove>> {
  const { admission } = nodes;
  const { tenant } = caller;
  const isMeant = force && tenant.get('nodes', idOf('nodes', name)) !== undefined;
  const problem = isMeant ? await removeManyNetworks(nodes, caller, name, ifMatch) : undefined;
  if (problem) return problem;
  return commitAttempts(admission, caller, (): Attempt<typeof NODES.remove> => {
    const stored = tenant.get('nodes', idOf('nodes', name));
    if (stored === undefined) return nodeNotFound(name);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const held = nodeInUse(nodes, tenant, name, '?force=true when the machine is gone for good');
    if (held && !force) return held;
    const transaction = tenant.transaction();
    removeNode(nodes, stored, transaction);
    for (const network of networksOn(tenant, name)) removeNetwork(admission, tenant, network, transaction);
    const subject = { kind: 'Node', name } as const;
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'node.deleted',
      subject,
      message: held ? `${name} deleted although it held something: ${held.why}` : `${name} deleted`,
      details: { forced: held !== undefined },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'node.deleted', subject);
    return {
      answer: deleted(200, { ...nodeView(tenant, nodes.nodes, stored.record), ...ANNOUNCED }),
      transaction,
    };
  });
}
