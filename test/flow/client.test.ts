import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, connect, RejectionError } from '../../src/sdk/index.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLE = join(ROOT, 'examples/client/deploy.ts');
const GUIDE = join(ROOT, 'docs/guide/client.md');
/** Nothing listens there: an unreachable registry is a warning. */
const IMAGE = '127.0.0.1:1/shop/app';
const run = promisify(execFile);

let plane: ControlPlane;
let token: string;
let client: Client;

beforeAll(async () => {
  plane = await startControlPlane();
  ({ token } = await plane.tenant('shop'));
  client = connect({ url: plane.url, token });
});

afterAll(async () => {
  await plane.close();
});

/** As somebody in a checkout runs it; an installation has the same name without the condition. */
async function example(...args: readonly string[]) {
  const environment = { ...process.env, BERTH_URL: plane.url, BERTH_TOKEN: token };
  const line = ['--conditions=berth-source', EXAMPLE, ...args];
  try {
    return { code: 0, ...(await run(process.execPath, line, { env: environment, timeout: 60_000 })) };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
}

describe('the client', () => {
  it('is what the example needs: it creates, changes and is refused', async () => {
    const created = await example('web', `${IMAGE}:1.0`);
    expect(created.stderr).toBe('');
    expect(created.stdout).toContain('web is stored: revision ');
    expect(created.stdout).toContain('deployment.created: ');
    const changed = await example('web', `${IMAGE}:1.1`);
    expect(changed.stdout).toContain('deployment.updated: ');
    const refused = await example('web', `${IMAGE}:latest`);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^image_\w+ at image: /) });
  });

  it('compiles as the guide has it', async () => {
    const [first = '', ...others] = readFileSync(GUIDE, 'utf8')
      .split('```ts\n')
      .slice(1)
      .map((rest) => rest.slice(0, rest.indexOf('```')));
    expect(others.length).toBeGreaterThan(1);
    const folder = mkdtempSync(join(tmpdir(), 'berth-guide-'));
    try {
      writeFileSync(join(folder, 'guide.mts'), `${first}${others.map((block) => `{\n${block}}\n`).join('')}`);
      const options = {
        paths: { 'berth/client': [join(ROOT, 'src/sdk/index.ts')] },
        typeRoots: [join(ROOT, 'node_modules/@types')],
      };
      const settings = {
        extends: join(ROOT, 'tsconfig.json'),
        compilerOptions: options,
        files: ['guide.mts'],
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...settings, include: [] }));
      const compiled = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
        (error: unknown) => error as { stdout: string },
      );
      expect(compiled.stdout).toBe('');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('reads page by page, guards with the revision and tells a refusal by its code', async () => {
    for (const name of ['a', 'b'])
      await client.call('POST /api/v1/deployments', { body: { name, image: `${IMAGE}:1.0` } });
    const sizes: number[] = [];
    for await (const page of client.pages('GET /api/v1/deployments', { query: { limit: 2 } }))
      sizes.push(page.length);
    expect(sizes).toEqual([2, 1]);
    const params = { name: 'a' };
    const { body, etag, status } = await client.reply('GET /api/v1/deployments/{name}', { params });
    expect({ status, etag }).toEqual({ status: 200, etag: `"${body.revision}"` });
    const change = { params, body: { replicas: 2 }, ifMatch: etag };
    expect((await client.call('PUT /api/v1/deployments/{name}', change)).replicas).toBe(2);
    const late = await client.call('PUT /api/v1/deployments/{name}', change).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(RejectionError);
    expect(late).toMatchObject({ status: 412, code: 'revision_mismatch', field: 'If-Match' });
  });

  it('answers a post that is sent twice once, and misses no event of a stream that was away', async () => {
    const again = { body: { name: 'c', image: `${IMAGE}:1.0` }, idempotencyKey: 'the-same' };
    const first = await client.call('POST /api/v1/deployments', again);
    const second = await client.reply('POST /api/v1/deployments', again);
    expect([second.body.id, second.headers.get('idempotency-replayed')]).toEqual([first.id, 'true']);
    const query = { subject: 'Deployment/c' };
    const lastEventId = (await client.list('GET /api/v1/events', { query })).at(-1)?.id;
    const removed = await client.call('DELETE /api/v1/deployments/{name}', { params: { name: 'c' } });
    expect(removed.id).toBe(first.id);
    const kinds: string[] = [];
    for await (const { kind } of client.events({ query, lastEventId, signal: AbortSignal.timeout(20_000) })) {
      kinds.push(kind);
      if (kind === 'deployment.deleted') break;
    }
    // What was read before does not come again.
    expect(kinds).not.toContain('deployment.created');
  });
});
