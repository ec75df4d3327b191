import { rootKeyPlace } from '../../src/server/config-checks.ts';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../support/harness/api-client.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/server-under-test.ts';
import { startDefectiveServer } from '../support/defective-write.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { startVaultEndpoint } from '../support/harness/vault/endpoint.ts';
import type { Setting, Stage } from './cases/case.ts';

interface Place {
  readonly plane: ControlPlane;
  readonly api: ApiClient;
  /** False when the store cannot be read any more. */
  readonly laws: boolean;
  close(): Promise<void>;
}

const CONFIG: Readonly<Partial<Record<Setting, Readonly<Record<string, unknown>>>>> = {
  'volumes-off': { 'dvm.enabled': false },
  crowded: {
    'limits.streamsPerToken': 0,
    'limits.connectionsPerAddress': 8,
    'limits.connectionsExempt': [],
  },
  impatient: { 'limits.unreadBytesPerToken': 1 },
  'memory-low': { 'limits.heapShare': 0 },
  'slow-down': { 'rateLimit.perSecond': 1, 'rateLimit.burst': 3 },
};

/** A sealed store says so; the key is looked for once a second. */
async function seal(plane: ControlPlane): Promise<void> {
  const { id } = await plane.tenant('before');
  await plane.api.put('/api/v1/secrets/resources/made', { values: { a: 'b' } }, { tenant: id });
  rmSync(rootKeyPlace(plane.config.rootKey));
  for (let tries = 0; tries < 100; tries += 1) {
    const { body } = await plane.api.get('/healthz');
    if ((body['secrets'] as { sealed?: boolean }).sealed) return;
    await delay(50);
  }
  throw new Error('the secrets store did not seal itself');
}

/** A secrets store that is away, refuses or lacks what was configured. */
async function vaultOf(setting: Setting) {
  const endpoint = setting === 'vault-away' ? undefined : await startVaultEndpoint();
  const tokenFile = join(tmpdir(), `berth-${setting}-token-${process.pid}`);
  writeFileSync(tokenFile, endpoint?.rootToken ?? 'not-a-token');
  if (endpoint !== undefined && setting === 'vault-denied') endpoint.switches.denied = /\/data\//;
  return {
    config: {
      'secrets.kind': 'vault',
      'secrets.vault.address': endpoint?.address ?? 'http://127.0.0.1:1',
      'secrets.vault.tokenFile': tokenFile,
      ...(setting === 'vault-elsewhere' ? { 'secrets.vault.namespace': 'nowhere' } : {}),
    },
    close: async () => {
      await endpoint?.close();
      rmSync(tokenFile);
    },
  };
}

async function open(setting: Setting, pushed: PushedImageRegistry): Promise<Place> {
  const vault = setting.startsWith('vault-') ? await vaultOf(setting) : undefined;
  const plane = await startControlPlane({
    config: { ...pushed.config, ...(vault?.config ?? CONFIG[setting]) },
  });
  const close = async () => {
    await plane.close();
    await vault?.close();
  };
  const place = { plane, api: plane.api, laws: true, close };
  switch (setting) {
    case 'sealed':
      await seal(plane);
      return place;
    case 'defect': {
      const defective = await startDefectiveServer(plane);
      return {
        ...place,
        api: defective.api,
        close: async () => {
          await defective.close();
          await close();
        },
      };
    }
    default:
      return place;
  }
}

/** The control planes of the cases, each started when its first case comes. */
export class Stages {
  readonly #places = new Map<Setting, Promise<Place>>();
  #pushed: Promise<PushedImageRegistry> | undefined;
  #count = 0;

  async stage(setting: Setting, area: string): Promise<Stage> {
    this.#pushed ??= startPushedImage();
    const pushed = await this.#pushed;
    const place = this.#places.get(setting) ?? open(setting, pushed);
    this.#places.set(setting, place);
    const { plane, api, laws } = await place;
    const tenant = await plane.tenant(area);
    const closed = setting === 'store-closed';
    if (closed) await plane.store.kv.close();
    return {
      plane,
      tenant,
      image: pushed.image,
      registry: pushed.registry,
      fresh: (prefix = 'case') => `${prefix}-${(this.#count += 1)}`,
      call: (method, path, options = {}) =>
        api.call(method, path, {
          token: tenant.tokens['tenant-admin'],
          ...options,
          ...(laws && !closed ? {} : { laws: false }),
        }),
    };
  }

  async close(): Promise<void> {
    for (const [setting, place] of this.#places)
      await (await place).close().catch((error: unknown) => {
        // Its store was closed by the case.
        if (setting !== 'store-closed') throw error;
      });
    await (await this.#pushed)?.stop();
  }
}
