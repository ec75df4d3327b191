import { formatBytes } from '../../core/model/quantity.ts';
import { textOf } from '../fields.ts';
import type { Recommendation, Snapshot, Volume, VolumeCopy } from '../records.ts';
import type { Listing } from '../output.ts';
import {
  findVolume,
  lagText,
  listRecommendations,
  recommendedText,
  volumeConsumers,
  volumeCopiesText,
  volumeUsedText,
} from '../volumes.ts';
import { ageOf, field, messageOf, type Resource } from './resource.ts';

export const volumes: Resource<Volume> = {
  name: 'volumes',
  aliases: ['volume', 'vol'],
  nameOf: (record) => `volume/${textOf(record.name)}`,
  page: (record) => `/volumes/${textOf(record.id)}`,
  nothing: 'no volumes yet',
  next: 'berth volume create NAME --class replicated --size 10Gi --replicas 1',
  list: (client) => client.list('GET /api/v1/dvm/volumes'),
  one: findVolume,
  columns: [
    field('NAME', (one) => one.name),
    field('CLASS', (one) => one.class),
    field('TYPE', (one) => one.type, true),
    field('PHASE', (one) => one.phase),
    { header: 'SIZE', cell: (record) => formatBytes(record.sizeBytes ?? 0) },
    { header: 'USED', cell: volumeUsedText },
    { header: 'PRIMARY', cell: (record) => textOf(record.primaryNodeId) || '-' },
    { header: 'COPIES', cell: volumeCopiesText },
    { header: 'USED BY', cell: (record) => volumeConsumers(record).join(', ') || '-', wide: true },
    field('ID', (one) => one.id),
    ageOf((one) => one.createdAt),
    messageOf((one) => one.message),
  ],
};

/** The copies of one volume beside its primary. */
export const VOLUME_COPIES: Listing<VolumeCopy> = {
  nameOf: (record) => textOf(record.nodeId),
  columns: [
    field('NODE', (one) => one.nodeId),
    field('STATE', (one) => one.state),
    { header: 'LAG', cell: lagText },
    {
      header: 'NOTE',
      cell: (record) => {
        const epoch = textOf(record.formerEpoch);
        const former = epoch === '' ? [] : [`was the primary until epoch ${epoch}; its bytes are kept`];
        const [misplaced, problem] = [textOf(record.misplaced), textOf(record.problem)];
        return [
          ...former,
          ...(misplaced === '' ? [] : [`cannot take over: ${misplaced}`]),
          ...(problem === '' ? [] : [`nothing newer comes: ${problem}`]),
        ].join('; ');
      },
    },
  ],
};

export const VOLUME_SNAPSHOTS: Listing<Snapshot> = {
  nameOf: (record) => textOf(record.id),
  columns: [field('ID', (one) => one.id), field('NAME', () => ''), ageOf(() => '')],
};

export const recommendations: Resource<Recommendation> = {
  name: 'recommendations',
  aliases: ['recommendation', 'rec'],
  nameOf: (record) => `recommendation/${textOf(record.id)}`,
  nothing: 'nothing is recommended for the volumes of the tenant',
  list: (client) => listRecommendations(client),
  columns: [
    field('ID', (one) => one.id),
    field('PRIORITY', (one) => one.priority),
    field('TYPE', (one) => one.type),
    field('VOLUME', (one) => one.volume_id, true),
    { header: 'DOES', cell: recommendedText },
    field('REASON', (one) => one.reason),
  ],
};
