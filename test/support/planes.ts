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
import type { Etcd } from './etcd.ts';
import { PlaneProcess } from './plane-process.ts';

export interface PlaneHealth {
  readonly id: string;
  readonly held: number;
  readonly refused: number;
}

export class Planes {
  readonly members: readonly PlaneProcess[];
  readonly #keys: string;

  constructor(members: readonly PlaneProcess[], keys: string) {
    this.members = members;
    this.#keys = keys;
  }

  get first(): PlaneProcess {
    const [first] = this.members;
    if (first === undefined) throw new Error('no control plane');
    return first;
  }

  get addresses(): readonly string[] {
    return this.members.map(({ url }) => url);
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.members.map((member) => member.dispose()));
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

export function planeEnvironment(etcd: Etcd, keys: string): Record<string, string> {
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
): Promise<Planes> {
  const keys = mkdtempSync(join(tmpdir(), 'berth-keys-'));
  const shared = planeEnvironment(etcd, keys);
  const members = Array.from({ length: count }, () => new PlaneProcess({ ...shared, ...environment }));
  const planes = new Planes(members, keys);
  try {
    await Promise.all(members.map((member) => member.start()));
  } catch (error) {
    await planes.stop();
    throw error;
  }
  return planes;
}
