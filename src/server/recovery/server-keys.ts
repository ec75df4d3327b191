import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../../shared/folders.ts';
import type { Config } from '../config.ts';
import { RecoveryError } from './failure.ts';

/** A key of the control plane itself, under the setting that names its file; base64. */
export interface KeptKey {
  readonly setting: string;
  readonly content: string;
}

interface KeyFile {
  readonly setting: string;
  readonly path: string;
  /** Without the very same one, tokens or secrets of the store are worth nothing. */
  readonly ofStore: boolean;
}

/** Files of keys that this configuration names, whether they are there or not. */
function keyFiles({
  tokenKeyFile,
  rootKey,
  secrets,
  tls,
  baseUrlCertificate,
  store,
}: Config): readonly KeyFile[] {
  const file = (setting: string, path: string | undefined, ofStore = false): readonly KeyFile[] =>
    path === undefined ? [] : [{ setting, path, ofStore }];
  const root = rootKey.kind === 'file' ? rootKey.file : undefined;
  return [
    ...file('keys.tokenKeyFile', tokenKeyFile, true),
    ...file('keys.rootKeyFile', root, true),
    ...file('keys.rootKeyFile (retired)', root && `${root}.retired`, true),
    ...file('tls.cert', tls?.cert),
    ...file('tls.key', tls?.key),
    ...file('tls.next', tls?.next),
    ...file('baseUrlCertificate', baseUrlCertificate),
    ...file('secrets.vault.tokenFile', secrets.vault.tokenFile),
    ...file('secrets.vault.secretIdFile', secrets.vault.secretIdFile),
    ...(store.kind === 'etcd'
      ? [
          ...file('store.etcd.passwordFile', store.passwordFile),
          ...file('store.etcd.ca', store.ca),
          ...file('store.etcd.cert', store.cert),
          ...file('store.etcd.key', store.key),
        ]
      : []),
  ];
}

export function readKeys(config: Config): readonly KeptKey[] {
  return keyFiles(config)
    .filter(({ path }) => existsSync(path))
    .map(({ setting, path }) => ({ setting, content: readFileSync(path).toString('base64') }));
}

/** What a backup of this configuration cannot hold, for people; empty: nothing. */
export function keysElsewhere({ rootKey, secrets }: Config, keys: readonly KeptKey[]): readonly string[] {
  if (secrets.kind === 'vault') return ['secrets are in Vault, which has backups of its own'];
  if (rootKey.kind === 'command')
    return [`the root key is what ${rootKey.command[0] ?? ''} prints, and is not in the backup`];
  if (keys.some(({ setting }) => setting === 'keys.rootKeyFile')) return [];
  return [
    `no root key is at ${rootKey.file}: when it comes from elsewhere (a systemd credential), keep that too`,
  ];
}

export interface KeyPlan {
  /** To be written. */
  readonly missing: readonly (KeyFile & { readonly bytes: Buffer })[];
  /** What becomes of the others, for people. */
  readonly told: readonly string[];
}

/** Throws, before anything is written, when there is another key where one of the store belongs. */
export function planKeys(config: Config, keys: readonly KeptKey[]): KeyPlan {
  const missing: (KeyFile & { readonly bytes: Buffer })[] = [];
  const told: string[] = [];
  const files = keyFiles(config);
  for (const { setting, content } of keys) {
    const file = files.find((one) => one.setting === setting);
    const bytes = Buffer.from(content, 'base64');
    if (file === undefined) {
      told.push(`${setting} is in the backup and not in this configuration; it was left there`);
      continue;
    }
    if (!existsSync(file.path)) {
      missing.push({ ...file, bytes });
      continue;
    }
    if (readFileSync(file.path).equals(bytes)) continue;
    if (file.ofStore)
      throw new RecoveryError(
        'notEmpty',
        `${file.path} is another key than the one of this backup. Move it away: what it opens is not in the backup.`,
      );
    told.push(`${file.path} is there and differs from the one of the backup; it stays as it is`);
  }
  return { missing, told };
}

export function writeKeys({ missing }: KeyPlan): void {
  for (const { setting, path, bytes } of missing) {
    makeFolder(dirname(path), setting);
    writeFileSync(path, bytes, { mode: 0o600, flag: 'wx', flush: true });
  }
}
