import { standingOf } from '../../core/contract/instance-standing.ts';
import { instanceName } from '../../core/model/instance-name.ts';
import { type Client, named } from '../client.ts';
import { NotThere, Refused, usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { findInstance } from '../instances.ts';
import type { Column, Listing } from '../output.ts';
import type { Archive, Backup, Deployment, Instance } from '../records.ts';
import { ageOf, field, messageOf, type Resource } from './resource.ts';

function ready(record: Deployment): string {
  return `${record.status?.healthy ?? 0}/${record.status?.desired ?? record.replicas ?? 0}`;
}

function nodesOf(record: Deployment): string {
  return [...new Set((record.status?.instances ?? []).map((instance) => textOf(instance.nodeId)))].join(',');
}

const SPEC: Column<{ readonly specHash?: string | undefined }> = {
  header: 'SPEC',
  cell: (record) =>
    textOf(record.specHash)
      .replace(/^sha256:/, '')
      .slice(0, 12),
  wide: true,
};

export const deployments: Resource<Deployment> = {
  name: 'deployments',
  aliases: ['deployment', 'deploy', 'dep'],
  nameOf: (record) => `deployment/${textOf(record.name)}`,
  page: (record) => `/deployments/${textOf(record.name)}`,
  nothing: 'no deployments yet',
  next: 'berth run IMAGE',
  list: (client) => client.list('GET /api/v1/deployments'),
  one: (client, name) => client.record('GET /api/v1/deployments/{name}', named(name)),
  columns: [
    field('NAME', (one) => one.name),
    field('PHASE', (one) => one.status?.phase),
    { header: 'HEALTHY', cell: ready },
    field('IMAGE', (one) => one.image),
    { header: 'NODES', cell: nodesOf, wide: true },
    field('ADDRESS', (one) => one.status?.virtualAddress, true),
    field('REVISION', (one) => one.revision, true),
    field('SECRETS', (one) => one.secretsVersion, true),
    ageOf((one) => one.createdAt),
    messageOf(({ status }) => (textOf(status?.phase) === 'Running' ? '' : status?.message)),
  ],
};

async function instancesOf(client: Client, deployment: string): Promise<readonly Instance[]> {
  const found = await client.list('GET /api/v1/deployments/{name}/instances', named(deployment));
  return found.map((instance) => ({ deployment, ...instance }));
}

/** Those of a deployment, or the one that is called so. */
async function instancesNamed(client: Client, word: string): Promise<readonly Instance[]> {
  try {
    return await instancesOf(client, word);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 404) throw error;
    const one = await findInstance(client, word, 'look').catch((other: unknown) => {
      throw other instanceof NotThere ? error : other;
    });
    return (await instancesOf(client, one.deployment)).filter(({ id }) => id === one.id);
  }
}

export const instances: Resource<Instance> = {
  name: 'instances',
  aliases: ['instance', 'inst'],
  nameOf: (record) => `instance/${textOf(record.id)}`,
  page: ({ deployment, id }) => `/deployments/${textOf(deployment)}/instances/${textOf(id)}`,
  nothing: 'no instances',
  list: async (client, { deployment }) => {
    if (deployment !== undefined) return instancesNamed(client, deployment);
    const all = await client.list('GET /api/v1/deployments');
    const lists = await Promise.all(all.map((record) => instancesOf(client, textOf(record.name))));
    return lists.flat();
  },
  columns: [
    { header: 'NAME', cell: ({ deployment, id }) => instanceName(textOf(deployment), textOf(id)) },
    field('ID', (one) => one.id, true),
    field('DEPLOYMENT', (one) => one.deployment, true),
    field('NODE', (one) => one.nodeId),
    {
      header: 'STATE',
      cell: (record) => `${standingOf(record).state}${record.canary === true ? ' (canary)' : ''}`,
    },
    field('HEALTH', (one) => standingOf(one).health),
    SPEC,
    messageOf((one) => one.message),
  ],
};

export const ARCHIVES: Listing<Archive> = {
  nameOf: (record) => textOf(record.version),
  columns: [
    field('VERSION', (one) => one.version),
    field('CHANGE', (one) => one.change),
    ageOf((one) => one.at),
    field('BY', (one) => one.by),
    field('IMAGE', (one) => one.spec?.image),
    field('REPLICAS', (one) => one.spec?.replicas),
    SPEC,
  ],
};

export const archives: Resource<Archive> = {
  ...ARCHIVES,
  name: 'archives',
  aliases: ['archive'],
  nothing: 'no versions of this deployment are kept',
  list: async (client, { deployment }) => {
    if (deployment === undefined) throw usage('archives belong to a deployment', ['berth get archives NAME']);
    return client.list('GET /api/v1/archives/deployments/{name}', named(deployment));
  },
};

export const backups: Resource<Backup> = {
  name: 'backups',
  aliases: ['backup'],
  nameOf: (record) => `backup/${textOf(record.id)}`,
  nothing: 'no backups yet',
  next: 'berth backup create NAME',
  list: (client) => client.list('GET /api/v1/backups'),
  one: (client, name) => client.record('GET /api/v1/backups/{id}', { params: { id: name } }),
  columns: [
    field('ID', (one) => one.id),
    { header: 'DEPLOYMENT', cell: (record) => textOf(record.deploymentName) },
    field('BY', (one) => one.createdBy, true),
    ageOf((one) => one.createdAt),
  ],
};
