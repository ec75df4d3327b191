import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { signingKey, signSimply, signWithBundle } from '../support/harness/cosign.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { FAKE_DIGEST, FAKE_MANIFEST } from '../support/harness/fake-registry.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { ObligingAgent } from '../support/agents/obliging-agent.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let registry: Registry;

beforeAll(async () => {
  [plane, registry] = await Promise.all([startControlPlane(), startRegistry()]);
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  flow.close();
  await plane.close();
  await registry.stop();
});

const push = async (name: string, build: number): Promise<string> =>
  (await pushImage(registry, name, { busybox: false, env: [`BUILD=${build}`] })).digest;

attack('whoever pushes to a tag', 'a tag that moves after admission', async () => {
  const shop = await plane.tenant('shop');
  const { agent } = await flow.connected('n1', shop);
  const obliging = new ObligingAgent(agent, {});
  const image = `${registry.host}/shop/web:1`;
  const seen = await push('shop/web:1', 1);
  await flow.placed(shop, 'web', 'n1', { image });
  await push('shop/web:1', 666);
  await shop.call('PUT', '/api/v1/deployments/web', { replicas: 3 });
  const ordered = await eventually(
    async () => obliging.images('web'),
    (images) => images.length === 3,
  );
  // What every node is told to run is what was admitted, whatever the tag is by now.
  expect(new Set(ordered)).toEqual(new Set([`${registry.host}/shop/web@${seen}`]));
});

/** A tenant whose images have to be signed by this key. */
async function guarded(slug: string, images: string) {
  const tenant = await plane.tenant(slug);
  const key = signingKey();
  const policy = { signatures: [{ images, keys: [key.pem] }] };
  const { status } = await tenant.call('PUT', `/api/v1/tenants/${slug}/image-policy`, policy);
  expect(status).toBe(200);
  const deploy = async (image: string) => {
    const { body } = await tenant.call('POST', '/api/v1/deployments', { name: 'web', image });
    return body.code ?? 'accepted';
  };
  return { key, deploy };
}

attack('whoever pushes to a registry', 'an unsigned image under a policy', async () => {
  const { key, deploy } = await guarded('unsigned', `${registry.host}/acme/*`);
  await signSimply(registry, { repository: 'acme/web', beside: await push('acme/web:1', 1), key });
  await push('acme/web:1', 666);
  expect(await deploy(`${registry.host}/acme/web:1`)).toBe('image_unsigned');
});

attack('whoever pushes to a registry', 'a signature of another image, put beside this one', async () => {
  const { key, deploy } = await guarded('copied', `${registry.host}/copied/*`);
  const of = await push('copied/web:1', 1);
  const evil = await push('copied/web:2', 666);
  await signSimply(registry, { repository: 'copied/web', beside: evil, of, key });
  await signWithBundle(registry, { repository: 'copied/web', beside: evil, of, key });
  expect(await deploy(`${registry.host}/copied/web:2`)).toBe('image_signature_invalid');
});

attack('a registry', 'signatures without end', async () => {
  let requests = 0;
  let sent = 0;
  const layer = {
    mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json',
    digest: FAKE_DIGEST,
    size: 1,
    annotations: { 'dev.cosignproject.cosign/signature': 'AAAA' },
  };
  const many = JSON.stringify({
    schemaVersion: 2,
    config: {},
    layers: Array.from({ length: 1000 }, () => layer),
  });
  const hostile = createServer((request, response) => {
    requests += 1;
    const url = request.url ?? '';
    const type = { 'content-type': 'application/vnd.oci.image.manifest.v1+json' };
    if (url.endsWith('.sig')) return void response.writeHead(200, type).end(many);
    if (url.includes('/manifests/'))
      return void response
        .writeHead(200, { ...type, 'docker-content-digest': FAKE_DIGEST })
        .end(FAKE_MANIFEST);
    if (url.includes('/referrers/')) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    if (url.includes('/many/')) return void response.end('{}');
    const more = (): void => {
      while (!response.destroyed) {
        sent += 65_536;
        if (!response.write('x'.repeat(65_536))) return void response.once('drain', more);
      }
    };
    more();
  }).listen(0, '127.0.0.1');
  await once(hostile, 'listening');
  const host = `127.0.0.1:${(hostile.address() as AddressInfo).port}`;
  try {
    const { deploy } = await guarded('endless', '*');
    const started = performance.now();
    expect(await deploy(`${host}/many/web:1`)).toBe('image_unsigned');
    expect(requests).toBeLessThan(24);
    expect(await deploy(`${host}/large/web:1`)).toBe('image_signature_unverifiable');
    // What the sockets hold comes on top of what is read.
    expect(sent).toBeLessThan(16 * 2 ** 20);
    expect(performance.now() - started).toBeLessThan(15_000);
  } finally {
    hostile.closeAllConnections();
    hostile.close();
  }
});
