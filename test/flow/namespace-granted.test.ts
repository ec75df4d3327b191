import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { AssignedInstance } from '../../src/core/protocol/agent-protocol.ts';
import type { InstanceId } from '../../src/core/model/ids.ts';
import { eventually } from '../support/eventually.ts';
import { nodeFacts } from '../support/harness/node-flow.ts';
import { agentKey, ScriptedAgent } from '../support/agents/scripted-agent.ts';
import {
  type ControlPlane,
  startControlPlane,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';

/** Namespaces that the policy grants are read at dispatch, and not only when a reference is written. */

const dataDir = mkdtempSync(join(tmpdir(), 'berth-granted-'));
const key = agentKey();
let plane: ControlPlane | undefined;
let agent: ScriptedAgent | undefined;

afterEach(async () => {
  agent?.close();
  await plane?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(...namespaces: readonly string[]) {
  agent?.close();
  await plane?.close();
  const started = await startControlPlane({ dataDir, config: { 'secrets.namespaces': namespaces } });
  plane = started;
  const shop = await started.tenant('shop');
  const by = { token: shop.tokens['tenant-admin'] };
  const dial = async (token: string): Promise<ScriptedAgent> => {
    const dialled = new ScriptedAgent({ url: started.url, node: 'n1', token, key });
    agent = dialled;
    await dialled.welcome();
    return dialled;
  };
  return { api: started.api, by, dial };
}

/** What is to run, once all of it is assigned. */
async function assigned(
  to: ScriptedAgent,
  ...owners: readonly string[]
): Promise<readonly AssignedInstance[]> {
  const of = (instances: readonly AssignedInstance[]) =>
    owners.flatMap(
      (owner) => instances.find(({ deployment, wanted }) => deployment === owner && wanted === 'run') ?? [],
    );
  const fits = ({ instances }: { readonly instances: readonly AssignedInstance[] }) =>
    of(instances).length === owners.length;
  return of((await to.next('assignment', fits)).instances);
}

async function ask(by: ScriptedAgent, { id, specHash, secretsVersion }: AssignedInstance) {
  by.send({ type: 'resolve', requestId: id, instanceId: id, specHash, secretsVersion });
  return by.next('resolved', ({ requestId }) => requestId === id);
}

describe('a namespace that is granted no more', () => {
  it('gives its material to no container: Degraded, an event, and again once it is granted', async () => {
    const granted = await start('deployments', 'resources', 'legacy');
    const { api, by } = granted;
    const invitation = await api.post('/api/v1/join-tokens', {}, by);
    const facts = nodeFacts('n1', key);
    const node = await api.post('/api/v1/nodes', facts, { token: invitation.body['token'] as string });
    expect(node.status, node.text).toBe(201);
    const token = node.body['nodeToken'] as string;
    const written = await api.put(
      '/api/v1/secrets/legacy/db',
      { values: { password: 'kept-in-legacy' } },
      by,
    );
    expect(written.status, written.text).toBe(201);
    const secrets = [{ name: 'DB', vault_path: 'legacy/db', anchor: 'external' }];
    const web = { name: 'web', image: UNREACHABLE_IMAGE, replicas: 1, secrets };
    const job = { kind: 'Job', name: 'nightly', image: UNREACHABLE_IMAGE, secrets };
    const first = await granted.dial(token);
    expect((await api.post('/api/v1/deployments', web, by)).status).toBe(201);
    expect((await api.post('/api/v1/jobs', job, by)).status).toBe(201);
    const environment = { DB_password: 'kept-in-legacy' };
    for (const instance of await assigned(first, 'web', 'job.nightly'))
      expect(await ask(first, instance)).toMatchObject({ ok: true, environment });

    const later = await start('deployments', 'resources');
    const again = await later.dial(token);
    for (const instance of await assigned(again, 'web', 'job.nightly')) {
      const isJob = instance.deployment !== 'web';
      const kind = isJob ? 'job.secret_unresolved' : 'deployment.secret_unresolved';
      const refused = await ask(again, instance);
      expect(refused).toMatchObject({ ok: false, reason: 'denied' });
      expect(refused).not.toHaveProperty('environment');
      const message = refused.ok ? '' : refused.message;
      expect(message).toContain('does not grant the namespace legacy (403)');
      const events = await later.api.get(`/api/v1/events?kind=${kind}`, later.by);
      expect(JSON.parse(events.text)).toMatchObject([
        { details: { reason: 'denied', instance: instance.id } },
      ]);
      if (isJob) continue;
      again.report([
        { id: instance.id as InstanceId, phase: 'pending', reason: 'secret_unresolved', message },
      ]);
      const read = async () => (await later.api.get('/api/v1/deployments/web', later.by)).body['status'];
      const status = await eventually(read, (one) => (one as { phase: string }).phase === 'Degraded', 30_000);
      expect(JSON.stringify(status)).toContain('legacy/db');
    }

    const restored = await start('deployments', 'resources', 'legacy');
    const last = await restored.dial(token);
    for (const instance of await assigned(last, 'web'))
      expect(await ask(last, instance)).toMatchObject({ ok: true, environment });
  });
});
