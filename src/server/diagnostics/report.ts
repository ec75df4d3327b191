import { arch, availableParallelism, freemem, release, totalmem, type } from 'node:os';
import type { TenantId } from '../../core/model/ids.ts';
import type { NodeRecord } from '../../core/model/node.ts';
import type { Config } from '../config.ts';
import { coldKey } from '../store/keys.ts';
import { COLD_OWNERS } from '../store/owners.ts';
import { idOf } from '../store/record-ids.ts';
import type { Store } from '../store/store.ts';
import { VERSION } from '../version.ts';

const MOST_NODES = 2_000;
const MOST_TENANTS = 200;
const SET = '(set)';

/** How a session with an agent stands in this process. */
export interface AgentSessionState {
  readonly epoch: number;
  /** Of the newest orders that were sent. */
  readonly generation: number;
  /** Questions that the agent is answering. */
  readonly streams: number;
  /** Requests for secrets that are being answered. */
  readonly resolving: number;
  readonly engineProblem?: string | undefined;
}

export interface ReportSources {
  readonly config: Config;
  readonly store: Store;
  /** Id of this process among the control planes of its store. */
  readonly member: string | undefined;
  readonly health: () => Promise<object>;
  readonly sizes: () => ReadonlyMap<string, { readonly records: number; readonly bytes: number }>;
  readonly session: (tenantId: TenantId, node: string) => AgentSessionState | undefined;
  readonly placed: (tenantId: TenantId, node: string) => number;
  readonly lastSeenAt: (tenantId: TenantId, node: string) => string | undefined;
}

export interface Section {
  readonly name: string;
  readonly make: (sources: ReportSources) => Promise<object> | object;
}

/** What can be said at once, in the order in which it is sent. */
export const SECTIONS: readonly Section[] = [
  { name: 'versions.json', make: versions },
  { name: 'configuration.json', make: ({ config }) => configuration(config) },
  { name: 'health.json', make: ({ health }) => health() },
  { name: 'members.json', make: members },
  { name: 'store.json', make: storeSizes },
  { name: 'agents.json', make: agents },
];

function versions({ config, member, store }: ReportSources): object {
  const memory = process.memoryUsage();
  return {
    berth: VERSION,
    member: member ?? config.nodeName,
    node: process.versions,
    kernel: `${type()} ${release()}`,
    arch: arch(),
    cpus: availableParallelism(),
    memoryBytes: { total: totalmem(), free: freemem(), process: memory },
    uptimeSeconds: Math.round(process.uptime()),
    options: process.execArgv,
    store: config.store.kind,
    revision: store.view.revision,
  };
}

/** Settings as they are in force. Those that name people, or are half of a credential, are told as set. */
export function configuration(config: Config): object {
  const { rootKey, secrets, acme } = config;
  const { roleId, ...vault } = secrets.vault;
  return {
    ...config,
    rootKey: rootKey.kind === 'command' ? { kind: 'command', program: rootKey.command[0] } : rootKey,
    secrets: { ...secrets, vault: { ...vault, ...(roleId === undefined ? {} : { roleId: SET }) } },
    acme: { ...acme, ...(acme.email === undefined ? {} : { email: SET }) },
  };
}

function members({ store }: ReportSources): object {
  const owners = store.listGlobal('shards').map(({ id, record }) => [record.owner, id] as const);
  const shards = Map.groupBy(owners, ([owner]) => owner);
  return {
    controlPlanes: store.listGlobal('control-planes').map(({ id, record }) => ({
      id,
      ...record,
      shards: (shards.get(id) ?? []).map(([, shard]) => Number(shard)).sort((a, b) => a - b),
    })),
  };
}

async function storeSizes({ store, sizes }: ReportSources): Promise<object> {
  const tenants = store.view.tenantIds();
  const counted = tenants.slice(0, MOST_TENANTS);
  const kept: Record<string, { records: number; bytes: number }> = {};
  for (const kind of Object.keys(COLD_OWNERS)) {
    const sum = { records: 0, bytes: 0 };
    for (const tenantId of counted) {
      const size = await store.kv.size(coldKey(tenantId, kind, ''));
      sum.records += size.records;
      sum.bytes += size.bytes;
    }
    kept[kind] = sum;
  }
  return {
    tenants: tenants.length,
    status: await store.kv.status(),
    fileBytes: await store.kv.fileBytes?.(),
    inMemory: Object.fromEntries(sizes()),
    inStoreAlone: kept,
    ...(counted.length < tenants.length && { note: `the latter of ${counted.length} tenants only` }),
  };
}

function agents(sources: ReportSources): object {
  const { store } = sources;
  const found: object[] = [];
  let leftOut = 0;
  for (const tenantId of store.view.tenantIds())
    for (const { record } of store.forTenant(tenantId).list('nodes'))
      if (found.length < MOST_NODES) found.push(agent(sources, tenantId, record));
      else leftOut += 1;
  return { agents: found, leftOut };
}

/** Without labels, addresses and keys. */
function agent(sources: ReportSources, tenantId: TenantId, record: NodeRecord): object {
  const { store, session, placed, lastSeenAt } = sources;
  const { name, agentVersion, engine, platform, capacity, features, schedulable, draining } = record;
  const tenant = store.forTenant(tenantId);
  const liveness = tenant.get('node-liveness', idOf('node-liveness', name))?.record;
  return {
    name,
    tenantId,
    agentVersion,
    engine,
    platform,
    capacity,
    features,
    schedulable,
    draining,
    ordersHeld: record.ordersHeld !== undefined,
    status: liveness?.status ?? 'never connected',
    reason: liveness?.reason,
    lastSeenAt: lastSeenAt(tenantId, name) ?? liveness?.lastSeenAt,
    conditions: record.conditions,
    problems: record.problems,
    notReady: record.notReady,
    instances: placed(tenantId, name),
    session: session(tenantId, name) ?? tenant.get('node-sessions', idOf('node-sessions', name))?.record,
  };
}
