import { instanceName } from '../../core/model/instance-name.ts';
import type { Client } from '../client.ts';
import type { NamedKind } from '../command.ts';
import { textOf } from '../fields.ts';
import { OWNED_BY_DEPLOYMENT, resourceOf } from '../resources/index.ts';

/** One page: who has more records types the beginning of a name and is not helped beyond it. */
const ONE_PAGE = { query: { limit: 1000 } } as const;

type Asked = (client: Client, parameters: readonly string[]) => Promise<readonly unknown[]>;

/** What commands take as the name of a record of each kind. */
const NAMES: Readonly<Record<Exclude<NamedKind, 'contexts' | 'files'>, Asked>> = {
  deployments: async (client) =>
    (await client.record('GET /api/v1/deployments', ONE_PAGE)).map(({ name }) => name),
  instances: async (client, [deployment]) => {
    const all = await client.record('GET /api/v1/deployments', ONE_PAGE);
    const own = all.filter(({ name }) => name === deployment);
    return (own.length === 0 ? all : own).flatMap(({ name, status }) =>
      (status?.instances ?? []).map(({ id }) => instanceName(textOf(name), textOf(id))),
    );
  },
  jobs: async (client) => (await client.record('GET /api/v1/jobs', ONE_PAGE)).map(({ name }) => name),
  nodes: async (client) => (await client.record('GET /api/v1/nodes', ONE_PAGE)).map(({ name }) => name),
  secrets: async (client) => (await client.record('GET /api/v1/secrets', ONE_PAGE)).map(({ path }) => path),
  volumes: async (client) =>
    (await client.record('GET /api/v1/dvm/volumes', ONE_PAGE)).map(({ name }) => name),
  networks: async (client) => (await client.record('GET /api/v1/networks', ONE_PAGE)).map(({ name }) => name),
  tokens: async (client) => (await client.record('GET /api/v1/tokens', ONE_PAGE)).map(({ id }) => id),
  'join-tokens': async (client) =>
    (await client.record('GET /api/v1/join-tokens', ONE_PAGE)).map(({ id }) => id),
  tenants: async (client) => (await client.record('GET /api/v1/tenants', ONE_PAGE)).map(({ slug }) => slug),
  webhooks: async (client) => (await client.record('GET /api/v1/webhooks', ONE_PAGE)).map(({ name }) => name),
  backups: async (client) => (await client.record('GET /api/v1/backups', ONE_PAGE)).map(({ id }) => id),
  recommendations: async (client) =>
    (await client.record('GET /api/v1/dvm/recommendations', ONE_PAGE)).map(({ id }) => id),
};

type Listed = keyof typeof NAMES;

function isListed(kind: string): kind is Listed {
  return Object.hasOwn(NAMES, kind);
}

/** The kind whose names stand behind the word of a kind: `get events web` names a deployment. */
function kindNamed(word: string, names: 'kind' | 'owner'): string {
  const { name } = resourceOf(word);
  return names === 'owner' && OWNED_BY_DEPLOYMENT.has(name) ? 'deployments' : name;
}

/** A name goes into a command line as it is, so that nothing passes that a shell or a terminal would take for more than a name. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,254}$/;

export async function recordNames(
  client: Client,
  names: Exclude<NamedKind, 'contexts' | 'files'> | 'kind' | 'owner',
  parameters: readonly string[],
): Promise<readonly string[]> {
  const kind = names === 'kind' || names === 'owner' ? kindNamed(parameters[0] ?? '', names) : names;
  if (!isListed(kind)) return [];
  return safeNames(await NAMES[kind](client, parameters));
}

export function safeNames(found: readonly unknown[]): readonly string[] {
  return found.map(textOf).filter((name) => NAME.test(name));
}
