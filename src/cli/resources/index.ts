import { nearest } from '../../core/schema/nearest.ts';
import type { Client } from '../client.ts';
import { NotThere, usage } from '../failure.ts';
import { secrets, tenants, tokens } from './access.ts';
import { archives, backups, deployments, instances } from './deployments.ts';
import { events } from './events.ts';
import { jobs } from './jobs.ts';
import { joinTokens, networks, nodes } from './nodes.ts';
import type { Resource } from './resource.ts';
import { recommendations, volumes } from './volumes.ts';
import { webhooks } from './webhooks.ts';

/** Every kind that `get` knows. */
export const RESOURCES: readonly Resource[] = [
  deployments,
  jobs,
  nodes,
  instances,
  tokens,
  tenants,
  secrets,
  events,
  archives,
  joinTokens,
  backups,
  networks,
  volumes,
  recommendations,
  webhooks,
];

export function resourceOf(word: string): Resource {
  const found = RESOURCES.find((resource) => resource.name === word || resource.aliases.includes(word));
  if (found !== undefined) return found;
  const near = nearest(
    word,
    RESOURCES.flatMap((resource) => [resource.name, ...resource.aliases]),
  );
  throw usage(`unknown kind ${word}${near === undefined ? '' : `; did you mean ${near}?`}`, [
    `known: ${RESOURCES.map((resource) => resource.name).join(', ')}`,
  ]);
}

/** Kinds whose argument after the kind names the deployment that they belong to. */
export const OWNED_BY_DEPLOYMENT: ReadonlySet<string> = new Set(['instances', 'events', 'archives']);

interface Named {
  readonly id?: unknown;
  readonly name?: unknown;
}

export async function findOne(resource: Resource, client: Client, name: string): Promise<object> {
  if (resource.one !== undefined) return resource.one(client, name);
  const all = await resource.list(client, {});
  const found = all.find((record: Named) => [record.id, record.name].includes(name));
  if (found !== undefined) return found;
  throw new NotThere(`there is no ${resource.aliases[0] ?? resource.name} ${name}`, {
    advice: [`berth get ${resource.name}`],
  });
}
