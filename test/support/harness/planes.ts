/**
 * Several control planes as processes of their own on one etcd, with the keys they must share.
 *
 *     const planes = await startPlanes(etcd, 3);
 *     await planes.owner(tenant.id);       // which of them decides for the tenant
 *     await planes.stop();
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TenantId } from '../../../src/core/model/ids.ts';
import { shardOf } from '../../../src/server/cluster/shard-map.ts';
import { openEtcdKv } from '../../../src/server/store/etcd/open.ts';
import { globalKey } from '../../../src/server/store/keys.ts';
import type { Kv } from '../../../src/server/store/kv.ts';
import { decodeRecord, type ShardRecord } from '../../../src/server/store/records.ts';
import type { Etcd } from './etcd.ts';
import { PlaneProcess } from './plane-process.ts';

export interface PlaneHealth {
  readonly id: string;
  readonly held: number;
  readonly refused: number;
}

export class Planes {
  readonly members: readonly PlaneProcess[];
  /** The store, read past the control planes. */
  readonly kv: Kv;
  /** What they were started with: another one started so is one of them. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #keys: string;

  constructor(
    members: readonly PlaneProcess[],
    kv: Kv,
    environment: Readonly<Record<string, string>>,
    keys: string,
  ) {
    this.members = members;
    this.kv = kv;
    this.environment = environment;
    this.#keys = keys;
  }

  get first(): PlaneProcess {
    const [first] = this.members;
    if (first === undefined) throw new Error('no control plane');
    return first;
  }

  /** The control plane that decides for the tenant, as the store says; undefined: none does now. */
  async owner(tenantId: string): Promise<PlaneProcess | undefined> {
    const key = globalKey('shards', String(shardOf(tenantId as TenantId)));
    const entry = await this.kv.get(key);
    if (entry === undefined) return undefined;
    const { owner } = decodeRecord<ShardRecord>(key, entry.value);
    const healths = await Promise.all(this.members.map(healthOf));
    return this.members[healths.findIndex((health) => health?.id === owner)];
  }

  others(plane: PlaneProcess): readonly PlaneProcess[] {
    return this.members.filter((member) => member !== plane);
  }

  get addresses(): readonly string[] {
    return this.members.map(({ url }) => url);
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.members.map((member) => member.dispose()));
    await this.kv.close();
    rmSync(this.#keys, { recursive: true, force: true });
  }
}

/** Of a control plane that answers; undefined: it does not. */
export async function healthOf(plane: PlaneProcess): Promise<PlaneHealth | undefined> {
  try {
    const answer = await fetch(`${plane.url}/healthz`, { signal: AbortSignal.timeout(2000) });
    const { controllers } = (await answer.json()) as {
      controllers: { shards: { controlPlane: string; held: number; refusedWrites: number } };
    };
    const { controlPlane, held, refusedWrites } = controllers.shards;
    return { id: controlPlane, held, refused: refusedWrites };
  } catch {
    return undefined;
  }
}

function planeEnvironment(etcd: Etcd, keys: string): Record<string, string> {
  return {
    BERTH_STORE_KIND: 'etcd',
    BERTH_STORE_ETCD_ENDPOINTS: etcd.endpoints.join(','),
    BERTH_KEYS_TOKEN_KEY_FILE: join(keys, 'token.key'),
    BERTH_KEYS_ROOT_KEY_FILE: join(keys, 'root.key'),
    BERTH_RATE_LIMIT_PER_SECOND: '100000',
    BERTH_RATE_LIMIT_BURST: '100000',
  };
}

/** All at once, on a store that may be empty. */
export async function startPlanes(
  etcd: Etcd,
  count: number,
  environment: Readonly<Record<string, string>> = {},
  /** What is different for each. */
  own: (index: number) => Readonly<Record<string, string>> = () => ({}),
  berth?: string,
): Promise<Planes> {
  const keys = mkdtempSync(join(tmpdir(), 'berth-keys-'));
  const shared = { ...planeEnvironment(etcd, keys), ...environment };
  const members = Array.from({ length: count }, (_, index) => new PlaneProcess({ ...shared, ...own(index) }));
  if (berth !== undefined) for (const member of members) member.berth = berth;
  const planes = new Planes(members, await openEtcdKv({ endpoints: etcd.endpoints }), shared, keys);
  try {
    await Promise.all(members.map((member) => member.start()));
  } catch (error) {
    await planes.stop();
    throw error;
  }
  return planes;
}
