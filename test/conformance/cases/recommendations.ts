import type { NodeName } from '../../../src/core/model/ids.ts';
import type { VolumeRecord } from '../../../src/core/model/volume.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import type { Json } from '../../support/harness/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { type Ask, ask, type Case, inside, plantNode, plantVolume, refused, type Stage } from './case.ts';

import { keeperOf } from './keeper.ts';

const PATH = '/api/v1/dvm/recommendations';
const GIB = 2 ** 30;

function read(query: string): Ask {
  return (stage) => ({ method: 'GET', path: `${PATH}${query}`, options: { tenant: stage.tenant.slug } });
}

/** A volume that nothing was heard of, but for what it holds. */
async function measured(
  stage: Stage,
  usedBytes: number,
  fields: Partial<VolumeRecord> = {},
): Promise<string> {
  const node = `keeper-${stage.tenant.slug}`;
  const id = await plantVolume(stage, { class: 'ephemeral', ...fields });
  const tenant = stage.plane.store.forTenant(stage.tenant.id);
  await tenant.commit(
    tenant.transaction().put('volume-observations', idOf('volume-observations', id, node), {
      volumeId: id,
      role: 'primary',
      epoch: 1,
      state: 'ready',
      usedBytes,
      measuredAt: new Date().toISOString(),
    }),
  );
  return id;
}

interface Listed {
  readonly id: string;
  readonly volume_id: string;
  readonly type: string;
}

async function recommendationOf(stage: Stage, volumeId: string, type: string): Promise<string> {
  const found = await eventually(
    async () => {
      const answer = await stage.call('GET', PATH, { tenant: stage.tenant.slug });
      const list = answer.list as unknown as readonly Listed[];
      return list.find((one) => one.volume_id === volumeId && one.type === type);
    },
    (one) => one !== undefined,
  );
  return found?.id ?? '';
}

type Made = (stage: Stage) => Promise<{ readonly volume: string; readonly type: string }>;

function apply(
  made: Made,
  parameters?: unknown,
  meanwhile?: (stage: Stage, volume: string) => Promise<void>,
): Ask {
  return async (stage) => {
    const { volume, type } = await made(stage);
    const id = await recommendationOf(stage, volume, type);
    await meanwhile?.(stage, volume);
    return {
      method: 'POST',
      path: `${PATH}/${id}/apply`,
      ...(parameters === undefined ? {} : { options: { body: { parameters } } }),
    };
  };
}

const crowded: Made = async (stage) => ({ volume: await measured(stage, 0.9 * GIB), type: 'capacity' });
const crowdedCopies: Made = async (stage) => ({
  volume: await measured(stage, 10_000_000, { class: 'replicated', sizeBytes: 10_000_001 }),
  type: 'capacity',
});
/** The same on a node whose agent answers. */
const kept: Made = async (stage) => ({
  volume: await plantVolume(stage, {
    class: 'ephemeral',
    primaryNodeId: (await keeperOf(stage)) as NodeName,
  }),
  type: 'capacity',
});
const keptCopies: Made = async (stage) => ({
  volume: await plantVolume(stage, {
    sizeBytes: 10_000_001,
    primaryNodeId: (await keeperOf(stage)) as NodeName,
  }),
  type: 'capacity',
});
const alone: Made = async (stage) => {
  await plantNode(stage, 'second-1');
  return { volume: await plantVolume(stage), type: 'replication' };
};
const unused: Made = async (stage) => ({
  volume: await plantVolume(stage, { unmountedSince: new Date(0).toISOString() }),
  type: 'cleanup',
});
const grow = (target: unknown, more: Json = {}) => ({ target_size_bytes: target, ...more });

/** What is recommended, and what may be done about it. */
export const recommendationCases: readonly Case[] = [
  ...refused('dvm_recommendation_tenant_required', 'X-Tenant-ID', { absent: ask('GET', PATH) }),
  ...refused('dvm_recommendation_unknown_priority', 'priority', {
    'another word': read('?priority=urgent'),
    'upper case': read('?priority=High'),
    empty: read('?priority='),
  }),
  ...inside('dvm_recommendation_unknown_priority', { medium: read('?priority=medium') }),
  ...refused('dvm_recommendation_unknown_type', 'type', {
    'another word': read('?type=size'),
    'two of them': read('?type=capacity,cleanup'),
  }),
  ...inside('dvm_recommendation_unknown_type', { cleanup: read('?type=cleanup&priority=low') }),
  ...refused('query_parameter_unknown', 'kind', { 'another filter': read('?kind=capacity') }),
  ...refused('dvm_recommendation_not_found', 'id', {
    'never there': ask('POST', `${PATH}/rec_gone/apply`),
    'not there any more': apply(crowded, undefined, async (stage, volume) => {
      const tenant = stage.plane.store.forTenant(stage.tenant.id);
      const stored = tenant.get('volumes', idOf('volumes', volume));
      if (stored === undefined) throw new Error('the volume is gone');
      const record = { ...stored.record, sizeBytes: 2 * GIB };
      await tenant.commit(tenant.transaction().put('volumes', stored.id, record));
    }),
    'of another tenant': async (stage) => {
      const other = await stage.plane.tenant('recommendations-other');
      const elsewhere = { ...stage, tenant: other };
      const volume = await measured(elsewhere, 0.9 * GIB);
      const listed = await stage.plane.api.get(PATH, {
        token: other.tokens['tenant-admin'],
        tenant: other.slug,
      });
      const list = listed.list as unknown as readonly Listed[];
      const id = list.find((one) => one.volume_id === volume)?.id ?? '';
      return { method: 'POST', path: `${PATH}/${id}/apply` };
    },
  }),
  ...refused('dvm_recommendation_volume_missing', 'volume_id', {
    deleted: apply(crowded, undefined, async (stage, volume) => {
      await stage.call('DELETE', `/api/v1/dvm/volumes/${volume}`);
    }),
    moved: apply(crowded, undefined, async (stage, volume) => {
      await plantNode(stage, 'moved-1');
      const tenant = stage.plane.store.forTenant(stage.tenant.id);
      const stored = tenant.get('volumes', idOf('volumes', volume));
      if (stored === undefined) throw new Error('the volume is gone');
      const record = { ...stored.record, primaryNodeId: 'moved-1' as NodeName };
      await tenant.commit(tenant.transaction().put('volumes', stored.id, record));
    }),
  }),
  ...refused('dvm_recommendation_not_applicable', 'id', { 'only a person deletes': apply(unused) }),
  ...refused('dvm_recommendation_unknown_action', 'parameters.action', {
    'another verb': apply(crowded, { action: 'grow' }),
    'no text': apply(crowded, { action: 1 }),
    null: apply(crowded, { action: null }),
  }),
  ...refused('dvm_recommendation_bad_parameter', 'parameters.action', {
    'of another recommendation': apply(crowded, { action: 'set_replicas', target_replicas: 1 }),
  }),
  ...refused('dvm_recommendation_bad_parameter', 'parameters', { 'a list': apply(crowded, []) }),
  ...refused('dvm_recommendation_bad_parameter', 'parameters.target_size_bytes', {
    'a unit': apply(crowded, grow('10Gi')),
    'a fraction': apply(crowded, grow(1.5)),
    '0': apply(crowded, grow(0)),
    'of the other action': apply(alone, grow(GIB)),
  }),
  ...refused('dvm_recommendation_bad_parameter', 'parameters.target', {
    unknown: apply(crowded, { target: 2 * GIB }),
  }),
  ...inside('dvm_recommendation_bad_parameter', {
    'a number of bytes': apply(kept, grow(2 * GIB)),
    'the recommended ones': apply(kept),
    'no more than the action': apply(kept, { action: 'resize' }),
    'no parameters in the body': async (stage) => ({
      ...(await apply(kept)(stage)),
      options: { body: {} },
    }),
    copies: apply(alone),
  }),
  ...refused('dvm_recommendation_insufficient_nodes', 'parameters.target_replicas', {
    'more than there are nodes': apply(alone, { target_replicas: 90 }),
  }),
  ...refused('dvm_recommendation_stale_measurement', 'parameters.target_size_bytes', {
    'less than it holds': apply(kept, grow(0.5 * GIB)),
    'a volume that nobody can measure now': apply(crowded),
  }),
  ...refused('dvm_recommendation_apply_invalid_spec', 'spec', {
    'smaller than its class': apply(crowdedCopies, grow(64 * 2 ** 20)),
    'more copies than anybody has': apply(alone, { target_replicas: 101 }),
  }),
  ...inside('dvm_recommendation_apply_invalid_spec', {
    'the smallest of its class': apply(keptCopies, grow(128 * 2 ** 20)),
  }),
];
