import type { NodeName } from '../../../src/core/model/ids.ts';
import type { Json } from '../../support/harness/api-client.ts';
import {
  type Ask,
  ask,
  type Case,
  inside,
  plantNode,
  plantVolume,
  post,
  put,
  refused,
  type Stage,
  stored,
} from './case.ts';

const VOLUMES = '/api/v1/dvm/volumes';
const MIB = 2 ** 20;

/** POST of a volume that is valid but for the given fields. */
function create(fields: Json): Ask {
  return (stage) => ({
    method: 'POST',
    path: VOLUMES,
    options: {
      body: {
        name: stage.fresh('vol'),
        class: 'replicated',
        type: 'volume',
        sizeBytes: 128 * MIB,
        ...fields,
      },
    },
  });
}

const ephemeral = { class: 'ephemeral', sizeBytes: MIB };

function copyOf(
  fields: Parameters<typeof plantVolume>[1],
  node: (stage: Stage) => string | Promise<string>,
): Ask {
  return async (stage) => {
    const id = await plantVolume(stage, fields);
    const path = `/api/v1/tenants/${stage.tenant.slug}/volumes/${id}/replicas`;
    return { method: 'POST', path, options: { body: { node_id: await node(stage) } } };
  };
}

function promoteTo(
  fields: Parameters<typeof plantVolume>[1],
  node: (stage: Stage) => string | Promise<string>,
): Ask {
  return async (stage) => {
    const id = await plantVolume(stage, fields);
    const options = { body: { node_id: await node(stage) } };
    return { method: 'POST', path: `/api/v1/dvm/volumes/${id}/promote`, options };
  };
}

async function spare(stage: Stage): Promise<string> {
  const name = stage.fresh('spare');
  await plantNode(stage, name);
  return name;
}

/** A volume with a copy in FR that another deployment mounts: what is sent mounts it too. */
function besides(
  method: 'POST' | 'PUT',
  other: Json,
  sent: (volumeId: string) => Json,
  before?: (volumeId: string) => Json,
): Ask {
  return async (stage) => {
    const paris = stage.fresh('paris');
    await plantNode(stage, paris, { 'berth.io/country': 'FR' });
    const volumeId = await plantVolume(stage, {
      copies: 1,
      replicas: [{ nodeId: paris as NodeName, state: 'live' }],
    });
    await stored(stage, { volumes: [{ volumeId, mountPath: '/data', readOnly: true }], ...other });
    if (method === 'POST') return post(sent(volumeId))(stage);
    return put(before?.(volumeId) ?? {}, sent(volumeId))(stage);
  };
}

const reading = (volumeId: string): Json => ({ volumes: [{ volumeId, mountPath: '/data', readOnly: true }] });
const writing = (volumeId: string): Json => ({ volumes: [{ volumeId, mountPath: '/data' }] });
const within = (country: string): Json => ({ placement: { residency: { country } } });

function snapshots(method: string, rest = '', missing = false): Ask {
  return async (stage) => {
    const id = missing ? 'vol_gone' : await plantVolume(stage);
    return { method, path: `/api/v1/tenants/${stage.tenant.slug}/volumes/${id}/snapshots${rest}` };
  };
}

/** Records, copies and snapshots. */
export const volumeCases: readonly Case[] = [
  ...refused('volume_name_invalid', 'name', {
    absent: create({ name: undefined }),
    empty: create({ name: '' }),
    'a space': create({ name: 'PG Data' }),
    '64 characters': create({ name: 'a'.repeat(64) }),
    'a number': create({ name: 7 }),
  }),
  ...inside('volume_name_invalid', { '63 characters': create({ name: 'a'.repeat(63) }) }),
  ...refused('volume_already_exists', 'name', {
    'a second time': async (stage) => {
      const name = stage.fresh('vol');
      const asked = await create({ name })(stage);
      await stage.call(asked.method, asked.path, asked.options);
      return asked;
    },
  }),
  ...refused('volume_class_unknown', 'class', {
    absent: create({ class: undefined }),
    'another word': create({ class: 'persistent' }),
    'upper case': create({ class: 'Replicated' }),
  }),
  ...inside('volume_class_unknown', {
    ephemeral: create({ class: 'ephemeral' }),
    object: create({ class: 'object' }),
  }),
  ...refused('volume_type_unknown', 'type', {
    absent: create({ type: undefined }),
    'another word': create({ type: 'nfs' }),
    'memory with copies': create({ type: 'tmpfs' }),
    'a directory of one host with copies': create({ type: 'bind', hostPath: '/srv/a' }),
  }),
  ...inside('volume_type_unknown', {
    tmpfs: create({ ...ephemeral, type: 'tmpfs' }),
    bind: create({ ...ephemeral, type: 'bind', hostPath: '/srv/berth/media' }),
  }),
  ...refused('volume_size_invalid', 'sizeBytes', {
    absent: create({ sizeBytes: undefined }),
    'a unit': create({ sizeBytes: '1Gi' }),
    'a fraction': create({ sizeBytes: 128 * MIB + 0.5 }),
    'one byte too small': create({ sizeBytes: 128 * MIB - 1 }),
    '0': create({ ...ephemeral, sizeBytes: 0 }),
    '2^53': create({ sizeBytes: 2 ** 53 }),
  }),
  ...inside('volume_size_invalid', {
    'the smallest': create({ sizeBytes: 128 * MIB }),
    'one byte of one node': create({ ...ephemeral, sizeBytes: 1 }),
  }),
  ...refused('volume_host_path_invalid', 'hostPath', {
    absent: create({ ...ephemeral, type: 'bind' }),
    relative: create({ ...ephemeral, type: 'bind', hostPath: 'srv/a' }),
    upwards: create({ ...ephemeral, type: 'bind', hostPath: '/srv/../etc' }),
    'the root': create({ ...ephemeral, type: 'bind', hostPath: '/' }),
    'of another type': create({ hostPath: '/srv/a' }),
  }),
  ...refused('volume_not_replicated', 'replicas', {
    'copies of memory': create({ ...ephemeral, replicas: 1 }),
  }),
  ...inside('volume_not_replicated', {
    'no copies': create({ ...ephemeral, replicas: 0 }),
    copies: create({ replicas: 2 }),
  }),
  ...refused('field_type_invalid', 'replicas', {
    negative: create({ replicas: -1 }),
    'more than there are machines': create({ replicas: 101 }),
    text: create({ replicas: '1' }),
  }),
  ...refused('field_unknown', 'size', { 'another name': create({ size: 1 }) }),
  ...refused('node_not_a_placement_candidate', 'nodeId', {
    'of nobody': async (stage) => {
      await spare(stage);
      return create({ nodeId: 'nowhere-1' })(stage);
    },
    'of the control plane': async (stage) => {
      await plantNode(stage, stage.plane.config.nodeName);
      return create({ nodeId: stage.plane.config.nodeName })(stage);
    },
  }),
  ...inside('node_not_a_placement_candidate', {
    'an own node': async (stage) => create({ nodeId: await spare(stage) })(stage),
  }),
  ...refused('volume_not_found', 'id', {
    read: ask('GET', `${VOLUMES}/vol_gone`),
    'of another tenant': async (stage) => {
      const other = await stage.plane.tenant('volumes-other');
      const id = await plantVolume({ ...stage, tenant: other });
      return { method: 'GET', path: `${VOLUMES}/${id}` };
    },
    deleted: ask('DELETE', `${VOLUMES}/vol_gone`),
    'its snapshots': snapshots('GET', '', true),
  }),
  ...refused('volume_in_use', 'id', {
    mounted: async (stage) => {
      const id = await plantVolume(stage);
      await stored(stage, { volumes: [{ volumeId: id, mountPath: '/data', readOnly: true }] });
      return { method: 'DELETE', path: `${VOLUMES}/${id}` };
    },
    'mounted by a stopped deployment': async (stage) => {
      const id = await plantVolume(stage);
      await stored(stage, { replicas: 0, volumes: [{ volumeId: id, mountPath: '/data' }] });
      return { method: 'DELETE', path: `${VOLUMES}/${id}` };
    },
  }),
  ...inside('volume_in_use', {
    'given up before': async (stage) => {
      const id = await plantVolume(stage);
      const name = await stored(stage, { volumes: [{ volumeId: id, mountPath: '/data' }] });
      await stage.call('PUT', `/api/v1/deployments/${name}`, { body: { volumes: [] } });
      return { method: 'DELETE', path: `${VOLUMES}/${id}` };
    },
  }),
  ...refused('volume_not_replicated', 'id', { 'of one node': copyOf({ class: 'ephemeral' }, spare) }),
  ...refused('volume_replica_conflict', 'node_id', {
    'the primary': copyOf({}, (stage) => `keeper-${stage.tenant.slug}`),
    'a copy': async (stage) => {
      const node = await spare(stage);
      return copyOf(
        { copies: 1, replicas: [{ nodeId: node as NodeName, state: 'live' }] },
        () => node,
      )(stage);
    },
    'on its way out': async (stage) => {
      const node = await spare(stage);
      return copyOf({ leaving: [node as NodeName] }, () => node)(stage);
    },
  }),
  ...refused('node_not_a_placement_candidate', 'node_id', {
    'a copy nowhere': copyOf({}, () => 'nowhere-1'),
    'a copy on the machine of the control plane': copyOf({}, async (stage) => {
      await plantNode(stage, stage.plane.config.nodeName);
      return stage.plane.config.nodeName;
    }),
  }),
  ...refused('volume_residency_conflict', 'placement.residency', {
    'a reader that excludes a copy': besides('POST', {}, (id) => ({ ...reading(id), ...within('DE') })),
    'a stopped one': besides('POST', {}, (id) => ({ ...reading(id), ...within('DE'), replicas: 0 })),
    'a writer beside a reader': besides('POST', {}, (id) => ({ ...writing(id), ...within('DE') })),
    'by an update': besides('PUT', {}, () => within('DE'), reading),
  }),
  ...refused('volume_residency_conflict', 'volumes[0].volumeId', {
    'a writer of what another keeps from taking over': besides('POST', within('DE'), writing),
  }),
  ...inside('volume_residency_conflict', {
    'what the copy satisfies': besides('POST', {}, (id) => ({ ...reading(id), ...within('FR') })),
    'by an update of what excluded it before': besides(
      'PUT',
      { ...within('DE'), replicas: 0 },
      () => ({ replicas: 0 }),
      (id) => ({ ...reading(id) }),
    ),
    'nobody else': async (stage) => {
      const node = await spare(stage);
      const volumeId = await plantVolume(stage, {
        copies: 1,
        replicas: [{ nodeId: node as NodeName, state: 'live' }],
      });
      return post({ ...reading(volumeId), ...within('DE') })(stage);
    },
  }),
  ...refused('volume_promote_refused', 'node_id', {
    'without a copy': promoteTo({}, spare),
    'a copy that is behind': async (stage) => {
      const node = await spare(stage);
      return promoteTo(
        { copies: 1, replicas: [{ nodeId: node as NodeName, state: 'syncing' }] },
        () => node,
      )(stage);
    },
  }),
  ...inside('volume_promote_refused', {
    'the primary itself': promoteTo({}, (stage) => `keeper-${stage.tenant.slug}`),
  }),
  ...inside('volume_replica_conflict', { 'a node of its own': copyOf({}, spare) }),
  ...refused('volume_snapshot_not_implemented', 'snapshots', {
    'of a volume': snapshots('POST'),
    'of no volume': snapshots('POST', '', true),
    'with a body': async (stage) => ({
      ...(await snapshots('POST')(stage)),
      options: { raw: '{"malformed', headers: { 'content-type': 'text/plain' } },
    }),
  }),
  ...refused('volume_snapshot_not_found', 'snapshots/snap-1', {
    'none is there': snapshots('GET', '/snap-1'),
  }),
  ...inside('volume_snapshot_not_found', { 'the list': snapshots('GET') }),
  ...refused(
    'volume_binding_unavailable',
    'volumes',
    {
      list: ask('GET', VOLUMES),
      create: create({}),
      read: ask('GET', `${VOLUMES}/vol_a`),
      delete: ask('DELETE', `${VOLUMES}/vol_a`),
    },
    'volumes-off',
  ),
];
