import { createHmac } from 'node:crypto';
import { ConfigError } from '../config-values.ts';
import { globalKey } from '../store/keys.ts';
import type { Kv, KvEntry } from '../store/kv.ts';
import { decodeRecord, encodeRecord, type InstallationKeys } from '../store/records.ts';

const KEY = globalKey('installation', 'keys');

function fingerprint(tokenKey: Buffer): string {
  return createHmac('sha256', tokenKey).update('berth token key').digest('hex').slice(0, 16);
}

async function stored(kv: Kv): Promise<{ readonly entry?: KvEntry; readonly keys?: InstallationKeys }> {
  const entry = await kv.get(KEY);
  return entry === undefined ? {} : { entry, keys: decodeRecord<InstallationKeys>(KEY, entry.value) };
}

/** Several processes may start at once on an empty store: one writes, the others compare. */
async function agree(
  kv: Kv,
  decide: (keys: InstallationKeys | undefined) => InstallationKeys | undefined,
): Promise<void> {
  for (;;) {
    const { entry, keys } = await stored(kv);
    const next = decide(keys);
    if (next === undefined) return;
    const guards = [{ key: KEY, modRevision: entry?.modRevision ?? 0 }];
    if ((await kv.commit({ guards, puts: [{ key: KEY, value: encodeRecord(next) }] })).ok) return;
  }
}

/** Tokens given out by one control plane must be good at every other: a process with a key of its own does not start. */
export function agreeOnTokenKey(kv: Kv, tokenKey: Buffer, path: string): Promise<void> {
  const own = fingerprint(tokenKey);
  return agree(kv, (keys) => {
    if (keys === undefined) return { tokenKey: own };
    if (keys.tokenKey === own) return undefined;
    throw new ConfigError(
      `token_key_mismatch: the token key in ${path} (${own}) is not the one of this store (${keys.tokenKey}). Copy keys/token.key from a control plane that runs, or set keys.tokenKeyFile.`,
    );
  });
}

/** Whether the store has a root key already; then none may be made here. */
export async function hasRootKey(kv: Kv): Promise<boolean> {
  return (await stored(kv)).keys?.rootKey !== undefined;
}

/** `loaded`: ids of the root keys of this process, the active one first; none while it is sealed. */
export function agreeOnRootKey(kv: Kv, loaded: readonly string[], path: string): Promise<void> {
  const [active] = loaded;
  return agree(kv, (keys) => {
    if (keys === undefined || active === undefined || keys.rootKey === active) return undefined;
    // The key before the last change is still here: this process takes part in the change, and the new one counts from now on.
    if (keys.rootKey === undefined || loaded.includes(keys.rootKey)) return { ...keys, rootKey: active };
    throw new ConfigError(
      `root_key_mismatch: the root key in ${path} (${active}) is not the one of this store (${keys.rootKey}). Give every control plane the same one: copy keys/root.key from one that runs, or set keys.rootKeyFile or keys.rootKeyCommand.`,
    );
  });
}
