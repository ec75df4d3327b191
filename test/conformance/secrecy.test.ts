import { rootKeyPlace } from '../../src/server/config-checks.ts';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseToken } from '../../src/server/access/token.ts';
import type { Answer, CallOptions, Json } from '../support/harness/api-client.ts';
import { secretsOf } from '../support/defective-write.ts';
import { encodings, type Marker, marker, MarkerScanner } from '../support/markers.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { routeTable } from '../support/route-table.ts';
import {
  ADMIN_TOKEN,
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

/** 3.7: what goes in as a secret is nowhere but in the sealed store, in no encoding; a control marker proves the search. */

const DEPLOYMENTS = '/api/v1/deployments';
const dataDir = mkdtempSync(join(tmpdir(), 'berth-secrecy-'));
const scanner = new MarkerScanner();
const control = marker('control');
const controls = new MarkerScanner();
controls.add(control.name, control.text);

let pushed: PushedImageRegistry;
let plane: ControlPlane;
let shop: TestTenant;
/** Everything the control plane answered, with what it may show once taken out. */
const answers: string[] = [];

function planted(name: string): Marker {
  const made = marker(name);
  scanner.add(name, made.text);
  return made;
}

const SHOWN_ONCE = ['token', 'nodeToken', 'command'];

function keep(path: string, answer: Answer): void {
  let text = `${path}\n${JSON.stringify(answer.headers)}\n${answer.text}`;
  for (const key of SHOWN_ONCE) {
    const secret = answer.body[key];
    if (typeof secret === 'string' && answer.status < 300)
      text = text.replaceAll(JSON.stringify(secret), '"(shown once)"');
  }
  answers.push(text);
}

beforeAll(async () => {
  pushed = await startPushedImage();
  plane = await startControlPlane({ dataDir, config: pushed.config, logLevel: 'trace' });
  plane.api.observe({
    before: () => Promise.resolve(undefined),
    after: (_method, path, _options, answer) => Promise.resolve(keep(path, answer)),
  });
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  await pushed.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const call = (method: string, path: string, options: CallOptions = {}) =>
  plane.api.call(method, path, { token: shop.tokens['tenant-admin'], ...options });
const write = (body: unknown, path = 'resources/db') => call('PUT', `/api/v1/secrets/${path}`, { body });
const deploy = (name: string, fields: Json) =>
  call('POST', DEPLOYMENTS, { body: { name, image: pushed.image, ...fields } });

async function accepted(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  expect(got.status, got.text).toBeLessThan(300);
  return got;
}

async function refused(answer: Promise<Answer>): Promise<void> {
  const got = await answer;
  expect(got.status, got.text).toBeGreaterThanOrEqual(400);
}

describe('the scanner', () => {
  it('sees a marker in every encoding, wherever it starts', () => {
    for (const [encoding, form] of encodings(control.text)) {
      const hits = controls.scan('here', Buffer.concat([Buffer.from('abc'), form, Buffer.from('def')]));
      expect(
        hits.map((hit) => hit.encoding),
        encoding,
      ).toContain(encoding);
    }
    for (const before of ['', 'a', 'ab']) {
      const text = Buffer.from(`${before}${control.text}tail`).toString('base64');
      expect(controls.scan('here', text).length, before).toBeGreaterThan(0);
    }
    expect(controls.scan('here', 'nothing of it')).toEqual([]);
  });
});

describe('markers', () => {
  it('go in wherever a secret goes in and is accepted', async () => {
    await accepted(write({ values: { password: planted('secret write').text } }));
    await accepted(write({ values: { password: planted('secret write, second version').text } }));
    await accepted(
      deploy('web', {
        secrets: [
          { name: 'DB', vault_path: 'resources/db' },
          {
            name: 'APP',
            vault_path: 'deployments/web',
            anchor: 'process',
            values: { key: planted('values of a deployment').text },
          },
          { name: 'GEN', vault_path: 'resources/minted', anchor: 'process', generate: { keys: ['token'] } },
        ],
        composedEnvironment: { URL: 'postgres://app:{{secret.db.password}}@db/app' },
      }),
    );
    await accepted(
      call('POST', `${DEPLOYMENTS}/web/secrets/rotate`, {
        body: { phase: 'stage', secret: 'APP', values: { key: planted('values of a rotation').text } },
      }),
    );
    await accepted(
      write(
        { values: { username: 'robot', password: planted('registry credential').text } },
        `registries/${pushed.registry.host}`,
      ),
    );
    await accepted(deploy('with-registry', { image: pushed.image }));
    const token = await accepted(call('POST', '/api/v1/tokens', { body: { name: 'ci', role: 'viewer' } }));
    scanner.add('API token', parseToken(String(token.body['token']))?.secret ?? '');
    await accepted(call('GET', DEPLOYMENTS, { token: String(token.body['token']) }));
    const join_ = await accepted(call('POST', '/api/v1/join-tokens', { body: { nodeName: 'node-1' } }));
    scanner.add('join token', String(join_.body['token']));
    const key = generateKeyPairSync('ed25519')
      .publicKey.export({ format: 'der', type: 'spki' })
      .toString('base64');
    const node = await accepted(
      call('POST', '/api/v1/nodes', {
        token: String(join_.body['token']),
        body: {
          nodeName: 'node-1',
          capacity: { cpu: 1, memoryBytes: 2 ** 30 },
          publicKey: key,
          platform: 'linux/amd64',
          engine: { kind: 'docker', version: '20.10' },
          agentVersion: '0.1.0',
        },
      }),
    );
    scanner.add('node token', String(node.body['nodeToken']));
    scanner.add('bootstrap token', ADMIN_TOKEN);
    const secrets = await secretsOf(plane);
    const minted = await secrets.read(shop.id, { namespace: 'resources', label: 'minted' });
    if (!minted.ok) throw new Error(minted.message);
    scanner.add('generated value', minted.values.get('token')?.reveal() ?? '');
    await secrets.close();
    scanner.add('root key', readFileSync(rootKeyPlace(plane.config.rootKey)));
    scanner.add('token key', readFileSync(plane.config.tokenKeyFile, 'utf8').trim());
  });

  it('go in where they are refused: wrong types, wrong places, broken bodies', async () => {
    const near = planted('beside what is wrong').text;
    const wrong: readonly unknown[] = [
      near,
      [near],
      { a: { b: near } },
      { a: [near] },
      { a: 7, b: near },
      { [`${near}-`]: 'x' },
      { [near.repeat(3)]: '' },
      { a: '', b: near },
      { a: near.repeat(3000) },
    ];
    for (const values of wrong) {
      await refused(write({ values }, 'resources/other'));
      await refused(deploy('refused', { secrets: [{ name: 'A', vault_path: 'resources/a', values }] }));
      await refused(
        call('POST', `${DEPLOYMENTS}/web/secrets/rotate`, { body: { phase: 'promote', values } }),
      );
    }
    await refused(write({ values: { a: near }, generate: { keys: ['a'] } }, 'resources/other'));
    await refused(write({ values: { a: near }, anchor: 'never' }, 'resources/other'));
    await refused(write({ value: near }, 'resources/other'));
    await refused(write({ values: { a: near } }, 'nowhere/other'));
    await refused(write({ generate: { keys: [near.slice(0, 8)], charset: near } }, 'resources/other'));

    const environment = planted('environment').text;
    for (const fields of [
      { environment: { DB_PASSWORD: environment } },
      { environment: { DB_PASSWORD: { value: environment } } },
      { environment: { DB_PASSWORD: [environment] } },
      { environment: environment },
      { environment: { [`${environment} =`]: 'x' } },
      { environment: { SETTING: `postgres://app:${environment}@db/app` } },
      { composedEnvironment: { URL: `postgres://app:${environment}@db/app` } },
      { composedEnvironment: { URL: `${environment}{{secret.none.a}}` } },
      { composedEnvironment: { URL: { template: environment } } },
      { secrets: [{ name: 'A', vault_path: 'resources/a', mount_path: environment }] },
      { secrets: [{ name: 'A', vault_path: 'resources/a', password: environment }] },
      { password: environment },
      { [environment]: 'password' },
      { healthCheck: { password: environment } },
      { id: 7, nope: environment },
    ])
      await refused(deploy('refused', fields));

    const broken = planted('broken body').text;
    for (const raw of [
      `{"values": {"password": "${broken}"}`,
      `{"values": {"password": "${broken}", "password": "x"}}`,
      `{"values": {"__proto__": "${broken}"}}`,
      `password=${broken}`,
      JSON.stringify(broken),
      JSON.stringify([broken]),
      `${'['.repeat(50)}"${broken}"${']'.repeat(50)}`,
      JSON.stringify(broken.repeat(40_000)),
    ]) {
      await refused(call('PUT', '/api/v1/secrets/resources/other', { raw }));
      await refused(call('POST', DEPLOYMENTS, { raw }));
      await refused(call('POST', DEPLOYMENTS, { yaml: raw }));
      await refused(call('PUT', '/api/v1/secrets/resources/other', { raw, contentType: 'text/plain' }));
    }

    const credential = planted('a credential that is refused').text;
    await refused(call('GET', DEPLOYMENTS, { token: credential }));
    await refused(call('GET', DEPLOYMENTS, { token: `berth_pat_abc_${credential}_00000000` }));
    await refused(
      call('GET', DEPLOYMENTS, { token: null, headers: { authorization: `Basic ${credential}` } }),
    );
    await refused(
      call('GET', DEPLOYMENTS, {
        headers: { authorization: [`Bearer ${credential}`, `Bearer ${credential}`] },
        token: null,
      }),
    );
    await refused(
      call('POST', '/api/v1/tokens', { body: { name: 'ci', role: 'viewer', secret: credential } }),
    );
  });

  it('stay out of every read', async () => {
    const names: Readonly<Record<string, string>> = { deployments: 'web', nodes: 'node-1', resources: 'db' };
    for (const route of routeTable().filter(({ method }) => method === 'GET')) {
      const path = route.path
        .replace('{tenant}', 'shop')
        .replace('{namespace}', 'resources')
        .replace(
          /(deployments|nodes|resources)\/\{name\}/,
          (_text, kind: string) => `${kind}/${names[kind] ?? 'web'}`,
        )
        .replaceAll(/\{[a-z]+\}/gi, 'db');
      await call('GET', path, route.tenant === 'platform' ? { token: plane.adminToken } : {});
    }
    for (const path of ['/metrics', '/healthz', '/openapi.json'])
      await call('GET', path, { token: plane.adminToken });
  });

  it('are found nowhere, and the control is', async () => {
    await call('GET', DEPLOYMENTS, { headers: { 'x-request-id': control.text } });
    await call('PUT', `${DEPLOYMENTS}/web`, {
      body: { labels: { control: control.text }, replicas: -1 },
      headers: { 'x-request-id': control.text },
    });
    await accepted(call('PUT', `${DEPLOYMENTS}/web`, { body: { labels: { control: control.text } } }));
    const logs = plane.logs.join('');
    const isKey = (path: string) => path.startsWith('keys/') || path === 'admin-token';
    const live = scanner.scanFolder(dataDir, isKey);
    const liveControl = controls.scanFolder(dataDir, isKey);
    await plane.close();
    const closed = scanner.scanFolder(dataDir, isKey);
    const hits = [
      ...live.hits,
      ...closed.hits,
      ...scanner.scan('the log', logs),
      ...answers.flatMap((answer) => scanner.scan(`the answer to ${answer.slice(0, 200)}`, answer)),
    ];
    expect(hits).toEqual([]);
    expect(scanner.size).toBeGreaterThanOrEqual(12);
    expect(liveControl.hits.length).toBeGreaterThan(0);
    expect(controls.scan('the log', logs).length).toBeGreaterThan(0);
    expect(controls.scan('the answers', answers.join('\n')).length).toBeGreaterThan(0);
    expect(answers.length).toBeGreaterThan(80);
    console.log(
      `${scanner.size} markers, ${encodings('x').length} encodings, ${live.files} files, ${plane.logs.length} log lines, ${answers.length} answers: 0 hits; control found`,
    );
  });
});
