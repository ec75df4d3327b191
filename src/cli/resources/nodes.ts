import { portRangesText } from '../../core/model/port-ranges.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import { type Json, segment } from '../client.ts';
import { numberOf, textOf, textsOf, valueOf } from '../fields.ts';
import { ageOf, field, labelsOf, type Resource } from './resource.ts';

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

export const nodes: Resource = {
  name: 'nodes',
  aliases: ['node', 'no'],
  nameOf: (record) => `node/${textOf(record, 'name')}`,
  nothing: 'no nodes yet',
  next: 'berth node token',
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
      header: 'HOST-PORTS',
      cell: (record) =>
        Array.isArray(valueOf(record, 'hostPorts')) ? portRangesText(textsOf(record, 'hostPorts')) : '',
      wide: true,
    },
    { header: 'PROBLEMS', cell: (record) => textsOf(record, 'problems').join('; '), wide: true },
    {
      header: 'CONTROL-PLANE',
      cell: (record) => (valueOf(record, 'controlPlane') === true ? 'yes' : ''),
      wide: true,
    },
    { header: 'LABELS', cell: labelsOf, wide: true },
    ageOf('lastSeenAt', 'SEEN'),
  ],
};

export const joinTokens: Resource = {
  name: 'join-tokens',
  aliases: ['join-token'],
  nameOf: (record) => `join-token/${textOf(record, 'id')}`,
  nothing: 'no join tokens are open',
  next: 'berth node token',
  list: (client) => client.list('/api/v1/join-tokens'),
  columns: [
    field('ID', 'id'),
    { header: 'NODE', cell: (record) => textOf(record, 'nodeName') || 'any' },
    field('EXPIRES', 'expiresAt'),
    field('BY', 'createdBy'),
    ageOf('createdAt'),
  ],
};

export const networks: Resource = {
  name: 'networks',
  aliases: ['network', 'net'],
  nameOf: (record) => `network/${textOf(record, 'name')}`,
  nothing: 'no networks yet',
  next: 'berth network create NAME',
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
