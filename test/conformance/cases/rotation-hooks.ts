import type { Json } from '../../support/harness/api-client.ts';
import { type Ask, type Case, DEPLOYMENTS, inside, refused, type Stage, stored } from './case.ts';

/** A credential that a job and a deployment read; nobody runs either. */
interface Hooked {
  readonly path: string;
  readonly job: string;
  readonly deployment: string;
}

async function hooked(stage: Stage): Promise<Hooked> {
  const path = `resources/${stage.fresh()}`;
  const secrets = [{ name: 'DB', vault_path: path, anchor: 'process' }];
  const send = async (method: string, where: string, body: Json, status: number): Promise<void> => {
    const answer = await stage.call(method, where, { body });
    if (answer.status !== status) throw new Error(`${where} of the case was refused: ${answer.text}`);
  };
  await send('PUT', `/api/v1/secrets/${path}`, { generate: { keys: ['password'] } }, 201);
  const job = stage.fresh('job');
  await send('POST', '/api/v1/jobs', { kind: 'Job', name: job, image: stage.image, secrets }, 201);
  await send('PUT', `/api/v1/secrets/${path}/hooks`, { apply: job }, 200);
  return { path, job, deployment: await stored(stage, { secrets }) };
}

function hooks(body: (made: Hooked, stage: Stage) => Promise<Json> | Json): Ask {
  return async (stage) => {
    const made = await hooked(stage);
    const options = { body: await body(made, stage) };
    return { method: 'PUT', path: `/api/v1/secrets/${made.path}/hooks`, options };
  };
}

/** Staged, and then asked for the next phase. */
function promote(before: (made: Hooked, stage: Stage) => Promise<unknown>): Ask {
  return async (stage) => {
    const made = await hooked(stage);
    const path = `/api/v1/secrets/${made.path}/rotate`;
    const staged = await stage.call('POST', path, { body: { phase: 'stage' } });
    if (staged.status !== 200) throw new Error(`stage of the case was refused: ${staged.text}`);
    await before(made, stage);
    return { method: 'POST', path, options: { body: { phase: 'promote' } } };
  };
}

async function unrelatedJob(stage: Stage): Promise<string> {
  const name = stage.fresh('job');
  await stage.call('POST', '/api/v1/jobs', { body: { kind: 'Job', name, image: stage.image } });
  return name;
}

export const rotationHookCases: readonly Case[] = [
  ...refused('rotation_hook_failed', 'phase', {
    'the job is gone': promote(({ job }, stage) => stage.call('DELETE', `/api/v1/jobs/${job}`)),
  }),
  ...inside('rotation_hook_failed', {
    'a hook that waits for a node': promote(async () => undefined),
    'no hooks any more': promote(({ path }, stage) =>
      stage.call('PUT', `/api/v1/secrets/${path}/hooks`, { body: {} }),
    ),
  }),
  ...refused('rotation_hook_invalid', 'apply', {
    'a job that does not read it': hooks(async (_made, stage) => ({ apply: await unrelatedJob(stage) })),
  }),
  ...refused('rotation_hook_invalid', 'revoke', {
    'the other hook': hooks(async ({ job }, stage) => ({ apply: job, revoke: await unrelatedJob(stage) })),
  }),
  ...inside('rotation_hook_invalid', {
    'one job as both': hooks(({ job }) => ({ apply: job, revoke: job })),
    none: hooks(() => ({})),
  }),
  ...refused('job_not_found', 'apply', { 'a hook of nobody': hooks(() => ({ apply: 'nobody' })) }),
  ...refused('rotation_whole_credential', 'secret', {
    'a deployment alone': async (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENTS}/${(await hooked(stage)).deployment}/secrets/rotate`,
      options: { body: { phase: 'stage' } },
    }),
  }),
  ...inside('rotation_whole_credential', {
    'the whole credential': async (stage) => ({
      method: 'POST',
      path: `/api/v1/secrets/${(await hooked(stage)).path}/rotate`,
      options: { body: { phase: 'stage' } },
    }),
  }),
  ...refused('anchored_secret_overwritten', 'values', {
    'a credential with hooks': async (stage) => ({
      method: 'PUT',
      path: `/api/v1/secrets/${(await hooked(stage)).path}`,
      options: { body: { values: { password: 'another' } } },
    }),
  }),
];
