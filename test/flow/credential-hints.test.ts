import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import type { ScriptedAgent } from '../support/agents/scripted-agent.ts';

const VALUE = 'hunter2-Zq81xPw0';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let agent: ScriptedAgent;

beforeAll(async () => {
  // `deployments` is not granted here: what is printed to paste must be.
  plane = await startControlPlane([], { BERTH_SECRETS_NAMESPACES: 'vaulted' });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  ({ agent } = await flow.connected('n1', shop));
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

const post = (name: string, more: Readonly<Record<string, unknown>>) =>
  shop.call('POST', '/api/v1/deployments', { name, image: 'localhost:1/shop/web:1.0.0', ...more });

/** The JSON that a refusal prints to paste. */
function pasted(expected: string): Readonly<Record<string, unknown>> {
  return JSON.parse(expected.slice(expected.indexOf('{'))) as Readonly<Record<string, unknown>>;
}

async function delivered(name: string): Promise<Readonly<Record<string, string>>> {
  const [instance] = await flow.instances(shop, name, 1);
  if (instance === undefined) throw new Error(`${name} has no instance`);
  const { id, specHash } = instance;
  await agent.next('assignment', ({ instances }) => instances.some((one) => one.id === id));
  agent.send({ type: 'resolve', requestId: name, instanceId: id, specHash, secretsVersion: 0 });
  const answer = await agent.next('resolved', ({ requestId }) => requestId === name);
  if (!answer.ok) throw new Error(JSON.stringify(answer));
  return answer.environment;
}

describe('a credential in clear', () => {
  it.each([
    ['pair', 'DB_PASSWORD'],
    ['single', 'PASSWORD'],
  ])('is refused with what delivers the same variable: pasted and sent (%s)', async (name, variable) => {
    const { status, body } = await post(name, { environment: { [variable]: VALUE } });
    expect([status, body.code]).toEqual([422, 'plaintext_credential_in_environment']);
    const [, path = '', key = ''] = /PUT (\S+) \{"values": \{"(\w+)": …/.exec(body.why) ?? [];
    expect((await shop.call('PUT', path, { values: { [key]: VALUE } })).status).toBeLessThan(300);
    const made = await post(name, pasted(body.expected));
    expect([made.status, made.body.code]).toEqual([201, undefined]);
    expect((await delivered(name))[variable]).toBe(VALUE);
  });

  it('is found in templates, arguments and checks too', async () => {
    const inTemplate = await post('a', {
      secrets: [{ name: 'DB', vault_path: 'vaulted/db' }],
      composedEnvironment: { URL: `postgres://app:${VALUE}@db/{{secret.db.name}}` },
    });
    expect(inTemplate.body).toMatchObject({
      code: 'plaintext_credential_in_environment',
      field: 'composedEnvironment.URL',
    });
    const inArguments = await post('a', { command: ['web', '--password', VALUE] });
    expect(inArguments.body).toMatchObject({
      code: 'plaintext_credential_in_environment',
      field: 'command[1]',
    });
    expect(JSON.stringify([inTemplate.body, inArguments.body])).not.toContain(VALUE);
  });

  it('is not a placeholder, which is refused with the entry that fills it in', async () => {
    const secrets = [{ name: 'DB', vault_path: 'vaulted/shared', anchor: 'external', rotation: 'restart' }];
    await shop.call('PUT', '/api/v1/secrets/vaulted/shared', { values: { password: VALUE } });
    const environment = { URL: 'postgres://app:{{secret.shared.password}}@db/app' };
    const { body } = await post('filled', { secrets, environment });
    expect(body).toMatchObject({ code: 'environment_invalid', field: 'environment.URL' });
    expect((await post('filled', { secrets, ...pasted(body.expected) })).status).toBe(201);
    expect((await delivered('filled'))['URL']).toBe(`postgres://app:${VALUE}@db/app`);
  });
});
