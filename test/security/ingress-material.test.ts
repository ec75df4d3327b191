import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentMessage, IngressMaterial } from '../../src/core/protocol/agent-protocol.ts';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { deploy, eventKinds, NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import type { ScriptedAgent } from '../support/agents/scripted-agent.ts';

const INGRESS = { caddy: 'v2.6.2', http: 80, https: 443 };
const MESH = { publicKey: `${'A'.repeat(43)}=`, port: 51820, addresses: ['192.0.2.1'] };
const PEM = { certificate: '-----BEGIN CERTIFICATE-----', key: '-----BEGIN PRIVATE KEY-----' };
const features = ['renewals'];
const CERTIFICATE = 'certificate/web/web.example.com';
const ACCOUNT = 'acme/0123/account';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let ingress: ScriptedAgent;
let plain: ScriptedAgent;
let foreign: ScriptedAgent;
let count = 0;

async function ask(
  agent: ScriptedAgent,
  question: { readonly key: string; readonly value?: string; readonly expected?: number },
): Promise<Omit<IngressMaterial, 'type' | 'id'>> {
  count += 1;
  const id = `q${count}`;
  const type = question.value === undefined ? 'ingressGet' : 'ingressPut';
  agent.send({ type, id, ...question } as AgentMessage);
  const { type: _type, id: _id, ...answer } = await agent.next('ingressMaterial', (one) => one.id === id);
  return answer;
}

const writeSecret = (values: object) => shop.call('PUT', '/api/v1/secrets/resources/web-cert', { values });

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  const bank = await plane.tenant('bank');
  expect((await writeSecret(PEM)).status).toBeLessThan(300);
  await deploy(shop.call, 'web', {
    ingress: [{ host: 'web.example.com', port: 80, tls: { vault_path: 'resources/web-cert' } }],
  });
  await deploy(bank.call, 'web', { ingress: [{ host: 'web.example.com', port: 80 }] });
  ingress = (await flow.connected('in-1', shop, {}, { ingress: INGRESS, mesh: MESH, features })).agent;
  plain = (await flow.connected('plain-1', shop)).agent;
  foreign = (await flow.connected('in-2', bank, {}, { ingress: INGRESS, mesh: MESH })).agent;
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

describe('material of the ingress', () => {
  it('is the certificate in service, and files that ingress nodes keep for one another', async () => {
    const { value, version } = await ask(ingress, { key: CERTIFICATE });
    expect([value, version]).toEqual([`${PEM.certificate}\n${PEM.key}\n`, 1]);
    expect(await ask(ingress, { key: ACCOUNT })).toEqual({});
    expect(await ask(ingress, { key: ACCOUNT, value: 'first', expected: 0 })).toEqual({ version: 1 });
    expect((await ask(ingress, { key: ACCOUNT, value: 'other', expected: 0 })).problem).toBeDefined();
    expect(await ask(ingress, { key: ACCOUNT, value: 'second', expected: 1 })).toEqual({ version: 2 });
    expect(await ask(ingress, { key: ACCOUNT })).toEqual({ value: 'second', version: 2 });
  });

  it('of a secret that is written again is in the map and in the answer', async () => {
    const tagged = (tag?: string) =>
      ingress.next('mesh', ({ ingress: routes }) => ![undefined, tag].includes(routes?.[0]?.certificate));
    const before = (await tagged()).ingress?.[0];
    expect(before).toMatchObject({ deployment: 'web', host: 'web.example.com', tls: 'secret' });
    expect((await writeSecret({ ...PEM, key: '-----BEGIN EC PRIVATE KEY-----' })).status).toBeLessThan(300);
    await tagged(before?.certificate);
    expect((await ask(ingress, { key: CERTIFICATE })).value).toContain('EC PRIVATE KEY');
  });

  it('of a secret that two deployments share is rotated for both, and no container is made again', async () => {
    const path = '/api/v1/secrets/resources/shared-cert';
    await shop.call('PUT', path, { values: PEM });
    for (const name of ['left', 'right'])
      await deploy(shop.call, name, {
        ingress: [{ host: `${name}.example.com`, port: 80, tls: { vault_path: 'resources/shared-cert' } }],
      });
    const served = async () =>
      (
        await Promise.all(
          ['left', 'right'].map((one) => ask(ingress, { key: `certificate/${one}/${one}.example.com` })),
        )
      ).map(({ version }) => version);
    expect(await served()).toEqual([1, 1]);
    const rotate = async (phase: string, more: object = {}) => {
      const { status, body } = await shop.call('POST', `${path}/rotate`, { phase, ...more });
      expect([status, body.consumers]).toEqual([200, []]);
    };
    await rotate('stage', { values: { ...PEM, key: '-----BEGIN EC PRIVATE KEY-----' } });
    expect(await served()).toEqual([1, 1]);
    await rotate('promote');
    expect(await served()).toEqual([2, 2]);
    await rotate('retire');
    expect(await served()).toEqual([2, 2]);
    const { body: consumers } = await shop.call('GET', '/api/v1/secrets/resources/shared-cert/consumers');
    expect(consumers.map((one: { deployment: string }) => one.deployment)).toEqual(['left', 'right']);
    const { body: left } = await shop.call('GET', '/api/v1/deployments/left');
    expect(left.secretsVersion).toBe(0);
  });

  attack('a node', 'asks for certificates and keys of the ingress without serving it', async () => {
    await ask(ingress, { key: ACCOUNT, value: 'of the ingress' });
    for (const key of [CERTIFICATE, ACCOUNT]) {
      const answer = await ask(plain, { key });
      expect(answer.value).toBeUndefined();
      expect(answer.problem).toContain('nothing of this name');
    }
    expect((await ask(plain, { key: ACCOUNT, value: 'planted' })).problem).toContain('nothing of this name');
    expect((await ask(ingress, { key: ACCOUNT })).value).toBe('of the ingress');
  });

  attack(
    'an ingress node',
    "asks for another tenant's certificates, and with keys that lead elsewhere",
    async () => {
      await ask(ingress, { key: ACCOUNT, value: 'of the shop' });
      expect((await ask(foreign, { key: CERTIFICATE })).problem).toContain('nothing of this name');
      expect(await ask(foreign, { key: ACCOUNT })).toEqual({});
      const odd = [
        '',
        'acme',
        'acme/',
        'acme/..',
        'acme/../resources/web-cert',
        'acme//a',
        'acme/a\u0000b',
        '/acme/a',
      ];
      const others = [
        '_ingress/a',
        'resources/web-cert',
        'certificate/web',
        `${CERTIFICATE}/x`,
        '__proto__/a',
        'constructor/a',
      ];
      const long = `acme/${'a/'.repeat(20)}a`;
      for (const key of [...odd, ...others, long]) {
        expect((await ask(ingress, { key })).problem, key).toContain('nothing of this name');
        expect((await ask(ingress, { key, value: 'x' })).problem, key).toContain('nothing of this name');
      }
      expect((await ask(ingress, { key: CERTIFICATE, value: 'x' })).problem).toContain(
        'nothing of this name',
      );
    },
  );

  attack('a token', 'names the namespace in which ingress nodes keep their keys', async () => {
    const answers = await Promise.all([
      shop.call('GET', '/api/v1/secrets/_ingress/a'),
      shop.call('PUT', '/api/v1/secrets/_ingress/a', { values: { value: 'x' } }),
      shop.call('POST', '/api/v1/deployments', {
        name: 'thief',
        image: 'localhost:1/shop/web:1.0.0',
        secrets: [{ name: 'A', vault_path: '_ingress/a' }],
      }),
    ]);
    for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(400);
  });

  attack('a deployer', "writes the certificate of another deployment's host with a deployment", async () => {
    const { body: minted } = await shop.call('POST', '/api/v1/tokens', { name: 'd', role: 'deployer' });
    const path = 'deployments/own-cert';
    const stored = () => shop.call('GET', `/api/v1/secrets/${path}`);
    expect((await shop.call('PUT', `/api/v1/secrets/${path}`, { values: PEM })).status).toBe(201);
    await deploy(shop.call, 'own', {
      ingress: [{ host: 'own.example.com', port: 80, tls: { vault_path: path } }],
    });
    const planted = await plane.as(minted.token)('POST', '/api/v1/deployments', {
      name: 'planter',
      image: 'localhost:1/shop/web:1.0.0',
      secrets: [{ name: 'TLS', vault_path: path, anchor: 'process', values: { key: 'planted' } }],
    });
    expect([planted.status, planted.body.code]).toEqual([403, 'role_forbidden']);
    expect((await stored()).body.version).toBe(1);
    const { body: consumers } = await shop.call('GET', '/api/v1/secrets/resources/own-cert/consumers');
    expect(consumers).toEqual([
      { deployment: 'own', ingress: 'own.example.com', secret: 'tls', anchor: 'process', secretsVersion: 0 },
    ]);
  });

  attack('an ingress node', 'asks without end', async () => {
    const before = ingress.received.length;
    for (let at = 0; at < 700; at += 1) ingress.send({ type: 'ingressGet', id: `flood-${at}`, key: ACCOUNT });
    const answers = await eventually(
      () => Promise.resolve(ingress.received.slice(before).filter(({ type }) => type === 'ingressMaterial')),
      (all) => all.length >= 700,
    );
    const refused = answers.filter((one) => 'problem' in one && one.problem !== undefined);
    expect(refused.length).toBeGreaterThan(100);
    await eventually(
      () => ask(ingress, { key: ACCOUNT }),
      ({ problem }) => problem === undefined,
    );
  });
});

describe('a certificate of an authority', () => {
  const HOST = 'auto.example.com';
  const REVOKE = `/api/v1/ingress/${HOST}/revoke`;
  const asks = (agent: ScriptedAgent) =>
    agent.received.filter((one) => one.type === 'request' && one.operation.kind === 'certificate-revoke');

  it('is revoked by the node that issued it, and told', async () => {
    await deploy(shop.call, 'auto', { ingress: [{ host: HOST, port: 80 }] });
    const revoked = { issuer: 'Pebble', notAfter: '2030-01-01T00:00:00.000Z' };
    ingress.answer('certificate-revoke', revoked);
    const { status, body } = await shop.call('POST', REVOKE);
    expect([status, body]).toEqual([200, { host: HOST, node: 'in-1', ...revoked }]);
    expect(await eventKinds(shop.call, 'Deployment/auto', ['certificate.'])).toEqual(['certificate.revoked']);
    const { body: audit } = await shop.call('GET', '/api/v1/audit');
    expect(audit.map((one: { action: string }) => one.action)).toContain('deployment.certificate_revoked');
  });

  it('is on record as asked for, also when the node ends before it has answered', async () => {
    const lines = async () => {
      const { body } = await shop.call('GET', '/api/v1/audit?limit=1000');
      return body.filter((one: { action: string }) => one.action === 'deployment.certificate_revoked').length;
    };
    const before = await lines();
    const { agent } = await flow.connected('in-0', shop, {}, { ingress: INGRESS, mesh: MESH, features });
    const answer = shop.call('POST', REVOKE);
    await agent.next('request', ({ operation }) => operation.kind === 'certificate-revoke');
    agent.close();
    expect((await answer).status).toBe(503);
    expect(await lines()).toBe(before + 1);
    expect((await shop.call('DELETE', '/api/v1/nodes/in-0')).status).toBeLessThan(300);
  });

  attack('a viewer', 'has the certificate of a host revoked', async () => {
    const before = asks(ingress).length;
    for (const role of ['viewer', 'deployer', 'secret-writer']) {
      const { body: minted } = await shop.call('POST', '/api/v1/tokens', { name: `r-${role}`, role });
      const { status, body } = await plane.as(minted.token)('POST', REVOKE);
      expect([status, body.code]).toEqual([403, 'role_forbidden']);
    }
    expect(asks(ingress)).toHaveLength(before);
  });

  attack('a tenant', "has the certificate of another tenant's host revoked", async () => {
    const bank = await plane.tenant('bank-2');
    const before = asks(ingress).length;
    const [theirs, nobodys] = await Promise.all([
      bank.call('POST', REVOKE),
      bank.call('POST', '/api/v1/ingress/nobody.example.com/revoke'),
    ]);
    expect([theirs.status, theirs.body.code]).toEqual([404, 'ingress_host_not_found']);
    expect(theirs.body.why).toBe(nobodys.body.why);
    expect(asks(ingress)).toHaveLength(before);
  });

  attack('an ingress node', 'asks for the certificate of a host to be revoked', async () => {
    const before = [ingress, foreign].map((agent) => asks(agent).length);
    const own = (await flow.connected('in-0', shop, {}, { ingress: INGRESS, mesh: MESH })).agent;
    own.send({
      type: 'request',
      streamId: 's1',
      operation: { kind: 'certificate-revoke', host: HOST },
    } as never);
    expect(await own.closed).toBeGreaterThan(1000);
    expect([ingress, foreign].map((agent) => asks(agent).length)).toEqual(before);
  });
});
