import type { Json } from '../../support/harness/api-client.ts';
import { type Ask, type Case, inside, plantNode, plantVolume, post, put, refused, stored } from './case.ts';

const labels = (map: Json) => post({ labels: map });
const residency = (block: Json) => post({ placement: { residency: block } });
const COUNTRY = 'berth.io/data-residency-country';
const BLOCKED = 'berth.io/blocked-countries';

function mounted(fields: Json, more: Json = {}, mount: Json = {}): Ask {
  return async (stage) => {
    const volumeId = await plantVolume(stage, fields);
    return post({ volumes: [{ volumeId, mountPath: '/data', ...mount }], ...more })(stage);
  };
}

function binds(...paths: readonly string[]): Ask {
  return async (stage) => {
    const volumes: Json[] = [];
    for (const hostPath of paths) {
      const volumeId = await plantVolume(stage, { class: 'ephemeral', type: 'bind', hostPath });
      volumes.push({ volumeId, mountPath: `/data/${volumes.length}` });
    }
    return post({ volumes })(stage);
  };
}

const mount = (entry: unknown) => post({ volumes: [entry] });
const VOLUME = 'vol_01jd';

/** Nodes and volumes as far as deployments meet them, placement and labels. */
export const placementCases: readonly Case[] = [
  ...refused('node_candidates_unresolvable', 'nodeId', { 'no node at all': post({ nodeId: 'berlin-1' }) }),
  ...refused('node_not_a_placement_candidate', 'nodeId', {
    'another node': async (stage) => {
      await plantNode(stage, 'berlin-1');
      return post({ nodeId: 'paris-1' })(stage);
    },
    'a node of another tenant': async (stage) => {
      await plantNode(stage, 'berlin-1');
      const other = await stage.plane.tenant('other');
      await plantNode({ ...stage, tenant: other }, 'foreign-1');
      return post({ nodeId: 'foreign-1' })(stage);
    },
    'by an update': async (stage) => {
      await plantNode(stage, 'berlin-1');
      return put({}, { nodeId: 'paris-1' })(stage);
    },
  }),
  ...inside('node_not_a_placement_candidate', {
    'an enrolled node': async (stage) => {
      await plantNode(stage, 'berlin-1');
      return post({ nodeId: 'berlin-1' })(stage);
    },
  }),
  ...refused('volume_mount_shape', 'volumes[0]', { text: mount(VOLUME), list: mount([]), null: mount(null) }),
  ...refused('volume_mount_shape', 'volumes[0].volumeId', {
    absent: mount({ mountPath: '/data' }),
    'another type of id': mount({ volumeId: 'dep_1', mountPath: '/data' }),
    number: mount({ volumeId: 1, mountPath: '/data' }),
  }),
  ...refused('volume_mount_shape', 'volumes[0].mountPath', {
    absent: mount({ volumeId: VOLUME }),
    relative: mount({ volumeId: VOLUME, mountPath: 'data' }),
    dots: mount({ volumeId: VOLUME, mountPath: '/data/../etc' }),
    root: mount({ volumeId: VOLUME, mountPath: '/' }),
    colon: mount({ volumeId: VOLUME, mountPath: '/data:/etc' }),
    'a control character': mount({ volumeId: VOLUME, mountPath: '/data\n' }),
  }),
  ...refused('volume_mount_shape', 'volumes[0].readOnly', {
    text: mount({ volumeId: VOLUME, mountPath: '/data', readOnly: 'true' }),
  }),
  ...refused('volume_mount_shape', 'volumes[0].readonly', {
    'a field that does not exist': mount({ volumeId: VOLUME, mountPath: '/data', readonly: true }),
  }),
  ...refused('volume_mount_shape', 'volumes[1].mountPath', {
    'the same path twice': post({
      volumes: [
        { volumeId: 'vol_1', mountPath: '/data' },
        { volumeId: 'vol_2', mountPath: '/data' },
      ],
    }),
  }),
  ...refused('volume_not_found', 'volumes[0].volumeId', {
    missing: mount({ volumeId: 'vol_missing', mountPath: '/data' }),
    'of another tenant': async (stage) => {
      const other = await stage.plane.tenant('other');
      const volumeId = await plantVolume({ ...stage, tenant: other });
      return mount({ volumeId, mountPath: '/data' })(stage);
    },
  }),
  ...refused('volume_class_not_wired', 'volumes[0].volumeId', { object: mounted({ class: 'object' }) }),
  ...refused('volume_not_ready', 'volumes[0].volumeId', {
    pending: mounted({ phase: 'Pending' }),
    materializing: mounted({ phase: 'Materializing' }),
    degraded: mounted({ phase: 'Degraded' }),
    deleting: mounted({ phase: 'Deleting' }),
  }),
  ...inside('volume_not_ready', {
    replicated: mounted({}),
    ephemeral: mounted({ class: 'ephemeral' }),
    'read-only': mounted({}, {}, { readOnly: true }),
  }),
  ...refused('volume_access_mode_conflict', 'volumes[0].readOnly', {
    'a second writer': async (stage) => {
      const volumeId = await plantVolume(stage);
      await stored(stage, { volumes: [{ volumeId, mountPath: '/data' }] });
      return mount({ volumeId, mountPath: '/data' })(stage);
    },
    'two instances': mounted({}, { replicas: 2 }),
    'scaled by an update': async (stage) => {
      const volumeId = await plantVolume(stage);
      return put({ volumes: [{ volumeId, mountPath: '/data' }] }, { replicas: 2 })(stage);
    },
  }),
  ...inside('volume_access_mode_conflict', {
    'a reader beside the writer': async (stage) => {
      const volumeId = await plantVolume(stage);
      await stored(stage, { volumes: [{ volumeId, mountPath: '/data' }] });
      return mount({ volumeId, mountPath: '/data', readOnly: true })(stage);
    },
    'readers in numbers': mounted({}, { replicas: 5 }, { readOnly: true }),
    'none at all': mounted({}, { replicas: 0 }),
  }),
  ...refused('volume_binds_nested', 'volumes[1].volumeId', {
    'one inside the other': binds('/srv/a', '/srv/a/b'),
    'the other way round': binds('/srv/a/b', '/srv/a'),
  }),
  ...inside('volume_binds_nested', {
    'side by side': binds('/srv/a', '/srv/ab'),
    'the same folder': binds('/srv/a', '/srv/a'),
  }),
  ...refused('volume_primary_mismatch', 'nodeId', {
    'another node': async (stage) => {
      await plantNode(stage, 'berlin-1');
      return mounted({ primaryNodeId: 'paris-1' }, { nodeId: 'berlin-1' })(stage);
    },
  }),
  ...inside('volume_primary_mismatch', {
    'the primary': async (stage) => {
      await plantNode(stage, 'berlin-1');
      return mounted({ primaryNodeId: 'berlin-1' }, { nodeId: 'berlin-1' })(stage);
    },
    'no node named': mounted({ primaryNodeId: 'paris-1' }),
  }),
  ...refused(
    'volume_binding_unavailable',
    'volumes',
    { 'any mount': mount({ volumeId: VOLUME, mountPath: '/d' }) },
    'volumes-off',
  ),
  ...inside('volume_binding_unavailable', { 'no mount': post({ volumes: [] }) }, 'volumes-off'),
  ...refused('placement_invalid', 'placement.residency', { 'an empty block': residency({}) }),
  ...refused('placement_invalid', 'placement.constraints.disk', {
    'an empty value': post({ placement: { constraints: { disk: '' } } }),
  }),
  ...refused('placement_invalid', 'placement.antiAffinity[0]', {
    'no name': post({ placement: { antiAffinity: ['Not A Name'] } }),
  }),
  ...inside('placement_invalid', {
    constraint: post({ placement: { constraints: { disk: 'ssd' } } }),
    'its own name': post({ name: 'spread', placement: { antiAffinity: ['spread'] } }),
    'an empty placement': post({ placement: {} }),
  }),
  ...refused('residency_label_handwritten', `labels.${COUNTRY}`, { country: labels({ [COUNTRY]: 'DE' }) }),
  ...refused('residency_label_handwritten', `labels.${BLOCKED}`, { blocked: labels({ [BLOCKED]: 'RU,BY' }) }),
  ...refused('residency_label_handwritten', `placement.constraints.${COUNTRY}`, {
    'as a constraint': post({ placement: { constraints: { [COUNTRY]: 'DE' } } }),
  }),
  ...refused('residency_label_conflict', `labels.${COUNTRY}`, {
    both: post({ labels: { [COUNTRY]: 'DE' }, placement: { residency: { country: 'FR' } } }),
    'both, and equal': post({ labels: { [COUNTRY]: 'DE' }, placement: { residency: { country: 'DE' } } }),
  }),
  ...refused('residency_region_undeclared', 'placement.residency.region', {
    'another word': residency({ region: 'europe' }),
    'another case': residency({ region: 'EU' }),
    'an inherited name': residency({ region: 'constructor' }),
  }),
  ...inside('residency_region_undeclared', { eu: residency({ region: 'eu' }) }),
  ...refused('residency_country_invalid', 'placement.residency.country', {
    'a name': residency({ country: 'Germany' }),
    'three letters': residency({ country: 'DEU' }),
    'not assigned': residency({ country: 'UK' }),
    empty: residency({ country: '' }),
  }),
  ...refused('residency_country_invalid', 'placement.residency.blockedCountries[1]', {
    'in the list': residency({ blockedCountries: ['RU', 'XX'] }),
  }),
  ...inside('residency_country_invalid', {
    DE: residency({ country: 'DE' }),
    'lower case is announced': residency({ country: 'de', blockedCountries: ['ru'] }),
  }),
  ...refused('labels_invalid', 'labels.team name', { space: labels({ 'team name': 'shop' }) }),
  ...refused('labels_invalid', 'labels.team', { 'a control character': labels({ team: 'a\nb' }) }),
  ...refused('labels_invalid', 'labels.-team', { 'a symbol first': labels({ '-team': 'a' }) }),
  ...inside('labels_invalid', {
    plain: labels({ team: 'shop', 'example.com/cost-centre': '42', constructor: 'x' }),
  }),
  ...refused('label_reserved', 'labels.berth.io/tenant', {
    'of the platform': labels({ 'berth.io/tenant': 'x' }),
  }),
  ...refused('label_reserved', 'labels.traefik.enable', {
    'of the proxy': labels({ 'traefik.enable': 'true' }),
  }),
  ...refused('label_reserved', 'labels.Traefik.Enable', {
    'in another case': labels({ 'Traefik.Enable': 'true' }),
  }),
  ...inside('label_reserved', { 'a name that starts alike': labels({ traefikish: 'x', 'berth.iox': 'y' }) }),
];
