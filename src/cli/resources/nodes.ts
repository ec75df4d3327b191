import { portRangesText } from '../../core/model/port-ranges.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import { named } from '../client.ts';
import { textOf } from '../fields.ts';
import type { JoinToken, Network, Node } from '../records.ts';
import { ageOf, expiresOf, field, labelsOf, messageOf, type Resource } from './resource.ts';

function nodeState(record: Node): string {
  const parts = [textOf(record.status)];
  if (record.draining === true) parts.push('draining');
  else if (record.schedulable === false) parts.push('cordoned');
  return parts.join(',');
}

function usedOf(record: Node): string {
  const cpu = record.requested?.cpu ?? 0;
  const memory = record.requested?.memoryBytes ?? 0;
  return `${Number(cpu.toFixed(2))} CPU, ${formatBytes(memory)}`;
}

/** What may still be asked for. */
function diskOf({ disk, requested }: Node): string {
  if (disk === undefined) return '';
  const free = Math.max(0, (disk.roomBytes ?? 0) - (requested?.diskBytes ?? 0));
  return `${formatBytes(free)} of ${formatBytes(disk.totalBytes ?? 0)} free`;
}

/** Beside why it is not ready. */
function otherProblems({ problems = [], reason }: Node): string {
  return problems.filter((one) => one !== reason).join('; ');
}

export const nodes: Resource<Node> = {
  name: 'nodes',
  aliases: ['node', 'no'],
  nameOf: (record) => `node/${textOf(record.name)}`,
  page: (record) => `/nodes/${textOf(record.name)}`,
  nothing: 'no nodes yet',
  next: 'berth node token',
  list: (client) => client.list('GET /api/v1/nodes'),
  one: (client, name) => client.record('GET /api/v1/nodes/{name}', named(name)),
  columns: [
    field('NAME', (one) => one.name),
    { header: 'STATUS', cell: nodeState },
    { header: 'CPU', cell: (record) => textOf(record.capacity?.cpu) },
    { header: 'MEMORY', cell: (record) => formatBytes(record.capacity?.memoryBytes ?? 0) },
    { header: 'REQUESTED', cell: usedOf },
    {
      header: 'ENGINE',
      cell: (record) => `${textOf(record.engine?.kind)} ${textOf(record.engine?.version)}`.trim(),
    },
    { header: 'DISK', cell: diskOf, wide: true },
    field('PLATFORM', (one) => one.platform, true),
    field('AGENT', (one) => one.agentVersion, true),
    {
      header: 'HOST-PORTS',
      cell: (record) => (Array.isArray(record.hostPorts) ? portRangesText(record.hostPorts ?? []) : ''),
      wide: true,
    },
    { header: 'SUBNET', cell: (record) => textOf(record.mesh?.subnet), wide: true },
    { header: 'PROBLEMS', cell: otherProblems, wide: true },
    {
      header: 'CONTROL-PLANE',
      cell: (record) => (record.controlPlane === true ? 'yes' : ''),
      wide: true,
    },
    { header: 'LABELS', cell: labelsOf, wide: true },
    ageOf((one) => one.lastSeenAt, 'SEEN'),
    messageOf((one) => one.reason ?? one.conditions?.[0]?.message),
  ],
};

export const joinTokens: Resource<JoinToken> = {
  name: 'join-tokens',
  aliases: ['join-token'],
  nameOf: (record) => `join-token/${textOf(record.id)}`,
  nothing: 'no join tokens are open',
  next: 'berth node token',
  list: (client) => client.list('GET /api/v1/join-tokens'),
  columns: [
    field('ID', (one) => one.id),
    { header: 'NODE', cell: (record) => textOf(record.nodeName) || 'any' },
    expiresOf((one) => one.expiresAt),
    field('BY', (one) => one.createdBy),
    ageOf((one) => one.createdAt),
  ],
};

export const networks: Resource<Network> = {
  name: 'networks',
  aliases: ['network', 'net'],
  nameOf: (record) => `network/${textOf(record.name)}`,
  nothing: 'no networks yet',
  next: 'berth network create NAME',
  list: (client) => client.list('GET /api/v1/networks'),
  one: (client, name) => client.record('GET /api/v1/networks/{name}', named(name)),
  columns: [
    field('NAME', (one) => one.name),
    field('NODE', (one) => one.nodeId),
    field('DRIVER', (one) => one.driver),
    { header: 'INTERNAL', cell: (record) => (record.internal === true ? 'yes' : 'no') },
    field('PHASE', (one) => one.status?.phase),
    { header: 'LABELS', cell: labelsOf, wide: true },
    ageOf((one) => one.createdAt),
    messageOf(({ status }) => (textOf(status?.phase) === 'Ready' ? '' : status?.message)),
  ],
};
