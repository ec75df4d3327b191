import { formatBytes } from '../../core/model/quantity.ts';
import { numberOf, textOf } from '../fields.ts';
import type { Listing } from '../output.ts';
import {
  findVolume,
  lagText,
  listRecommendations,
  recommendedText,
  volumeConsumers,
  volumeCopiesText,
  VOLUMES_PATH,
  volumeUsedText,
} from '../volumes.ts';
import { ageOf, field, named, type Resource } from './resource.ts';

export const volumes: Resource = {
  name: 'volumes',
  aliases: ['volume', 'vol'],
  nameOf: (record) => `volume/${textOf(record, 'name')}`,
  nothing: 'no volumes yet',
  next: 'berth volume create NAME --class replicated --size 10Gi --replicas 1',
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
        const former = epoch === '' ? [] : [`was the primary until epoch ${epoch}; its bytes are kept`];
        const misplaced = textOf(record, 'misplaced');
        return [...former, ...(misplaced === '' ? [] : [`cannot take over: ${misplaced}`])].join('; ');
      },
    },
  ],
};

export const VOLUME_SNAPSHOTS: Listing = {
  nameOf: named('id'),
  columns: [field('ID', 'id'), field('NAME', 'name'), ageOf('createdAt')],
};

export const recommendations: Resource = {
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
