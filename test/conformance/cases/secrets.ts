import type { Json } from '../../support/harness/api-client.ts';
import {
  type Ask,
  ask,
  type Case,
  DEPLOYMENTS,
  inside,
  plantVolume,
  post,
  put,
  refused,
  type Stage,
  stored,
  withSecret,
} from './case.ts';

const entry = (fields: Json) => withSecret(fields);

function mounts(...ids: readonly string[]): readonly Json[] {
  return ids.map((volumeId) => ({ volumeId, mountPath: `/data/${volumeId}` }));
}

/** A stored deployment with a secret that is anchored to a volume it mounts, and an update of it. */
function anchored(update: (volume: string, path: string) => Json) {
  return async (stage: Stage) => {
    const volume = await plantVolume(stage);
    const path = `resources/${stage.fresh()}`;
    const name = await stored(stage, {
      volumes: mounts(volume),
      secrets: [{ name: 'DB', vault_path: path, anchor: `volume(${volume})` }],
    });
    return {
      method: 'PUT',
      path: `${DEPLOYMENTS}/${name}`,
      options: { body: update(volume, path) },
    };
  };
}

/** A plain write of a document that is anchored to a mounted volume. */
function overwritten(body: Json) {
  return async (stage: Stage) => {
    const volume = await plantVolume(stage);
    const label = stage.fresh();
    const values = { password: 'one', user: 'app' };
    await stored(stage, {
      volumes: mounts(volume),
      secrets: [{ name: 'DB', vault_path: `resources/${label}`, anchor: `volume(${volume})`, values }],
    });
    return { method: 'PUT', path: `/api/v1/secrets/resources/${label}`, options: { body } };
  };
}

/** DELETE of a document of its own, which the given fields of a deployment refer to. */
const deletion =
  (fields?: (path: string) => Json): Ask =>
  async (stage) => {
    const path = `resources/${stage.fresh()}`;
    await stage.call('PUT', `/api/v1/secrets/${path}`, { body: { values: { a: 'b' } } });
    if (fields !== undefined) await stored(stage, fields(path));
    return { method: 'DELETE', path: `/api/v1/secrets/${path}` };
  };

/** References. */
export const secretCases: readonly Case[] = [
  ...refused('anchored_secret_dropped', 'secrets', {
    'an empty list': anchored(() => ({ secrets: [] })),
    'a list without it': anchored(() => ({
      secrets: [{ name: 'OTHER', vault_path: 'resources/other', anchor: 'external' }],
    })),
    cleared: anchored(() => ({ secrets: null })),
    'the anchor alone given up': anchored((_volume, path) => ({
      secrets: [{ name: 'DB', vault_path: path, anchor: 'external' }],
    })),
  }),
  ...inside('anchored_secret_dropped', {
    'the volume goes too': anchored(() => ({ secrets: [], volumes: [] })),
    'kept under another name': anchored((volume, path) => ({
      secrets: [{ name: 'STORE', vault_path: path, anchor: `volume(${volume})` }],
    })),
    'not sent': anchored(() => ({ replicas: 0 })),
  }),
  ...refused('anchored_secret_overwritten', 'values', {
    changed: overwritten({ values: { password: 'two', user: 'app' } }),
    dropped: overwritten({ values: { user: 'app' } }),
    'dropped by what is generated': overwritten({ generate: { keys: ['password'] } }),
  }),
  ...inside('anchored_secret_overwritten', {
    'the same values': overwritten({ values: { password: 'one', user: 'app' } }),
    'more of them': overwritten({ values: { password: 'one', user: 'app', host: 'db' } }),
  }),
  ...refused('anchored_secret_repointed', 'secrets[0].vault_path', {
    'another path': anchored((volume) => ({
      secrets: [{ name: 'DB', vault_path: 'resources/elsewhere', anchor: `volume(${volume})` }],
    })),
    'another path and anchor': anchored(() => ({
      secrets: [{ name: 'DB', vault_path: 'resources/elsewhere', anchor: 'external' }],
    })),
    'with more than was there': anchored((volume) => ({
      secrets: [
        { name: 'DB', vault_path: 'resources/elsewhere', anchor: `volume(${volume})` },
        { name: 'X', vault_path: 'resources/x', anchor: 'external' },
      ],
    })),
  }),
  ...inside('anchored_secret_repointed', {
    'the volume goes in the same update': anchored(() => ({
      secrets: [{ name: 'DB', vault_path: 'resources/elsewhere', anchor: 'external' }],
      volumes: null,
    })),
  }),
  ...refused('secret_anchor_invalid', 'secrets[0].anchor', {
    'another word': entry({ anchor: 'none' }),
    empty: entry({ anchor: '' }),
    'another case': entry({ anchor: 'Process' }),
    'a volume without an id': entry({ anchor: 'volume()' }),
    'a volume without brackets': entry({ anchor: 'volume' }),
    'text behind': entry({ anchor: 'volume(vol_a) ' }),
  }),
  ...refused('secret_anchor_invalid', 'anchor', {
    'in a secret write': (stage) => ({
      method: 'PUT',
      path: `/api/v1/secrets/resources/${stage.fresh()}`,
      options: { body: { values: { a: 'b' }, anchor: 'never' } },
    }),
  }),
  ...inside('secret_anchor_invalid', {
    process: entry({ anchor: 'process' }),
    external: entry({ anchor: 'external' }),
    absent: entry({ anchor: undefined }),
  }),
  ...refused('secret_anchor_volume_ephemeral', 'secrets[0].anchor', {
    tmpfs: async (stage) => {
      const volume = await plantVolume(stage, { type: 'tmpfs', class: 'ephemeral' });
      return withSecret({ anchor: `volume(${volume})` }, { volumes: mounts(volume) })(stage);
    },
    'by an update': async (stage) => {
      const volume = await plantVolume(stage, { type: 'tmpfs', class: 'ephemeral' });
      return put(
        {},
        {
          volumes: mounts(volume),
          secrets: [{ name: 'DB', vault_path: `resources/${stage.fresh()}`, anchor: `volume(${volume})` }],
        },
      )(stage);
    },
    'beside a volume that lasts': async (stage) => {
      const lasting = await plantVolume(stage);
      const volume = await plantVolume(stage, { type: 'tmpfs', class: 'ephemeral' });
      return withSecret({ anchor: `volume(${volume})` }, { volumes: mounts(lasting, volume) })(stage);
    },
  }),
  ...inside('secret_anchor_volume_ephemeral', {
    'a volume': async (stage) => {
      const volume = await plantVolume(stage);
      return withSecret({ anchor: `volume(${volume})` }, { volumes: mounts(volume) })(stage);
    },
    'a bind': async (stage) => {
      const volume = await plantVolume(stage, { type: 'bind', class: 'ephemeral' });
      return withSecret({ anchor: `volume(${volume})` }, { volumes: mounts(volume) })(stage);
    },
    'tmpfs beside another anchor': async (stage) => {
      const volume = await plantVolume(stage, { type: 'tmpfs', class: 'ephemeral' });
      return withSecret({ anchor: 'process' }, { volumes: mounts(volume) })(stage);
    },
  }),
  ...refused('secret_anchor_volume_not_declared', 'secrets[0].anchor', {
    'no volumes': entry({ anchor: 'volume(vol_none)' }),
    'another volume': async (stage) => {
      const volume = await plantVolume(stage);
      return withSecret({ anchor: 'volume(vol_other)' }, { volumes: mounts(volume) })(stage);
    },
    'a volume of the tenant that is not mounted': async (stage) =>
      withSecret({ anchor: `volume(${await plantVolume(stage)})` })(stage),
  }),
  ...inside('secret_anchor_volume_not_declared', {
    declared: async (stage) => {
      const volume = await plantVolume(stage);
      return withSecret({ anchor: `volume(${volume})` }, { volumes: mounts(volume) })(stage);
    },
  }),
  ...refused('secret_mount_path_unsupported', 'secrets[0].mount_path', {
    path: entry({ mount_path: '/run/secrets/db' }),
    empty: entry({ mount_path: '' }),
    null: entry({ mount_path: null }),
    boolean: entry({ mount_path: false }),
    object: entry({ mount_path: { path: '/x' } }),
  }),
  ...inside('secret_mount_path_unsupported', { absent: entry({}) }),
  ...refused('secret_name_invalid', 'secrets[0].name', {
    absent: entry({ name: undefined }),
    empty: entry({ name: '' }),
    hyphen: entry({ name: 'DB-1' }),
    dot: entry({ name: 'D.B' }),
    space: entry({ name: 'D B' }),
    'equals sign': entry({ name: 'D=B' }),
    newline: entry({ name: 'DB\n' }),
  }),
  ...refused('secret_name_invalid', 'secret', {
    'a rotation of an entry that is not there': async (stage) => {
      const name = await stored(stage, {
        secrets: [{ name: 'DB', vault_path: `resources/${stage.fresh()}` }],
      });
      return {
        method: 'POST',
        path: `${DEPLOYMENTS}/${name}/secrets/rotate`,
        options: { body: { phase: 'stage', secret: 'OTHER' } },
      };
    },
  }),
  ...inside('secret_name_invalid', {
    'a digit first': entry({ name: '1DB' }),
    'lower case': entry({ name: 'db' }),
    'an underscore alone': entry({ name: '_' }),
  }),
  ...refused('secret_name_duplicate', 'secrets[1].name', {
    'the same name twice': (stage) =>
      post({
        secrets: [
          { name: 'DB', vault_path: `resources/${stage.fresh()}` },
          { name: 'DB', vault_path: `resources/${stage.fresh()}` },
        ],
      })(stage),
  }),
  ...inside('secret_name_duplicate', {
    'names that differ in case': (stage) =>
      post({
        secrets: [
          { name: 'DB', vault_path: `resources/${stage.fresh()}` },
          { name: 'db', vault_path: `resources/${stage.fresh()}` },
        ],
      })(stage),
  }),
  ...refused('secret_vault_path_required', 'secrets[0].vault_path', {
    absent: entry({ vault_path: undefined }),
    empty: entry({ vault_path: '' }),
    'by an update': put({}, { secrets: [{ name: 'DB' }] }),
  }),
  ...refused('secret_vault_path_not_relative', 'secrets[0].vault_path', {
    'leading slash': entry({ vault_path: '/resources/db' }),
    'dots first': entry({ vault_path: '../resources/db' }),
    'dots inside': entry({ vault_path: 'resources/../db' }),
    'dots last': entry({ vault_path: 'resources/..' }),
    'two slashes': entry({ vault_path: '//resources/db' }),
  }),
  ...refused('secret_path_shape', 'secrets[0].vault_path', {
    'one segment': entry({ vault_path: 'db' }),
    'three segments': entry({ vault_path: 'resources/db/password' }),
    'trailing slash': entry({ vault_path: 'resources/' }),
    'empty middle': entry({ vault_path: 'resources//db' }),
    backslash: entry({ vault_path: 'resources\\db' }),
  }),
  ...refused('secret_path_shape', 'resource', {
    'consumers of a name that no path has': ask('GET', '/api/v1/secrets/resources/Not_A_Label/consumers'),
    'consumers of an encoded slash': ask('GET', '/api/v1/secrets/resources/a%2fb/consumers'),
    'consumers of dots': ask('GET', '/api/v1/secrets/resources/%2e%2e%2fb/consumers'),
  }),
  ...refused('secret_in_use', 'name', {
    'a deployment': deletion((path) => ({ secrets: [{ name: 'DB', vault_path: path }] })),
    'a certificate': deletion((path) => ({
      ingress: [{ host: 'in-use.example.com', port: 8080, tls: { vault_path: path } }],
    })),
    'a job': async (stage) => {
      const asked = await deletion()(stage);
      const body = {
        name: stage.fresh('job'),
        image: stage.image,
        schedule: '0 3 * * *',
        secrets: [{ name: 'DB', vault_path: asked.path.replace('/api/v1/secrets/', '') }],
      };
      await stage.call('POST', '/api/v1/jobs', { body });
      return asked;
    },
    'a rotation': async (stage) => {
      const asked = await deletion()(stage);
      await stage.call('POST', `${asked.path}/rotate`, { body: { phase: 'stage', values: { a: 'c' } } });
      return asked;
    },
  }),
  ...inside('secret_in_use', { 'nobody refers to it': deletion() }),
  ...refused('secret_not_found', 'name', {
    'a deletion': ask('DELETE', '/api/v1/secrets/resources/gone'),
    'a deletion of what was deleted': async (stage) => {
      const asked = await deletion()(stage);
      await stage.call(asked.method, asked.path);
      return asked;
    },
  }),
  ...refused('secret_path_namespace', 'secrets[0].vault_path', {
    'another namespace': entry({ vault_path: 'other/db' }),
    'another case': entry({ vault_path: 'Resources/db' }),
    'the registries': entry({ vault_path: 'registries/db' }),
    'one dot': entry({ vault_path: './db' }),
  }),
  ...refused('secret_path_namespace', 'namespace', {
    write: ask('PUT', '/api/v1/secrets/other/db', { body: { values: { a: 'b' } } }),
    read: ask('GET', '/api/v1/secrets/other/db'),
    'encoded dots': ask('GET', '/api/v1/secrets/%2e%2e%2fresources/db'),
    'a word of the language': ask('GET', '/api/v1/secrets/constructor/db'),
  }),
  ...refused('secret_path_name', 'secrets[0].vault_path', {
    'upper case': entry({ vault_path: 'resources/DB' }),
    'leading hyphen': entry({ vault_path: 'resources/-db' }),
    '64 characters': entry({ vault_path: `resources/${'a'.repeat(64)}` }),
    'an encoded slash': entry({ vault_path: 'resources/a%2fb' }),
    'trailing dot': entry({ vault_path: 'resources/db.' }),
    'a dot beyond ASCII': entry({ vault_path: 'resources/․․' }),
  }),
  ...refused('secret_path_name', 'name', {
    write: ask('PUT', '/api/v1/secrets/resources/D_B', { body: { values: { a: 'b' } } }),
    read: ask('GET', '/api/v1/secrets/resources/a%2Fb'),
    'a registry that is none': ask('PUT', '/api/v1/secrets/registries/NOT_A_HOST', {
      body: { values: { username: 'a', password: 'b' } },
    }),
  }),
  ...inside('secret_path_name', {
    '63 characters': entry({ vault_path: `resources/${'d'.repeat(63)}` }),
    'one character': entry({ vault_path: 'resources/e' }),
    'a digit first': entry({ vault_path: 'resources/0db' }),
    'a registry with its port': ask('PUT', '/api/v1/secrets/registries/registry.internal:5000', {
      body: { values: { username: 'a', password: 'b' } },
    }),
    'the other namespace': (stage) => entry({ vault_path: `deployments/${stage.fresh()}` })(stage),
  }),
  ...refused('secret_path_namespace_split', 'secrets[1].vault_path', {
    'within a spec': (stage) => {
      const label = stage.fresh();
      return post({
        secrets: [
          { name: 'A', vault_path: `resources/${label}` },
          { name: 'B', vault_path: `deployments/${label}` },
        ],
      })(stage);
    },
  }),
  ...refused('secret_path_namespace_split', 'secrets[0].vault_path', {
    'across the tenant': async (stage) => {
      const label = stage.fresh();
      await stored(stage, { secrets: [{ name: 'A', vault_path: `resources/${label}` }] });
      return entry({ vault_path: `deployments/${label}` })(stage);
    },
  }),
  ...refused('secret_path_namespace_split', 'namespace', {
    'a document beside a reference': async (stage) => {
      const label = stage.fresh();
      await stored(stage, { secrets: [{ name: 'A', vault_path: `resources/${label}` }] });
      return {
        method: 'PUT',
        path: `/api/v1/secrets/deployments/${label}`,
        options: { body: { values: { a: 'b' } } },
      };
    },
  }),
  ...inside('secret_path_namespace_split', {
    'the same path twice': (stage) => {
      const path = `resources/${stage.fresh()}`;
      return post({
        secrets: [
          { name: 'A', vault_path: path },
          { name: 'B', vault_path: path },
        ],
      })(stage);
    },
    'the same path across the tenant': async (stage) => {
      const path = `resources/${stage.fresh()}`;
      await stored(stage, { secrets: [{ name: 'A', vault_path: path }] });
      return entry({ vault_path: path })(stage);
    },
  }),
  ...refused('secret_rotation_unsupported', 'secrets[0].rotation', {
    reload: entry({ rotation: 'reload' }),
    empty: entry({ rotation: '' }),
    'another case': entry({ rotation: 'Restart' }),
  }),
  ...inside('secret_rotation_unsupported', {
    restart: entry({ rotation: 'restart' }),
    absent: entry({ rotation: undefined }),
  }),
  ...refused('secret_environment_collision', 'secrets[0].name', {
    'with environment': entry({ name: 'DB', values: { host: 'x' } }),
  }).map((one) => ({
    ...one,
    ask: withSecret({ values: { host: 'x-x-x' } }, { environment: { DB_host: 'db' } }),
  })),
  ...refused('secret_environment_collision', 'secrets[1].name', {
    'between entries': (stage) =>
      post({
        secrets: [
          { name: 'A', vault_path: `resources/${stage.fresh()}`, values: { B_C: 'one' } },
          { name: 'A_B', vault_path: `resources/${stage.fresh()}`, values: { C: 'two' } },
        ],
      })(stage),
  }),
  ...refused('secret_environment_collision', 'composedEnvironment.DB_url', {
    'with a composed variable': (stage) => {
      const label = stage.fresh();
      return post({
        secrets: [{ name: 'DB', vault_path: `resources/${label}`, generate: { keys: ['url'] } }],
        composedEnvironment: { DB_url: `x{{secret.${label}.url}}` },
      })(stage);
    },
  }),
  ...inside('secret_environment_collision', {
    'another case': withSecret({ values: { host: 'x-x-x' } }, { environment: { DB_HOST: 'db' } }),
  }),
];
