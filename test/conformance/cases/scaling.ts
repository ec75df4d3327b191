import type { Json } from '../../support/harness/api-client.ts';
import {
  type Ask,
  type Case,
  DEPLOYMENTS,
  inside,
  plantVolume,
  refused,
  type Stage,
  stored,
} from './case.ts';

const POLICY = { minReplicas: 2, maxReplicas: 5, targetCpuPercent: 70, cooldown: '60s' };

/** PUT of a policy that is valid but for the given fields. */
function policy(fields: Json, before: Json = {}): Ask {
  return async (stage) => ({
    method: 'PUT',
    path: `${DEPLOYMENTS}/${await stored(stage, before)}/scaling-policy`,
    options: { body: { ...POLICY, ...fields } },
  });
}

function quota(limits: Json, fields: Json, before: Json = {}): Ask {
  return async (stage) => {
    const path = `/api/v1/tenants/${stage.tenant.slug}/quota`;
    const options = { token: stage.plane.adminToken };
    await stage.plane.api.call('PUT', path, { ...options, body: limits });
    const asked = await policy(fields, before)(stage);
    return asked;
  };
}

async function writer(stage: Stage): Promise<Json> {
  const volumeId = await plantVolume(stage);
  return { volumes: [{ volumeId, mountPath: '/data', readOnly: false }] };
}

const canary = (body: Json, before: Json = {}): Ask => {
  return async (stage) => ({
    method: 'POST',
    path: `${DEPLOYMENTS}/${await stored(stage, before)}/canary`,
    options: { body },
  });
};

const changed = { spec: { environment: { MODE: 'fast' } } };

async function started(stage: Stage, before: Json = {}): Promise<string> {
  const asked = await canary(changed, before)(stage);
  const answer = await stage.call(asked.method, asked.path, asked.options);
  if (answer.status !== 201) throw new Error(`the canary of the case was refused: ${answer.text}`);
  return asked.path;
}

const of =
  (method: string, suffix: string): Ask =>
  async (stage) => ({ method, path: `${DEPLOYMENTS}/${await stored(stage)}/${suffix}` });

/** Scaling policies and canaries. */
export const scalingCases: readonly Case[] = [
  ...refused('scaling_policy_invalid', 'minReplicas', {
    '0': policy({ minReplicas: 0 }),
    'above the maximum': policy({ minReplicas: 6 }),
    'more containers than the quota': quota({ containers: 3 }, { minReplicas: 4 }),
    'more memory than the quota': quota(
      { memoryBytes: 2 ** 30 },
      { minReplicas: 3 },
      { resources: { requests: { memory: '512Mi' } } },
    ),
  }),
  ...refused('scaling_policy_invalid', 'maxReplicas', {
    absent: policy({ maxReplicas: undefined }),
    '101': policy({ maxReplicas: 101 }),
    'a second writer of a volume': async (stage) =>
      policy({ minReplicas: 1, maxReplicas: 2 }, await writer(stage))(stage),
  }),
  ...refused('scaling_policy_invalid', 'targetCpuPercent', {
    absent: policy({ targetCpuPercent: undefined }),
    '0.5': policy({ targetCpuPercent: 0.5 }),
    '101': policy({ targetCpuPercent: 101 }),
  }),
  ...refused('scaling_policy_invalid', 'cooldown', {
    'no unit': policy({ cooldown: '60' }),
    'too short': policy({ cooldown: '999ms' }),
    '25h': policy({ cooldown: '25h' }),
  }),
  ...inside('scaling_policy_invalid', {
    full: policy({}),
    'defaults are announced': policy({ minReplicas: undefined, cooldown: undefined }),
    'the largest': policy({ maxReplicas: 100, targetCpuPercent: 100, cooldown: '24h' }),
    'one writer': async (stage) => policy({ minReplicas: 1, maxReplicas: 1 }, await writer(stage))(stage),
    'the maximum above the quota': quota({ containers: 3 }, { minReplicas: 3, maxReplicas: 9 }),
  }),
  ...refused('scaling_policy_not_found', 'name', {
    'read of none': of('GET', 'scaling-policy'),
    'deletion of none': of('DELETE', 'scaling-policy'),
    'read after the deletion': async (stage) => {
      const { path, options } = await policy({})(stage);
      await stage.call('PUT', path, options);
      await stage.call('DELETE', path);
      return { method: 'GET', path };
    },
  }),
  ...inside('scaling_policy_not_found', {
    read: async (stage) => {
      const { path, options } = await policy({})(stage);
      await stage.call('PUT', path, options);
      return { method: 'GET', path };
    },
    deletion: async (stage) => {
      const { path, options } = await policy({})(stage);
      await stage.call('PUT', path, options);
      return { method: 'DELETE', path };
    },
  }),
  ...refused('canary_invalid', 'image', {
    'neither image nor spec': canary({ replicas: 1 }),
    both: canary({ image: '127.0.0.1:1/shop/web:2', ...changed }),
    'the stable image': async (stage) => canary({ image: stage.image })(stage),
  }),
  ...refused('canary_invalid', 'replicas', {
    '0': canary({ ...changed, replicas: 0 }),
    '101': canary({ ...changed, replicas: 101 }),
  }),
  ...refused('canary_invalid', 'weight', {
    'less than nothing': canary({ ...changed, weight: -1 }),
    'more than all': canary({ ...changed, weight: 101 }),
    'a fraction': canary({ ...changed, weight: 0.5 }),
  }),
  ...inside('canary_invalid', {
    'a weight of nothing': canary({ ...changed, weight: 0 }),
    'a weight of all': canary({ ...changed, weight: 100 }),
  }),
  ...refused('canary_invalid', 'spec', {
    'the stable spec': canary({ spec: { environment: { A: '1' } } }, { environment: { A: '1' } }),
    'another number only': canary({ spec: { replicas: 7, update: { maxSurge: 2 } } }),
  }),
  ...refused('canary_invalid', 'spec.volumes', {
    'a second writer': async (stage) => canary(changed, await writer(stage))(stage),
    'a volume that only the canary mounts': async (stage) => {
      const volumeId = await plantVolume(stage);
      return canary({ spec: { volumes: [{ volumeId, mountPath: '/data', readOnly: true }] } })(stage);
    },
  }),
  ...refused('canary_invalid', 'spec.ingress[0].host', {
    'another host': canary(
      { spec: { ingress: [{ host: 'b.example.com', port: 80, provider: 'traefik' }] } },
      { ingress: [{ host: 'a.example.com', port: 80, provider: 'traefik' }] },
    ),
  }),
  ...refused('canary_invalid', 'spec.ingress', {
    'another way in': canary({ spec: { ingress: [{ host: 'canary-b.example.com', port: 80 }] } }),
  }),
  ...refused('canary_invalid', 'name', { 'of a stopped deployment': canary(changed, { replicas: 0 }) }),
  ...refused('image_required', 'image', {
    'a canary with latest': canary({ image: 'localhost:1/shop/web:latest' }),
  }),
  ...refused('image_not_found', 'image', {
    'a canary of an image that nobody pushed': async (stage) =>
      canary({ image: `${stage.image.replace(/:[^:/]+$/, '')}:9.9.9` })(stage),
  }),
  ...refused('plaintext_credential_in_environment', 'spec.environment.DB_PASSWORD', {
    'in a canary': canary({ spec: { environment: { DB_PASSWORD: 'hunter2-and-more' } } }),
  }),
  ...refused('field_unknown', 'spec.enviroment', { 'in a canary': canary({ spec: { enviroment: {} } }) }),
  ...refused('name_mismatch', 'spec.name', {
    'in a canary': canary({ spec: { name: 'another', command: ['x'] } }),
  }),
  ...inside('canary_invalid', {
    'a change': canary({ ...changed, replicas: 2 }),
    'the whole record with a change': async (stage) => {
      const name = await stored(stage, {
        ingress: { host: 'a.example.com', port: 80, provider: 'traefik' },
      });
      const { body } = await stage.call('GET', `${DEPLOYMENTS}/${name}`);
      const spec = { ...body, ingress: { host: 'a.example.com', port: 81 } };
      return { method: 'POST', path: `${DEPLOYMENTS}/${name}/canary`, options: { body: { spec } } };
    },
    'read-only mounts': async (stage) => {
      const volumeId = await plantVolume(stage);
      return canary(changed, { volumes: [{ volumeId, mountPath: '/data', readOnly: true }] })(stage);
    },
  }),
  ...refused('canary_already_exists', 'name', {
    'a second one': async (stage) => ({
      method: 'POST',
      path: await started(stage),
      options: { body: { spec: { environment: { MODE: 'faster' } } } },
    }),
  }),
  ...inside('canary_already_exists', {
    'after an abort': async (stage) => {
      const path = await started(stage);
      await stage.call('POST', `${path}/abort`);
      return { method: 'POST', path, options: { body: changed } };
    },
  }),
  ...refused('canary_not_found', 'name', {
    'read of none': of('GET', 'canary'),
    'promotion of none': of('POST', 'canary/promote'),
    'abort of none': of('POST', 'canary/abort'),
    'promotion after an update': async (stage) => {
      const path = await started(stage);
      await stage.call('PUT', path.replace('/canary', ''), { body: { environment: { MODE: 'slow' } } });
      return { method: 'POST', path: `${path}/promote` };
    },
  }),
  ...inside('canary_not_found', {
    read: async (stage) => ({ method: 'GET', path: await started(stage) }),
    promotion: async (stage) => ({ method: 'POST', path: `${await started(stage)}/promote` }),
    abort: async (stage) => ({
      method: 'POST',
      path: `${await started(stage)}/abort`,
      options: { body: {} },
    }),
    'promotion after another number': async (stage) => {
      const path = await started(stage);
      await stage.call('PUT', path.replace('/canary', ''), { body: { replicas: 3 } });
      return { method: 'POST', path: `${path}/promote` };
    },
  }),
];
