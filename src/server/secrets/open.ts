import { existsSync } from 'node:fs';
import type { TenantId } from '../../core/model/ids.ts';
import type { Config } from '../config.ts';
import type { RootKeySource } from '../config-checks.ts';
import type { Kv } from '../store/kv.ts';
import { rootKeyReader } from './embedded/root-key-sources.ts';
import { createRootKeyFile, type RootKeys } from './embedded/root-keys.ts';
import { tenantKeyKey } from './embedded-keys.ts';
import { createEmbeddedSecrets } from './embedded/store.ts';
import { openVault } from './open-vault.ts';
import type { SecretsStore } from './port.ts';

/** A root key put in place while the process runs unseals it within this time. */
const REREAD_MS = 1000;

export interface OpenedSecrets {
  readonly store: SecretsStore;
  /** Once the tenants are known: makes the root key of a store that holds nothing sealed yet, if it may. */
  prepare(mayMakeKey: boolean): Promise<void>;
  /** Ids of the root keys that are loaded, the active one first; none while sealed, and with another secrets store. */
  rootKeyIds(): readonly string[];
}

export type SaySecrets = (details: Readonly<Record<string, unknown>>, message: string) => void;

/** A retired key beside the active one means that tenant keys have to be rewrapped; once per active key. */
function openEmbedded(
  kv: Kv,
  source: RootKeySource,
  tenantIds: () => readonly TenantId[],
  say: SaySecrets,
  warn: SaySecrets,
  onNewRootKey: (ids: readonly string[]) => Promise<void>,
): OpenedSecrets {
  const read = rootKeyReader(source);
  let keys: RootKeys = { sealed: true, problem: 'the control plane is starting' };
  let rewrapped: string | undefined;
  const store = createEmbeddedSecrets({ kv, rootKeys: () => keys });
  const rootKeyIds = (): readonly string[] =>
    keys.sealed ? [] : [keys.active.id, ...keys.retired.map(({ id }) => id)];
  const rewrap = async (): Promise<void> => {
    if (keys.sealed || rewrapped === keys.active.id) return;
    const { id } = keys.active;
    // Set aside and not replaced yet: who is told that nothing needs the retired one any more removes it.
    if (keys.retired.every((retired) => retired.id === id)) return;
    const summary = await store.rewrapTenantKeys(tenantIds());
    if (summary.blocked.length === 0) {
      await onNewRootKey(rootKeyIds());
      rewrapped = id;
    }
    say({ ...summary, rootKey: id }, 'tenant keys wrapped by the new root key');
  };
  const reread = async (): Promise<void> => {
    keys = await read();
    await rewrap();
  };
  /** One at a time: a slow one must not end after a later one, and a program is not asked twice. */
  let resting = false;
  const timer = setInterval(() => {
    if (!resting) return;
    resting = false;
    reread()
      .catch((error: unknown) => say({ problem: String(error) }, 'the root key could not be taken up'))
      .finally(() => {
        resting = true;
      });
  }, REREAD_MS);
  timer.unref();
  return {
    store: {
      ...store,
      close: async () => {
        clearInterval(timer);
        await store.close();
      },
    },
    rootKeyIds,
    prepare: async (mayMakeKey) => {
      // Where material is sealed already, a new key would only hide the loss of the old one.
      const missing = source.kind === 'file' && !existsSync(source.file);
      const sealed = missing && (await anySealed(kv, tenantIds()));
      if (missing && !sealed && mayMakeKey) await createRootKeyFile(source.file);
      await reread();
      if (sealed)
        warn(
          { file: source.file },
          'root_key_missing: the store holds sealed secrets and their root key is not there. Put it back from your copy (32 bytes, mode 0600): it is taken up within a second. No new one is made, since it would open none of them.',
        );
      else if (keys.sealed) warn({ problem: keys.problem }, 'root_key_unusable: secrets stay sealed');
      resting = true;
    },
  };
}

async function anySealed(kv: Kv, tenantIds: readonly TenantId[]): Promise<boolean> {
  for (const tenantId of tenantIds) if ((await kv.get(tenantKeyKey(tenantId))) !== undefined) return true;
  return false;
}

export interface SecretsInput {
  readonly config: Config;
  readonly kv: Kv;
  readonly tenantIds: () => readonly TenantId[];
  readonly readFile: (path: string) => string;
  readonly say: SaySecrets;
  readonly warn: SaySecrets;
  /** Every tenant key is wrapped by the active root key now. */
  readonly onNewRootKey?: (ids: readonly string[]) => Promise<void>;
}

export async function openSecrets({
  config,
  kv,
  tenantIds,
  readFile,
  say,
  warn,
  onNewRootKey = () => Promise.resolve(),
}: SecretsInput): Promise<OpenedSecrets> {
  if (config.secrets.kind === 'embedded')
    return openEmbedded(kv, config.rootKey, tenantIds, say, warn, onNewRootKey);
  return {
    store: await openVault(config.secrets.vault, readFile, warn),
    prepare: () => Promise.resolve(),
    rootKeyIds: () => [],
  };
}
