import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantKey } from '../../src/server/store/keys.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { encodeRecord } from '../../src/server/store/records.ts';
import type { TenantId } from '../../src/core/model/ids.ts';
import { eventually } from '../support/eventually.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventKinds, NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';

const IMAGE = 'localhost:1/shop/web:1.0.0';
const DEPLOYMENTS = '/api/v1/deployments';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let bank: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  bank = await plane.tenant('bank');
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

type Fields = Readonly<Record<string, unknown>>;

function create(tenant: TestTenant, name: string, ingress: unknown, more: Fields = {}) {
  return tenant.call('POST', DEPLOYMENTS, { name, image: IMAGE, replicas: 1, ingress, ...more });
}

function change(name: string, body: Fields) {
  return shop.call('PUT', `${DEPLOYMENTS}/${name}`, body);
}

function claims(): readonly string[] {
  const tenant = plane.store.forTenant(shop.id as TenantId);
  return tenant
    .list('ingress-claims')
    .map(({ id, record }) => `${decodeURIComponent(id)} ${record.deployment}`);
}

describe('the ingress of a deployment', () => {
  it('sent as one object is stored as a list, which is announced', async () => {
    const { status, body } = await create(shop, 'one', { host: 'one.example.com', port: 80 });
    expect(status).toBe(201);
    expect(body.ingress).toEqual([{ host: 'one.example.com', port: 80 }]);
    expect(body.alterations).toContainEqual(expect.objectContaining({ field: 'ingress' }));
    const back = await change('one', body);
    expect(back.status).toBe(200);
    expect(back.body.alterations).toEqual([]);
    expect(back.body.specHash).toBe(body.specHash);
  });

  it('changes without its containers being made again', async () => {
    const { body } = await create(shop, 'same', [{ host: 'same.example.com', port: 80 }]);
    const changed = await change('same', { ingress: [{ host: 'same.example.com', port: 81, tls: 'off' }] });
    expect(changed.body.specHash).toBe(body.specHash);
    const labelled = await change('same', {
      ingress: [{ host: 'same.example.com', port: 81, provider: 'traefik' }],
    });
    expect(labelled.body.specHash).not.toBe(body.specHash);
  });

  it('that was stored by an older release keeps its labels, its hash and its way of being sent', async () => {
    const old = { host: 'old.example.com', port: 8080 };
    const made = await create(shop, 'old', [{ ...old, provider: 'traefik' }]);
    const tenant = plane.store.forTenant(shop.id as TenantId);
    const id = idOf('deployments', 'old');
    const stored = tenant.get('deployments', id);
    if (stored === undefined) throw new Error('not stored');
    // As the older release wrote it.
    const value = encodeRecord({ ...stored.record, spec: { ...stored.record.spec, ingress: old } });
    await plane.store.kv.commit({ puts: [{ key: tenantKey(tenant.tenantId, 'deployments', id), value }] });
    const { body } = await shop.call('GET', `${DEPLOYMENTS}/old`);
    expect(body.ingress).toEqual([{ ...old, provider: 'traefik' }]);
    const scaled = await change('old', { replicas: 2 });
    expect(scaled.body.specHash).toBe(made.body.specHash);
    const again = await change('old', { ingress: old });
    expect(again.body.ingress).toEqual([{ ...old, provider: 'traefik' }]);
    expect(again.body.specHash).toBe(made.body.specHash);
    expect(again.body.alterations).toContainEqual(
      expect.objectContaining({ field: 'ingress[0].provider', to: 'traefik' }),
    );
  });
});

describe('a host', () => {
  it('goes to one of many that ask for it at once, and the others are told who has it', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        create(shop, `race-${at}`, [{ host: 'race.example.com', port: 80 }]),
      ),
    );
    const won = answers.filter(({ status }) => status === 201);
    expect(won).toHaveLength(1);
    const holder = won[0]?.body.name;
    for (const { status, body } of answers.filter((one) => one !== won[0])) {
      expect([status, body.code, body.field]).toEqual([409, 'ingress_host_taken', 'ingress[0].host']);
      expect(body.why).toContain(holder);
    }
    expect(claims().filter((one) => one.startsWith('race.'))).toEqual([`race.example.com/ ${holder}`]);
  });

  it('is free on another path, as another port, for Traefik and for another tenant', async () => {
    const host = 'shared.example.com';
    const made = await Promise.all([
      create(shop, 'shared-1', [{ host, port: 80 }]),
      create(shop, 'shared-2', [{ host, path: '/api', port: 80 }]),
      create(shop, 'shared-3', [{ host, port: 80, provider: 'traefik' }]),
      create(shop, 'shared-4', [{ protocol: 'tcp', listen: 5432, port: 5432 }]),
      create(shop, 'shared-5', [{ protocol: 'udp', listen: 5432, port: 5432 }]),
      create(bank, 'shared-1', [{ host, port: 80 }]),
    ]);
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 201]);
    const taken = await create(shop, 'shared-6', [{ protocol: 'tcp', listen: 5432, port: 1 }]);
    expect([taken.body.code, taken.body.field]).toEqual(['ingress_host_taken', 'ingress[0].listen']);
  });

  it('is released by the write that no longer names it, and by the deletion', async () => {
    const ingress = [{ host: 'moves.example.com', port: 80 }];
    await create(shop, 'from', ingress);
    expect((await create(shop, 'to', ingress)).body.code).toBe('ingress_host_taken');
    expect((await change('from', { ingress: null })).body.removed).toEqual(['ingress']);
    expect((await create(shop, 'to', ingress)).status).toBe(201);
    // Stopped, it still has it.
    await change('to', { replicas: 0 });
    expect((await change('from', { ingress })).body.code).toBe('ingress_host_taken');
    const rolled = await shop.call('POST', `${DEPLOYMENTS}/from/rollback`, { version: 1 });
    expect([rolled.status, rolled.body.code]).toEqual([409, 'ingress_host_taken']);
    expect((await shop.call('DELETE', `${DEPLOYMENTS}/to`)).status).toBe(200);
    expect((await shop.call('POST', `${DEPLOYMENTS}/from/rollback`, { version: 1 })).status).toBe(200);
    expect(claims().filter((one) => one.startsWith('moves.'))).toEqual(['moves.example.com/ from']);
  });

  it('that was taken meanwhile is not restored over its holder', async () => {
    const ingress = [{ host: 'saved.example.com', port: 80 }];
    await create(shop, 'saved', ingress);
    const backup = await shop.call('POST', '/api/v1/backups', { deploymentName: 'saved' });
    expect(backup.status, JSON.stringify(backup.body)).toBe(201);
    await shop.call('DELETE', `${DEPLOYMENTS}/saved`);
    await create(shop, 'taker', ingress);
    const restore = () => shop.call('POST', `/api/v1/backups/${backup.body.id}/restore`);
    expect((await restore()).body.code).toBe('ingress_host_taken');
    await shop.call('DELETE', `${DEPLOYMENTS}/taker`);
    expect((await restore()).status).toBe(201);
    expect(claims()).toContain('saved.example.com/ saved');
  });

  it('goes to another tenant with a backup, with access and networks, and is judged by what is there', async () => {
    const spec = {
      ingress: [{ host: 'moved.example.com', path: '/shop', port: 80, tls: 'off' }],
      access: { from: ['ingress', 'caller'] },
      networks: ['edge', 'tenant'],
    };
    await create(shop, 'caller', []);
    await flow.connected('one-node', shop);
    await flow.connected('bank-node', bank);
    expect((await shop.call('POST', '/api/v1/networks', { name: 'edge' })).status).toBe(201);
    expect((await create(shop, 'moved', spec.ingress, spec)).body.code).toBeUndefined();
    const { body: made } = await shop.call('POST', '/api/v1/backups', { deploymentName: 'moved' });
    const { body: document } = await shop.call('GET', `/api/v1/backups/${made.id}/export`);
    const imported = await bank.call('POST', '/api/v1/backups/import', document);
    expect(imported.body.code).toBeUndefined();
    const restore = () => bank.call('POST', `/api/v1/backups/${imported.body.id}/restore`);
    expect((await restore()).body.code).toBe('network_not_found');
    expect((await bank.call('POST', '/api/v1/networks', { name: 'edge' })).status).toBe(201);
    const { status, body } = await restore();
    expect([status, body]).toEqual([201, expect.objectContaining(spec)]);
    // It was right once, and names come back.
    expect(body.warnings).toContainEqual(expect.objectContaining({ code: 'access_source_unknown' }));
    expect(
      (await create(bank, 'second', [{ host: 'moved.example.com', path: '/shop', port: 1 }])).body.code,
    ).toBe('ingress_host_taken');
  });

  it('is taken by no plan', async () => {
    const planned = await shop.call('POST', `${DEPLOYMENTS}?dryRun=true`, {
      name: 'planned',
      image: IMAGE,
      ingress: [{ host: 'planned.example.com', port: 80 }],
    });
    expect(planned.status).toBe(200);
    expect(claims().some((one) => one.startsWith('planned.'))).toBe(false);
  });
});

describe('what ingress nodes say', () => {
  const INGRESS = { caddy: 'v2.6.2', http: 80, https: 8443 };
  const MESH = { publicKey: `${'A'.repeat(43)}=`, port: 51820, addresses: ['192.0.2.1'] };
  const HOST = 'seen.example.com';

  it('is in the status of the deployment, as events, and only of what is there', async () => {
    const store = await plane.tenant('store');
    const made = await create(store, 'seen', [
      { host: HOST, port: 80 },
      { protocol: 'tcp', listen: 5432, port: 5432 },
    ]);
    expect(made.status).toBe(201);
    const read = async () => (await store.call('GET', `${DEPLOYMENTS}/seen`)).body.status.ingress;
    const [unserved] = await read();
    expect(unserved).toMatchObject({ host: HOST, state: 'unserved', nodes: [] });
    expect(unserved.problem).toContain('--ingress');
    const { agent } = await flow.connected('seen-1', store, {}, { ingress: INGRESS, mesh: MESH });
    const map = await agent.next('mesh', ({ ingress = [] }) => ingress.length === 2);
    expect(map.ingressNodes).toEqual(['seen-1']);
    expect(map.acme?.directory).toContain('https://');
    expect(map.ingress?.[0]).toMatchObject({ deployment: 'seen', host: HOST, port: 80, tls: 'auto' });
    expect(map.ingress?.[1]).toMatchObject({ protocol: 'tcp', listen: 5432, tls: 'off' });
    const report = (routes: readonly object[], traffic: readonly object[] = []) =>
      agent.send({
        type: 'report',
        epoch: agent.epoch,
        generation: 1,
        full: true,
        observations: [],
        ingress: { routes: routes as never },
        traffic: traffic as never,
      });
    const certificate = { issuer: 'Pebble', notAfter: new Date(Date.now() + 86_400_000).toISOString() };
    report([
      { deployment: 'seen', host: HOST, state: 'serving', certificate },
      { deployment: 'seen', listen: 5432, state: 'failed', problem: 'the port is in use' },
      { deployment: 'seen', host: 'other.example.com', state: 'serving' },
      { deployment: 'nobody', host: HOST, state: 'serving' },
    ]);
    const [web, port] = await eventually(read, (all) => all?.[0]?.state === 'serving');
    expect(web).toEqual({
      protocol: 'http',
      host: HOST,
      url: `https://${HOST}:8443/`,
      state: 'serving',
      nodes: ['seen-1'],
      certificate,
    });
    expect(port).toMatchObject({ listen: 5432, state: 'failed', problem: 'seen-1: the port is in use' });
    const kinds = await eventKinds(store.call, 'Deployment/seen', ['ingress.', 'certificate.']);
    expect(kinds.toSorted()).toEqual([
      'certificate.expiring',
      'certificate.issued',
      'ingress.failed',
      'ingress.serving',
    ]);
    const records = plane.store.forTenant(store.id as TenantId).list('ingress-reports');
    expect(records.flatMap(({ record }) => record.routes)).toHaveLength(2);
    const certified = String((await plane.admin('GET', '/metrics')).body);
    const counted = { answers: [0, 7, 0, 0, 2], milliseconds: 1500 };
    report(
      [],
      [
        { deployment: 'seen', ...counted },
        { deployment: 'nobody', ...counted },
      ],
    );
    report([], [{ deployment: 'seen', ...counted }]);
    const metrics = await eventually(
      async () => String((await plane.admin('GET', '/metrics')).body),
      (text) => text.includes('deployment="seen",code="2xx"} 14'),
    );
    expect(metrics).toContain('berth_ingress_requests_total{tenant="store",deployment="seen",code="5xx"} 4');
    expect(metrics).toContain('berth_ingress_request_seconds_total{tenant="store",deployment="seen"} 3');
    expect(metrics).not.toContain('deployment="nobody"');
    const ends = Date.parse(certificate.notAfter) / 1000;
    expect(certified).toContain(
      `berth_ingress_certificate_expiry_timestamp_seconds{tenant="store",host="${HOST}"} ${ends}`,
    );
    await store.call('DELETE', `${DEPLOYMENTS}/seen`);
    await eventually(
      async () => String((await plane.admin('GET', '/metrics')).body),
      (text) => !text.includes('deployment="seen"'),
    );
  });
});
