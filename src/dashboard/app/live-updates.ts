import type { QueryClient } from '@tanstack/react-query';
import type { Client } from '../../sdk/index.ts';
import type { Deployment, Event } from '../lib/records.ts';

/** Which lists an event of a subject makes stale; the second part of a query key, after the tenant. */
const STALE_BY_SUBJECT: Readonly<Record<Event['subject']['kind'], readonly string[]>> = {
  Deployment: ['archives', 'secrets', 'tenant'],
  Instance: ['nodes', 'tenant'],
  Node: ['nodes', 'explain', 'volumes'],
  Volume: ['volumes', 'recommendations'],
  Network: ['networks'],
  Job: ['jobs'],
  Backup: ['backups'],
  Secret: ['secrets'],
  Tenant: ['tenants'],
  Token: ['tokens'],
  Webhook: ['webhooks'],
};

/** More than this many at once: one read of the list is cheaper. */
const MAX_SINGLE_READS = 20;

export function deploymentsNamed(events: readonly Event[]): readonly string[] {
  const names = events.flatMap(({ subject, details }) => {
    if (subject.kind === 'Deployment') return [subject.name];
    const deployment = details['deployment'];
    return typeof deployment === 'string' ? [deployment] : [];
  });
  return [...new Set(names)];
}

function readDeployment(api: Client, name: string): Promise<Deployment | undefined> {
  const gone = ['deployment_not_found'] as const;
  return api.callUnless(gone, 'GET /api/v1/deployments/{name}', { params: { name } });
}

/** The list with these in it, and without those that are gone, by name as the server orders it. */
export function patchedList(
  list: readonly Deployment[],
  changes: ReadonlyMap<string, Deployment | undefined>,
): readonly Deployment[] {
  const kept = list.filter(({ name }) => !changes.has(name));
  const present = [...changes.values()].filter((deployment) => deployment !== undefined);
  return [...kept, ...present].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function refreshDeployments(
  queries: QueryClient,
  api: Client,
  tenant: string,
  names: readonly string[],
): Promise<void> {
  const listKey = [tenant, 'deployments'];
  for (const name of names) {
    void queries.invalidateQueries({ queryKey: [tenant, 'instances', name] });
    void queries.invalidateQueries({ queryKey: [tenant, 'explain', name] });
    void queries.invalidateQueries({ queryKey: [tenant, 'failures', name] });
  }
  if (names.length > MAX_SINGLE_READS) {
    await queries.invalidateQueries({ queryKey: listKey });
    await queries.invalidateQueries({ queryKey: [tenant, 'deployment'] });
    return;
  }
  const read = await Promise.all(names.map(async (name) => [name, await readDeployment(api, name)] as const));
  const changes = new Map(read);
  for (const [name, deployment] of read)
    if (deployment !== undefined) queries.setQueryData([tenant, 'deployment', name], deployment);
    else void queries.invalidateQueries({ queryKey: [tenant, 'deployment', name] });
  queries.setQueryData<readonly Deployment[]>(listKey, (list) => list && patchedList(list, changes));
}

/** Refetches only what an event concerns: a list of thousands is not fetched again for one of them. */
export async function applyEvents(
  queries: QueryClient,
  api: Client,
  tenant: string,
  events: readonly Event[],
): Promise<void> {
  const stale = new Set([
    'events',
    'audit',
    ...events.flatMap(({ subject }) => STALE_BY_SUBJECT[subject.kind] ?? []),
  ]);
  for (const list of stale) void queries.invalidateQueries({ queryKey: [tenant, list] });
  const names = deploymentsNamed(events);
  try {
    if (names.length > 0) await refreshDeployments(queries, api, tenant, names);
  } catch {
    // Away or refused: the stream's own state tells of it, and the next read brings everything up to date.
    await queries.invalidateQueries({ queryKey: [tenant, 'deployments'] });
  }
}
