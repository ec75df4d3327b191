import { type Client, deploymentPath, type Json, segment } from '../client.ts';
import { usage } from '../failure.ts';
import { listOf, numberOf, textOf } from '../fields.ts';
import type { Column, Listing } from '../output.ts';
import { ageOf, field, type Resource } from './resource.ts';

function ready(record: Json): string {
  return `${numberOf(record, 'status.healthy') ?? 0}/${numberOf(record, 'status.desired') ?? numberOf(record, 'replicas') ?? 0}`;
}

function nodesOf(record: Json): string {
  return [...new Set(listOf(record, 'status.instances').map((instance) => textOf(instance, 'nodeId')))].join(
    ',',
  );
}

const SPEC: Column = {
  header: 'SPEC',
  cell: (record) =>
    textOf(record, 'specHash')
      .replace(/^sha256:/, '')
      .slice(0, 12),
  wide: true,
};

export const deployments: Resource = {
  name: 'deployments',
  aliases: ['deployment', 'deploy', 'dep'],
  nameOf: (record) => `deployment/${textOf(record, 'name')}`,
  nothing: 'no deployments yet',
  next: 'berth run IMAGE',
  list: (client) => client.list('/api/v1/deployments'),
  one: (client, name) => client.record({ path: deploymentPath(name) }),
  columns: [
    field('NAME', 'name'),
    field('PHASE', 'status.phase'),
    { header: 'HEALTHY', cell: ready },
    field('IMAGE', 'image'),
    { header: 'NODES', cell: nodesOf, wide: true },
    field('REVISION', 'revision', true),
    field('SECRETS', 'secretsVersion', true),
    ageOf('createdAt'),
    {
      header: 'MESSAGE',
      cell: (record) =>
        textOf(record, 'status.phase') === 'Running' ? '' : textOf(record, 'status.message'),
    },
  ],
};

async function instancesOf(client: Client, deployment: string): Promise<readonly Json[]> {
  const found = await client.list(`${deploymentPath(deployment)}/instances`);
  return found.map((instance) => ({ deployment, ...instance }));
}

export const instances: Resource = {
  name: 'instances',
  aliases: ['instance', 'inst'],
  nameOf: (record) => `instance/${textOf(record, 'id')}`,
  nothing: 'no instances',
  list: async (client, { deployment }) => {
    if (deployment !== undefined) return instancesOf(client, deployment);
    const all = await client.list('/api/v1/deployments');
    const lists = await Promise.all(all.map((record) => instancesOf(client, textOf(record, 'name'))));
    return lists.flat();
  },
  columns: [
    field('ID', 'id'),
    field('DEPLOYMENT', 'deployment'),
    field('NODE', 'nodeId'),
    {
      header: 'STATE',
      cell: (record) =>
        `${textOf(record, 'state') || textOf(record, 'phase')}${textOf(record, 'canary') === 'true' ? ' (canary)' : ''}`,
    },
    field('HEALTH', 'health'),
    SPEC,
    field('MESSAGE', 'message'),
  ],
};

export const ARCHIVES: Listing = {
  nameOf: (record) => textOf(record, 'version'),
  columns: [
    field('VERSION', 'version'),
    field('CHANGE', 'change'),
    ageOf('at'),
    field('BY', 'by'),
    field('IMAGE', 'spec.image'),
    field('REPLICAS', 'spec.replicas'),
    SPEC,
  ],
};

export const archives: Resource = {
  ...ARCHIVES,
  name: 'archives',
  aliases: ['archive'],
  nothing: 'no versions of this deployment are kept',
  list: async (client, { deployment }) => {
    if (deployment === undefined) throw usage('archives belong to a deployment', ['berth get archives NAME']);
    return client.list(`/api/v1/archives/deployments/${segment(deployment)}`);
  },
};

export const backups: Resource = {
  name: 'backups',
  aliases: ['backup'],
  nameOf: (record) => `backup/${textOf(record, 'id')}`,
  nothing: 'no backups yet',
  next: 'berth backup create NAME',
  list: (client) => client.list('/api/v1/backups'),
  one: (client, name) => client.record({ path: `/api/v1/backups/${segment(name)}` }),
  columns: [
    field('ID', 'id'),
    { header: 'DEPLOYMENT', cell: (record) => textOf(record, 'deploymentName') },
    field('BY', 'createdBy', true),
    ageOf('createdAt'),
  ],
};
