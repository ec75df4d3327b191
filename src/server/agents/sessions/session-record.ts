import type { Hello } from '../../../core/protocol/agent-protocol.ts';
import { reachableAddress } from '../../../core/model/ipv4.ts';
import { optional } from '../../../core/model/values.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { NodeRecord, OrdersMark } from '../../../core/model/node.ts';
import type { Region } from '../../../core/model/region.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { foldCountry, nodeDescription, nodeLabelRule } from '../../../core/rules/node.ts';
import type { Journal } from '../../journal/journal.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store, TenantStore } from '../../store/store.ts';
import { type HandshakeRefusal, STALE } from './handshake.ts';
import type { KeyedRate } from './keyed-rate.ts';
import type { StoreLineage } from '../assignments/store-lineage.ts';
import { nodeKey } from '../assignments/placed-instances.ts';

const MAX_ATTEMPTS = 8;
const MAX_LABELS = 64;
const REPORTED = [
  'labels',
  'capacity',
  'engine',
  'platform',
  'agentVersion',
  'volumeEngines',
  'features',
  'hostPorts',
  'problems',
  'notReady',
  'conditions',
  'mesh',
  'ingress',
] as const;
const WORDS: Readonly<Record<(typeof REPORTED)[number], string>> = {
  labels: 'labels',
  capacity: 'capacity',
  engine: 'container engine',
  platform: 'platform',
  agentVersion: 'agent version',
  volumeEngines: 'volume engines',
  features: 'features of the agent',
  hostPorts: 'host ports',
  problems: 'problems of the node',
  notReady: 'readiness',
  conditions: 'conditions of its machine',
  mesh: 'mesh',
  ingress: 'ingress',
};

const MAX_TEXT = 1_000;

/** Of problems what they are: they say what to do. */
export function changesText(
  node: string,
  changed: readonly (keyof typeof WORDS)[],
  { problems = [], notReady, conditions = [] }: Pick<NodeRecord, 'problems' | 'notReady' | 'conditions'>,
): string {
  const words = changed.map((field) => {
    if (field === 'problems') return `${WORDS.problems} (${problems.join('; ') || 'none any more'})`;
    if (field === 'notReady') return notReady === undefined ? 'ready again' : `not ready (${notReady})`;
    if (field === 'conditions')
      return `${WORDS.conditions} (${conditions.map(({ message }) => message).join('; ') || 'none any more'})`;
    return WORDS[field];
  });
  return `${node} reports changes: ${words.join(', ')}`.slice(0, MAX_TEXT);
}

/** As they are stored: what a machine runs out of, and what is wrong with it. */
export function conditionsOf({
  conditions = [],
  faults = [],
}: Pick<Hello, 'conditions' | 'faults'>): Pick<NodeRecord, 'conditions'> {
  const all = [...conditions, ...faults];
  return all.length === 0 ? {} : { conditions: all };
}

/** Labels that do not hold are left off and announced: a node must not keep a country that its agent no longer claims. */
function acceptedLabels(
  hello: Hello,
  regions: readonly Region[],
): { readonly labels: Record<string, string>; readonly refused: readonly string[] } {
  const labels: Record<string, string> = {};
  const refused: string[] = [];
  for (const [key, value] of Object.entries(foldCountry(hello.labels))) {
    const rejection =
      Object.keys(labels).length < MAX_LABELS ? nodeLabelRule(key, value, regions) : undefined;
    if (rejection === undefined && Object.keys(labels).length < MAX_LABELS) labels[key] = value;
    else refused.push(`${key.slice(0, 64)}: ${rejection?.why ?? `more than ${MAX_LABELS} labels`}`);
  }
  return { labels, refused };
}

export interface SessionRecordDependencies {
  readonly store: Store;
  readonly journal: Journal;
  /** Throttles events of what a node changes on its own; absent: no limit. */
  readonly events?: KeyedRate;
  readonly regions: readonly Region[];
  /** Id of this process among several on one store. */
  readonly controlPlane?: string;
  readonly lineage?: () => StoreLineage | undefined;
}

/** Orders of the agent that are not in the store, unless an operator has given them up. */
function lostOrders(
  lineage: StoreLineage | undefined,
  { ordersForgone }: NodeRecord,
  { seen }: Hello,
): { readonly mark: OrdersMark; readonly found: number } | undefined {
  if (lineage === undefined || seen === undefined || !lineage.isOlderThan(seen)) return undefined;
  const { start, revision } = seen;
  return isSame(ordersForgone, seen) ? undefined : { mark: { start, revision }, found: lineage.revision };
}

function isSame(one: OrdersMark | undefined, other: OrdersMark): boolean {
  return one?.start === other.start && one.revision === other.revision;
}

/** Uncordoning raises no epoch: a node that knows a newer one than the copy refuses all orders for the volume. */
function movedVolumes(tenant: TenantStore): string {
  if (!tenant.list('volumes').some(({ record }) => record.class === 'replicated')) return '';
  return '. Replicated volumes that were promoted or moved since stay refused there (epoch_stale): make the copy a backup and restore that (berth server backup, restore) before you uncordon it';
}

/**
 * The new epoch and what the agent says of its machine, in one guarded commit before the welcome: of two sessions that
 * answer the same challenge epoch, one is stored and the other is stale, on whichever control plane they are.
 */
export async function recordSession(
  { store, journal, events, regions, controlPlane, lineage }: SessionRecordDependencies,
  tenantId: TenantId,
  known: NodeRecord,
  hello: Hello,
  from?: string,
): Promise<NodeRecord | HandshakeRefusal> {
  const tenant = store.forTenant(tenantId);
  const publishes = events?.take(nodeKey(tenantId, known.name)) ?? true;
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const stored = tenant.get('nodes', idOf('nodes', known.name));
    if (stored === undefined)
      return { code: 'node_not_found', message: 'the node was deleted', retry: false };
    const before = stored.record;
    if (
      before.sessionEpoch + 1 !== hello.epoch ||
      before.publicKey !== known.publicKey ||
      before.tokenId !== known.tokenId
    )
      return STALE;
    const { labels, refused } = acceptedLabels(hello, regions);
    const described = nodeDescription(hello);
    const facts = isRejection(described) ? {} : described;
    const {
      volumeEngines: _engines,
      features: _features,
      hostPorts: _ports,
      problems: _problems,
      notReady: _notReady,
      conditions: _conditions,
      disk: _disk,
      mesh: _mesh,
      ingress: _ingress,
      ...kept
    } = before;
    const can = {
      ...(hello.volumeEngines && { volumeEngines: hello.volumeEngines }),
      ...(hello.features && { features: hello.features }),
      ...(hello.hostPorts && { hostPorts: hello.hostPorts }),
      ...(hello.problems && { problems: hello.problems }),
      ...optional('notReady', hello.notReady),
      ...conditionsOf(hello),
      ...optional('disk', hello.disk),
      ...(hello.mesh && { mesh: { ...hello.mesh, ...optional('seenFrom', reachableAddress(from)) } }),
      ...(hello.ingress && { ingress: hello.ingress }),
    };
    const lost = lostOrders(lineage?.(), before, hello);
    const held = lost === undefined ? {} : { schedulable: false, ordersHeld: lost.mark };
    const record: NodeRecord = { ...kept, ...facts, labels, ...can, ...held, sessionEpoch: hello.epoch };
    const transaction = tenant
      .transaction()
      .expect('nodes', stored.id, stored)
      .put('nodes', stored.id, record);
    if (controlPlane !== undefined)
      transaction.put('node-sessions', stored.id, { controlPlane, epoch: hello.epoch });
    const subject = { kind: 'Node', name: known.name } as const;
    const changed = REPORTED.filter(
      (field) => canonicalJson(record[field] ?? null) !== canonicalJson(before[field] ?? null),
    );
    if (changed.length > 0 && publishes) {
      journal.event(transaction, tenantId, {
        kind: 'node.updated',
        subject,
        message: changesText(known.name, changed, record),
        details: Object.fromEntries(changed.map((field) => [field, record[field] ?? null])),
      });
    }
    if (lost !== undefined && !isSame(before.ordersHeld, lost.mark)) {
      journal.event(transaction, tenantId, {
        kind: 'node.orders_held',
        subject,
        message:
          `${known.name} has orders of revision ${lost.mark.revision} of the store, which was at ${lost.found} when it was opened: an older copy ` +
          'was put back. The node keeps what it runs, and is given no orders until it is uncordoned; then what this store does not ' +
          `know of is removed there, and what has changed since goes back${movedVolumes(tenant)}`,
        details: { told: lost.mark.revision, found: lost.found },
      });
    }
    if (refused.length > 0 && publishes) {
      journal.event(transaction, tenantId, {
        kind: 'node.labels_refused',
        subject,
        message: `labels of ${known.name} were refused: ${refused.join('; ')}`.slice(0, 2000),
        details: { refused },
      });
    }
    const committed = await tenant.commit(transaction);
    if (!committed.ok) continue;
    // Verdicts rest on it: what this process sees includes all that was ordered before this epoch.
    if (store.view.revision >= committed.revision) return record;
    return {
      code: 'store_unavailable',
      message: 'the store view is lagging; retry',
      retry: true,
    };
  }
  return STALE;
}

/** Two machines hold one key, e.g. after a disk was copied: which of them is the node is for a person to say. */
export async function quarantineNode(
  { store, journal }: SessionRecordDependencies,
  { tenantId, node }: { readonly tenantId: TenantId; readonly node: string },
): Promise<void> {
  const tenant = store.forTenant(tenantId);
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const stored = tenant.get('nodes', idOf('nodes', node));
    if (stored === undefined) return;
    const record: NodeRecord = { ...stored.record, schedulable: false };
    const transaction = tenant
      .transaction()
      .expect('nodes', stored.id, stored)
      .put('nodes', stored.id, record);
    journal.event(transaction, tenantId, {
      kind: 'node.identity_conflict',
      subject: { kind: 'Node', name: node },
      message: `two live machines use the key of ${node}; it takes no new instances until it is uncordoned. Stop one of them, or enrol it under another name`,
    });
    if ((await tenant.commit(transaction)).ok) return;
  }
}
