import type { Deployment } from '../../lib/records.ts';
import type { SecretResource } from './secret-queries.ts';

export interface SecretSource {
  readonly path: string;
  readonly exists: boolean;
  readonly readers: readonly string[];
}

interface Reader {
  readonly name: string;
  readonly secrets: readonly { readonly vault_path: string }[];
}

/** Which deployments and jobs read each path, from what they declare. */
export function sourcesOf(
  paths: readonly SecretResource[],
  deployments: readonly Pick<Deployment, 'name' | 'secrets'>[],
  jobs: readonly Reader[],
): readonly SecretSource[] {
  const readers: readonly Reader[] = [
    ...deployments,
    ...jobs.map(({ name, secrets }) => ({ name: `job ${name}`, secrets })),
  ];
  return paths.map(({ path, exists }) => ({
    path,
    exists: exists === true,
    readers: readers
      .filter(({ secrets }) => secrets.some(({ vault_path }) => vault_path === path))
      .map(({ name }) => name),
  }));
}
