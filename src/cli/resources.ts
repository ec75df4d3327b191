import { nearest } from '../core/contract/nearest.ts';
import { formatBytes } from '../core/model/quantity.ts';
import { type Client, deploymentPath, type Json, segment } from './client.ts';
import { Failure, usage } from './failure.ts';
import { listOf, mapOf, numberOf, textOf, textsOf, valueOf } from './fields.ts';
import type { Column, Listing } from './output.ts';
import { age } from './table.ts';
import {
  findVolume,
  lagText,
  listRecommendations,
  recommendedText,
  volumeConsumers,
  volumeCopiesText,
  VOLUMES_PATH,
  volumeUsedText,
} from './volumes.ts';

/** A kind of record that `get` lists and prints. */
export interface Resource extends Listing {
  /** Plural, as typed. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly list: (client: Client, options: ListOptions) => Promise<readonly Json[]>;
  /** Absent: one is found in the list. */
  readonly one?: (client: Client, name: string) => Promise<Json>;
  readonly nothing: string;
}

export interface ListOptions {
  /** For kinds that belong to a deployment. */
  readonly deployment?: string | undefined;
}

const field = (header: string, path: string, wide = false): Column => ({
  header,
  cell: (record) => textOf(record, path),
  ...(wide ? { wide } : {}),
});
const ageOf = (path: string, header = 'AGE'): Column => ({
  header,
  cell: (record, now) => age(textOf(record, path), now),
});
const named =
  (path: string) =>
  (record: Json): string =>
    textOf(record, path);

function ready(record: Json): string {
  return `${numberOf(record, 'status.healthy') ?? 0}/${numberOf(record, 'status.desired') ?? numberOf(record, 'replicas') ?? 0}`;
}

function nodesOf(record: Json): string {
  return [...new Set(listOf(record, 'status.instances').map((instance) => textOf(instance, 'nodeId')))].join(
    ',',
  );
}

const deployments: Resource = {
  name: 'deployments',
  aliases: ['deployment', 'deploy', 'dep'],
  nameOf: (record) => `deployment/${textOf(record, 'name')}`,
  nothing: 'no deployments yet; next: berth run IMAGE',
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

function nodeState(record: Json): string {
  const parts = [textOf(record, 'status')];
  if (valueOf(record, 'draining') === true) parts.push('draining');
  else if (valueOf(record, 'schedulable') === false) parts.push('cordoned');
  return parts.join(',');
}

function usedOf(record: Json): string {
  const cpu = numberOf(record, 'requested.cpu') ?? 0;
  const memory = numberOf(record, 'requested.memoryBytes') ?? 0;
  return `${Number(cpu.toFixed(2))} CPU, ${formatBytes(memory)}`;
}

function labelsOf(record: Json): string {
  return Object.entries(mapOf(record, 'labels'))
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(',');
}

const nodes: Resource = {
  name: 'nodes',
  aliases: ['node', 'no'],
  nameOf: (record) => `node/${textOf(record, 'name')}`,
  nothing: 'no nodes yet; next: berth node token',
  list: (client) => client.list('/api/v1/nodes'),
  one: (client, name) => client.record({ path: `/api/v1/nodes/${segment(name)}` }),
  columns: [
    field('NAME', 'name'),
    { header: 'STATUS', cell: nodeState },
    { header: 'CPU', cell: (record) => textOf(record, 'capacity.cpu') },
    { header: 'MEMORY', cell: (record) => formatBytes(numberOf(record, 'capacity.memoryBytes') ?? 0) },
    { header: 'REQUESTED', cell: usedOf },
    {
      header: 'ENGINE',
      cell: (record) => `${textOf(record, 'engine.kind')} ${textOf(record, 'engine.version')}`.trim(),
    },
    field('PLATFORM', 'platform', true),
    field('AGENT', 'agentVersion', true),
    {
      header: 'CONTROL-PLANE',
      cell: (record) => (valueOf(record, 'controlPlane') === true ? 'yes' : ''),
      wide: true,
    },
    { header: 'LABELS', cell: labelsOf, wide: true },
    ageOf('lastSeenAt', 'SEEN'),
  ],
};

async function instancesOf(client: Client, deployment: string): Promise<readonly Json[]> {
  const found = await client.list(`${deploymentPath(deployment)}/instances`);
  return found.map((instance) => ({ deployment, ...instance }));
}

const instances: Resource = {
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
    {
      header: 'SPEC',
      cell: (record) =>
        textOf(record, 'specHash')
          .replace(/^sha256:/, '')
          .slice(0, 12),
      wide: true,
    },
    field('MESSAGE', 'message'),
  ],
};

const tokens: Resource = {
  name: 'tokens',
  aliases: ['token'],
  nameOf: (record) => `token/${textOf(record, 'id')}`,
  nothing: 'no tokens',
  list: (client) => client.list('/api/v1/tokens'),
  columns: [
    field('ID', 'id'),
    field('NAME', 'name'),
    field('ROLE', 'role'),
    field('KIND', 'kind', true),
    { header: 'STATE', cell: (record, now) => tokenState(record, now) },
    field('EXPIRES', 'expiresAt'),
    ageOf('createdAt'),
  ],
};

function tokenState(record: Json, now: number): string {
  if (textOf(record, 'revokedAt') !== '') return 'revoked';
  const expires = textOf(record, 'expiresAt');
  return expires !== '' && Date.parse(expires) <= now ? 'expired' : 'active';
}

const limit = (header: string, path: string, show: (value: number) => string = String): Column => ({
  header,
  cell: (record) => {
    const value = numberOf(record, path);
    return value === undefined ? '-' : show(value);
  },
});

const tenants: Resource = {
  name: 'tenants',
  aliases: ['tenant'],
  nameOf: (record) => `tenant/${textOf(record, 'slug')}`,
  nothing: 'no tenants',
  list: (client) => client.list('/api/v1/tenants'),
  one: (client, name) => client.record({ path: `/api/v1/tenants/${segment(name)}` }),
  columns: [
    field('SLUG', 'slug'),
    field('NAME', 'name'),
    field('ID', 'id'),
    limit('CONTAINERS', 'quota.containers'),
    limit('CPU', 'quota.cpu'),
    limit('MEMORY', 'quota.memoryBytes', formatBytes),
    ageOf('createdAt'),
  ],
};

const secrets: Resource = {
  name: 'secrets',
  aliases: ['secret'],
  nameOf: (record) => `secret/${textOf(record, 'path')}`,
  nothing:
    'no deployment references a secret yet, and only those that are referenced are listed; berth secret show PATH finds every one',
  list: (client) => client.list('/api/v1/secrets/resources'),
  one: (client, name) => client.record({ path: `/api/v1/secrets/${name.split('/').map(segment).join('/')}` }),
  columns: [
    field('PATH', 'path'),
    { header: 'EXISTS', cell: (record) => (valueOf(record, 'exists') === false ? 'no' : 'yes') },
    { header: 'KEYS', cell: (record) => textsOf(record, 'keys').join(',') },
    field('VERSION', 'version'),
    { header: 'CONSUMERS', cell: (record) => textOf(record, 'consumers') },
  ],
};

export const EVENTS: Listing = {
  nameOf: named('id'),
  columns: [
    ageOf('at'),
    field('KIND', 'kind'),
    {
      header: 'SUBJECT',
      cell: (record) => `${textOf(record, 'subject.kind').toLowerCase()}/${textOf(record, 'subject.name')}`,
    },
    { header: 'MESSAGE', cell: (record) => textOf(record, 'message').split('\n').join('; ') },
  ],
};

const events: Resource = {
  ...EVENTS,
  name: 'events',
  aliases: ['event', 'ev'],
  nothing: 'no events',
  list: (client, { deployment }) => client.list('/api/v1/events', { subject: deployment }),
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
    {
      header: 'SPEC',
      cell: (record) =>
        textOf(record, 'specHash')
          .replace(/^sha256:/, '')
          .slice(0, 12),
      wide: true,
    },
  ],
};

const archives: Resource = {
  ...ARCHIVES,
  name: 'archives',
  aliases: ['archive'],
  nothing: 'no versions of this deployment are kept',
  list: async (client, { deployment }) => {
    if (deployment === undefined) throw usage('archives belong to a deployment', ['berth get archives NAME']);
    return client.list(`/api/v1/archives/deployments/${segment(deployment)}`);
  },
};

const joinTokens: Resource = {
  name: 'join-tokens',
  aliases: ['join-token'],
  nameOf: (record) => `join-token/${textOf(record, 'id')}`,
  nothing: 'no join tokens are open; next: berth node token',
  list: (client) => client.list('/api/v1/join-tokens'),
  columns: [
    field('ID', 'id'),
    { header: 'NODE', cell: (record) => textOf(record, 'nodeName') || 'any' },
    field('EXPIRES', 'expiresAt'),
    field('BY', 'createdBy'),
    ageOf('createdAt'),
  ],
};

const backups: Resource = {
  name: 'backups',
  aliases: ['backup'],
  nameOf: (record) => `backup/${textOf(record, 'id')}`,
  nothing: 'no backups yet; next: berth backup create NAME',
  list: (client) => client.list('/api/v1/backups'),
  one: (client, name) => client.record({ path: `/api/v1/backups/${segment(name)}` }),
  columns: [
    field('ID', 'id'),
    { header: 'DEPLOYMENT', cell: (record) => textOf(record, 'deploymentName') },
    field('BY', 'createdBy', true),
    ageOf('createdAt'),
  ],
};

const networks: Resource = {
  name: 'networks',
  aliases: ['network', 'net'],
  nameOf: (record) => `network/${textOf(record, 'name')}`,
  nothing: 'no networks yet; next: berth network create NAME',
  list: (client) => client.list('/api/v1/networks'),
  one: (client, name) => client.record({ path: `/api/v1/networks/${segment(name)}` }),
  columns: [
    field('NAME', 'name'),
    field('NODE', 'nodeId'),
    field('DRIVER', 'driver'),
    { header: 'INTERNAL', cell: (record) => (valueOf(record, 'internal') === true ? 'yes' : 'no') },
    field('PHASE', 'status.phase'),
    { header: 'LABELS', cell: labelsOf, wide: true },
    ageOf('createdAt'),
    {
      header: 'MESSAGE',
      cell: (record) => (textOf(record, 'status.phase') === 'Ready' ? '' : textOf(record, 'status.message')),
    },
  ],
};

const lastRun = (record: Json): Json | undefined => listOf(record, 'status.runs')[0];

const jobs: Resource = {
  name: 'jobs',
  aliases: ['job'],
  nameOf: (record) => `job/${textOf(record, 'name')}`,
  nothing: 'no jobs yet; next: berth apply -f FILE with a document of kind Job',
  list: (client) => client.list('/api/v1/jobs'),
  one: (client, name) => client.record({ path: `/api/v1/jobs/${segment(name)}` }),
  columns: [
    field('NAME', 'name'),
    field('PHASE', 'status.phase'),
    { header: 'SCHEDULE', cell: (record) => textOf(record, 'schedule') || 'once' },
    {
      header: 'LAST RUN',
      cell: (record) => {
        const run = lastRun(record);
        return run === undefined ? '-' : textOf(run, 'state');
      },
    },
    {
      header: 'SINCE',
      cell: (record, now) => {
        const run = lastRun(record);
        return run === undefined ? '-' : age(textOf(run, 'finishedAt') || textOf(run, 'createdAt'), now);
      },
    },
    { header: 'NEXT', cell: (record) => textOf(record, 'status.nextRunAt') || '-' },
    field('IMAGE', 'image', true),
    field('MESSAGE', 'status.message'),
  ],
};

/** The runs of one job, as `describe` shows them. */
export const JOB_RUNS: Listing = {
  nameOf: named('id'),
  columns: [
    field('RUN', 'id'),
    field('STATE', 'state'),
    field('TRIGGER', 'trigger'),
    field('ATTEMPTS', 'attempts'),
    field('EXIT', 'exitCode'),
    field('NODE', 'nodeId'),
    ageOf('createdAt'),
    field('MESSAGE', 'message'),
  ],
};

const volumes: Resource = {
  name: 'volumes',
  aliases: ['volume', 'vol'],
  nameOf: (record) => `volume/${textOf(record, 'name')}`,
  nothing: 'no volumes yet; next: berth volume create NAME --class replicated --size 10Gi --replicas 1',
  list: (client) => client.list(VOLUMES_PATH),
  one: findVolume,
  columns: [
    field('NAME', 'name'),
    field('CLASS', 'class'),
    field('TYPE', 'type', true),
    field('PHASE', 'phase'),
    { header: 'SIZE', cell: (record) => formatBytes(numberOf(record, 'sizeBytes') ?? 0) },
    { header: 'USED', cell: volumeUsedText },
    { header: 'PRIMARY', cell: (record) => textOf(record, 'primaryNodeId') || '-' },
    { header: 'COPIES', cell: volumeCopiesText },
    { header: 'USED BY', cell: (record) => volumeConsumers(record).join(', ') || '-', wide: true },
    field('ID', 'id'),
    ageOf('createdAt'),
    field('MESSAGE', 'message'),
  ],
};

/** The copies of one volume beside its primary. */
export const VOLUME_COPIES: Listing = {
  nameOf: named('nodeId'),
  columns: [
    field('NODE', 'nodeId'),
    field('STATE', 'state'),
    { header: 'LAG', cell: lagText },
    {
      header: 'NOTE',
      cell: (record) => {
        const epoch = textOf(record, 'formerEpoch');
        return epoch === '' ? '' : `was the primary until epoch ${epoch}; its bytes are kept`;
      },
    },
  ],
};

export const VOLUME_SNAPSHOTS: Listing = {
  nameOf: named('id'),
  columns: [field('ID', 'id'), field('NAME', 'name'), ageOf('createdAt')],
};

const recommendations: Resource = {
  name: 'recommendations',
  aliases: ['recommendation', 'rec'],
  nameOf: (record) => `recommendation/${textOf(record, 'id')}`,
  nothing: 'nothing is recommended for the volumes of the tenant',
  list: (client) => listRecommendations(client),
  columns: [
    field('ID', 'id'),
    field('PRIORITY', 'priority'),
    field('TYPE', 'type'),
    field('VOLUME', 'volume_id', true),
    { header: 'DOES', cell: recommendedText },
    field('REASON', 'reason'),
  ],
};

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

export async function findOne(resource: Resource, client: Client, name: string): Promise<Json> {
  if (resource.one !== undefined) return resource.one(client, name);
  const all = await resource.list(client, {});
  const found = all.find((record) => [textOf(record, 'id'), textOf(record, 'name')].includes(name));
  if (found !== undefined) return found;
  throw new Failure(`there is no ${resource.aliases[0] ?? resource.name} ${name}`, {
    advice: [`berth get ${resource.name}`],
  });
}
