import type { Json } from '../../support/harness/api-client.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import {
  type Ask,
  ask,
  type Case,
  inside,
  plantNode,
  plantVolume,
  refused,
  type Stage,
  stored,
} from './case.ts';

const JOBS = '/api/v1/jobs';

/** POST of a job that is valid but for the given fields. */
function job(fields: Json): Ask {
  return (stage) => ({
    method: 'POST',
    path: JOBS,
    options: { body: { kind: 'Job', name: stage.fresh('job'), image: stage.image, ...fields } },
  });
}

async function made(stage: Stage, fields: Json = {}): Promise<string> {
  const name = stage.fresh('job');
  const body = { kind: 'Job', name, image: stage.image, schedule: '0 3 * * *', ...fields };
  const answer = await stage.call('POST', JOBS, { body });
  if (answer.status !== 201) throw new Error(`the job of the case was refused: ${answer.text}`);
  return name;
}

/** A job of its own, then a request about it. */
const about =
  (method: string, suffix = '', fields: Json = {}): Ask =>
  async (stage) => ({ method, path: `${JOBS}/${await made(stage, fields)}${suffix}` });

/** PUT of a job that exists. */
const change =
  (fields: Json): Ask =>
  async (stage) => ({ method: 'PUT', path: `${JOBS}/${await made(stage)}`, options: { body: fields } });

/** A node whose agent is reachable, as a controller would say. */
async function readyNode(stage: Stage): Promise<string> {
  const name = stage.fresh('node');
  await plantNode(stage, name);
  const tenant = stage.plane.store.forTenant(stage.tenant.id);
  const now = new Date().toISOString();
  await tenant.commit(
    tenant
      .transaction()
      .put('node-liveness', idOf('node-liveness', name), { status: 'ready', lastSeenAt: now, since: now }),
  );
  return name;
}

/** The machine of the control plane is enrolled, and takes new work from the platform only. */
const onOwnNode =
  (fields: Json): Ask =>
  async (stage) => {
    const nodeId = stage.plane.config.nodeName;
    await readyNode(stage);
    await plantNode(stage, nodeId);
    return job({ nodeId, ...fields })(stage);
  };

/** What only jobs have, and that shared rules hold for them too. */
export const jobCases: readonly Case[] = [
  ...refused('job_invalid', 'kind', {
    'a deployment': job({ kind: 'Deployment' }),
    'another spelling': job({ kind: 'job' }),
    'no text': job({ kind: 1 }),
  }),
  ...refused('job_invalid', 'schedule', {
    words: job({ schedule: 'every night' }),
    empty: job({ schedule: '' }),
    'four fields': job({ schedule: '* * * *' }),
    'seven fields': job({ schedule: '* * * * * * *' }),
    'minute 60': job({ schedule: '60 * * * *' }),
    'the thirtieth of February': job({ schedule: '0 0 30 2 *' }),
    'a name': job({ schedule: '@daily' }),
    'the time of reading': job({ schedule: '? * * * *' }),
    'no text': job({ schedule: 5 }),
    'a text without end': job({ schedule: '* '.repeat(50_000) }),
  }),
  ...refused('job_invalid', 'timeout', {
    'no unit': job({ timeout: '30' }),
    'a number': job({ timeout: 30 }),
    'below a second': job({ timeout: '999ms' }),
    'above thirty days': job({ timeout: '721h' }),
  }),
  ...refused('job_invalid', 'retries', {
    negative: job({ retries: -1 }),
    'above ten': job({ retries: 11 }),
    'half a try': job({ retries: 0.5 }),
    'a text': job({ retries: '1' }),
  }),
  ...refused('job_invalid', 'before.deployment', {
    'no deployment': job({ before: { command: ['dump'] } }),
    'an empty name': job({ before: { deployment: '', command: ['dump'] } }),
  }),
  ...refused('job_invalid', 'before.command', {
    'no command': job({ before: { deployment: 'pg' } }),
    'an empty command': job({ before: { deployment: 'pg', command: [] } }),
    'an empty program': job({ before: { deployment: 'pg', command: [''] } }),
    'a command without end': job({ before: { deployment: 'pg', command: ['sh', '-c', 'x'.repeat(20_000)] } }),
  }),
  ...refused('job_invalid', 'before.timeout', {
    'no unit': job({ before: { deployment: 'pg', command: ['dump'], timeout: '30' } }),
    'below a second': job({ before: { deployment: 'pg', command: ['dump'], timeout: '999ms' } }),
    'above an hour': job({ before: { deployment: 'pg', command: ['dump'], timeout: '61m' } }),
  }),
  ...refused('job_before_deployment_not_found', 'before.deployment', {
    'an unknown deployment': job({ before: { deployment: 'missing', command: ['dump'] } }),
    'a job of the name': async (stage) =>
      job({ before: { deployment: await made(stage), command: ['dump'] } })(stage),
    'an update': change({ before: { deployment: 'missing', command: ['dump'] } }),
  }),
  ...inside('job_before_deployment_not_found', {
    'a deployment': async (stage) =>
      job({ before: { deployment: await stored(stage), command: ['dump'] } })(stage),
  }),
  ...inside('job_invalid', {
    'a command before it, an hour at most': async (stage) =>
      job({ before: { deployment: await stored(stage), command: ['dump'], timeout: '1h' } })(stage),
    'without a kind': job({ kind: undefined }),
    'six fields': job({ schedule: '30 0 3 * * *' }),
    'the last day of the month': job({ schedule: '0 0 L * *' }),
    'shortest timeout': job({ timeout: '1s' }),
    'longest timeout': job({ timeout: '720h' }),
    'no retries': job({ retries: 0 }),
    'ten retries': job({ retries: 10 }),
  }),
  ...refused('job_not_found', 'name', {
    read: ask('GET', `${JOBS}/missing`),
    update: ask('PUT', `${JOBS}/missing`, { body: { retries: 1 } }),
    delete: ask('DELETE', `${JOBS}/missing`),
    run: ask('POST', `${JOBS}/missing/run`),
    cancel: ask('POST', `${JOBS}/missing/cancel`),
    logs: ask('GET', `${JOBS}/missing/logs`),
    'a deployment of the name': async (stage) => ({ method: 'GET', path: `${JOBS}/${await stored(stage)}` }),
  }),
  ...inside('job_not_found', {
    read: about('GET'),
    update: async (stage) => change({ retries: 1 })(stage),
    delete: about('DELETE'),
    run: about('POST', '/run'),
    logs: about('GET', '/logs'),
  }),
  ...refused('job_already_exists', 'name', {
    'the same name': async (stage) => job({ name: await made(stage) })(stage),
  }),
  ...inside('job_already_exists', {
    'the name of a deployment': async (stage) => job({ name: await stored(stage) })(stage),
    'the name of a deleted job': async (stage) => {
      const name = await made(stage);
      await stage.call('DELETE', `${JOBS}/${name}`);
      return job({ name })(stage);
    },
  }),
  ...refused('name_mismatch', 'name', { 'another job': change({ name: 'other' }) }),
  ...refused('job_invalid', 'retries', { 'an update': change({ retries: 11 }) }),
  ...refused('revision_mismatch', 'If-Match', {
    'an update of what changed': async (stage) => {
      const asked = await change({ retries: 1 })(stage);
      return { ...asked, options: { ...asked.options, headers: { 'if-match': '"1"' } } };
    },
  }),
  ...refused('job_already_running', 'name', {
    'a run that waits': async (stage) => ({
      method: 'POST',
      path: `${JOBS}/${await made(stage, { schedule: undefined })}/run`,
    }),
  }),
  ...refused('job_not_running', 'name', { 'it waits for its schedule': about('POST', '/cancel') }),
  ...inside('job_not_running', {
    'a run that waits': about('POST', '/cancel', { schedule: undefined }),
  }),
  ...refused('job_run_not_found', 'run', { 'an unknown run': about('GET', '/logs?run=run_gone') }),
  ...refused('job_run_not_found', 'attempt', { 'it never ran': about('GET', '/logs?attempt=1') }),
  ...refused('job_node_not_found', 'nodeId', {
    'an unknown node': async (stage) => {
      await readyNode(stage);
      return job({ nodeId: 'nowhere' })(stage);
    },
  }),
  ...inside('job_node_not_found', {
    'a node of the tenant': async (stage) => job({ nodeId: await readyNode(stage) })(stage),
  }),
  // What a job shares is refused with the codes of deployments.
  ...refused('node_not_a_placement_candidate', 'nodeId', {
    "a job on the control plane's own node": onOwnNode({}),
    "a job with a schedule on the control plane's own node": onOwnNode({ schedule: '0 3 * * *' }),
  }),
  ...refused('name_required', 'name', { 'a job': job({ name: undefined }) }),
  ...refused('deployment_name_invalid', 'name', { 'a job': job({ name: 'job.x' }) }),
  ...refused('image_required', 'image', { 'a job': job({ image: 'shop/web:latest' }) }),
  ...refused('user_invalid', 'user', { 'a job': job({ user: 'no body' }) }),
  ...refused('capability_unknown', 'capabilities.drop[0]', {
    'a job': job({ capabilities: { drop: ['EVERYTHING'] } }),
  }),
  ...refused('stop_invalid', 'stop.signal', { 'a job': job({ stop: { signal: 'TERM' } }) }),
  ...refused('file_invalid', 'files[0].path', { 'a job': job({ files: [{ path: 'a', content: '' }] }) }),
  ...refused('command_invalid', 'command', { 'a job': job({ command: [] }) }),
  ...refused('plaintext_credential_in_environment', 'environment.DB_PASSWORD', {
    'a job': job({ environment: { DB_PASSWORD: 'hunter2-and-more' } }),
  }),
  ...refused('secret_vault_path_required', 'secrets[0].vault_path', {
    'a job': job({ secrets: [{ name: 'DB' }] }),
  }),
  ...refused('volume_not_found', 'volumes[0].volumeId', {
    'a job': job({ volumes: [{ volumeId: 'vol_none', mountPath: '/data' }] }),
  }),
  ...refused('volume_access_mode_conflict', 'volumes[0].readOnly', {
    'a job beside a deployment': async (stage) => {
      const volumes = [{ volumeId: await plantVolume(stage), mountPath: '/data' }];
      await stored(stage, { volumes });
      return job({ volumes })(stage);
    },
    'a deployment beside a job': async (stage) => {
      const volumes = [{ volumeId: await plantVolume(stage), mountPath: '/data' }];
      await made(stage, { volumes });
      const body = { name: stage.fresh(), image: stage.image, volumes };
      return { method: 'POST', path: '/api/v1/deployments', options: { body } };
    },
  }),
  ...refused('residency_region_undeclared', 'placement.residency.region', {
    'a job': job({ placement: { residency: { region: 'atlantis' } } }),
  }),
  ...refused('resources_invalid', 'resources.requests.cpu', {
    'a job': job({ resources: { requests: { cpu: 0 } } }),
  }),
  ...refused('field_unknown', 'replicas', { 'a job': job({ replicas: 2 }) }),
];

/** In a tenant without nodes. */
export const jobWithoutNodesCases: readonly Case[] = refused('job_node_candidates_unresolvable', 'nodeId', {
  'no node': job({ nodeId: 'berlin-1' }),
  'a node whose agent was never heard of': async (stage) => {
    await plantNode(stage, stage.fresh('silent'));
    return job({ nodeId: 'berlin-1' })(stage);
  },
});
