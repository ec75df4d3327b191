import { INGRESS_NAMESPACE } from '../../core/model/ingress.ts';
import { messageOf } from '../../core/model/values.ts';
import { detectCredential } from '../../core/rules/credentials/detect.ts';
import { SHORTEST_KNOWN } from '../../core/rules/credentials/scrub.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Config } from '../config.ts';
import type { SecretPath } from '../../core/model/secret-path.ts';
import { failure, type SecretDocument, type SecretFailure, type SecretsStore } from '../secrets/port.ts';

/** More documents than these are not read for a report, which says so. */
const MOST_DOCUMENTS = 5_000;
/** Nor more than these bytes of values: each is kept in several forms while the report is made. */
const MOST_BYTES = 4 * 1024 * 1024;
/** What a value, and each line of it, takes beside its length. */
const PART_BYTES = 64;
/** An older version may be in service while a credential is rotated. */
const VERSIONS_READ = 2;

export interface ValueSources {
  readonly config: Config;
  readonly environment: NodeJS.ProcessEnv;
  readonly readFile: (path: string) => string;
  readonly bootstrapToken: string | undefined;
  readonly keys: readonly Buffer[];
}

/** Of this process: its keys, the files that its settings name, variables that are credentials by their name or form. */
export function ownValues({ config, environment, readFile, bootstrapToken, keys }: ValueSources): string[] {
  const { store, secrets, dataDir, tls } = config;
  const files = [
    `${dataDir}/admin-token`,
    ...(store.kind === 'etcd' ? [store.passwordFile, store.key] : []),
    secrets.vault.tokenFile,
    secrets.vault.secretIdFile,
    tls?.key,
  ];
  const texts = files.flatMap((file) => {
    try {
      return file === undefined ? [] : [readFile(file)];
    } catch {
      return [];
    }
  });
  const variables = Object.entries(environment).flatMap(([name, value = '']) =>
    detectCredential(name, value) === undefined ? [] : [value],
  );
  const encoded = keys.flatMap((key) => [
    key.toString('latin1'),
    key.toString('base64'),
    key.toString('hex'),
  ]);
  return [...texts, ...variables, ...encoded, bootstrapToken ?? '', secrets.vault.roleId ?? ''].filter(
    (value) => value.trim().length >= SHORTEST_KNOWN,
  );
}

export interface StoredValues {
  readonly values: readonly string[];
  /** What was not read, and so is found by its form alone. */
  readonly unread?: string;
}

/** What tenants keep in the embedded store. An outside store is not asked for everything it has. */
export async function storedValues(
  store: SecretsStore,
  tenants: readonly TenantId[],
  namespaces: readonly string[],
): Promise<StoredValues> {
  if (store.kind !== 'embedded') return { values: [], unread: `values in ${store.kind} are not read` };
  const values = new Set<string>();
  let documents = 0;
  let bytes = 0;
  let problem: string | undefined;
  const spaces = new Set([...namespaces, INGRESS_NAMESPACE]);
  for (const tenant of tenants)
    for (const namespace of spaces) {
      const listed = await store.list(tenant, namespace).catch(failed);
      problem ??= problemOf(listed);
      if (!listed.ok) continue;
      for (const label of listed.labels) {
        documents += 1;
        if (documents > MOST_DOCUMENTS)
          return { values: [...values], unread: `only ${MOST_DOCUMENTS} documents of secrets were read` };
        const read = await documentsAt(store, tenant, { namespace, label });
        for (const document of read) {
          problem ??= problemOf(document);
          for (const value of document.ok ? document.values.values() : []) {
            const text = value.reveal();
            if (values.has(text)) continue;
            bytes += sizeOf(text);
            if (bytes > MOST_BYTES)
              return { values: [...values], unread: 'only 4 MiB of values of secrets were read' };
            values.add(text);
          }
        }
      }
    }
  return { values: [...values], ...(problem === undefined ? {} : { unread: problem }) };
}

function failed(error: unknown): SecretFailure {
  return failure('unavailable', messageOf(error));
}

/** What is gone in the meantime is no problem. */
function problemOf(answer: { readonly ok: true } | SecretFailure): string | undefined {
  return answer.ok || answer.reason === 'missing'
    ? undefined
    : `secrets could not be read: ${answer.message}`;
}

function sizeOf(value: string): number {
  return value.length + PART_BYTES * (1 + value.split('\n').length);
}

async function documentsAt(
  store: SecretsStore,
  tenant: TenantId,
  path: SecretPath,
): Promise<readonly (SecretDocument | SecretFailure)[]> {
  const newest = await store.read(tenant, path).catch(failed);
  if (!newest.ok || newest.version < VERSIONS_READ) return [newest];
  return [newest, await store.read(tenant, path, newest.version - 1).catch(failed)];
}
