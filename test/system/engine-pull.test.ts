import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DockerEngine } from '../../src/agent/engine/docker-engine.ts';
import type { PullProgress, RegistryCredentials } from '../../src/agent/engine/engine.ts';
import { registryAuth } from '../../src/agent/engine/image-pull.ts';
import { jsonValues } from '../../src/agent/engine/json-stream.ts';
import { EngineTransport } from '../../src/agent/engine/transport.ts';
import {
  buildTestImage,
  startEngine,
  startPodman,
  TEST_REGISTRY_PORT,
  type TestEngine,
} from '../support/harness/engine.ts';
import { machineArchitecture, pushImage } from '../support/harness/registry.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/** A password whose base64 holds both letters that differ in the URL's alphabet. Its bcrypt hash is of the lowest cost. */
const PASSWORD = 'p?>~~ÿ-word';
const PASSWORD_HASH = '$2b$04$YRdlV0uZ0bEQYWxtxRthbun9K08huLBct4I2l/2Seh/PuCzeGrQ7m';

const STARTERS = { docker: () => startEngine({ network: 'none' }), podman: () => startPodman() } as const;

describe.each(['docker', 'podman'] as const)('pulls on %s', (kind) => {
  let daemon: TestEngine;
  let engine: DockerEngine;
  let registry: ChildProcess;
  let address: string;
  let credentials: RegistryCredentials;

  beforeAll(async () => {
    ensurePackages(['docker-registry']);
    daemon = await STARTERS[kind]();
    engine = new DockerEngine(daemon.socketPath);
    address = `${daemon.namespace?.hostAddress}:${TEST_REGISTRY_PORT}`;
    credentials = { username: 'berth', password: PASSWORD, serverAddress: address };
    registry = await startRegistry(daemon.folder, address);
    // A layer of its own for each, or the engine has nothing to fetch.
    const content = randomBytes(64 * 1024).toString('hex');
    await buildTestImage(daemon, `${address}/shop/web:1.0`, { files: { '/unique': { content } } });
    await push(daemon, `${address}/shop/web`, '1.0', credentials);
    await engine.removeImage(`${address}/shop/web:1.0`);
  });
  afterAll(async () => {
    registry.kill('SIGKILL');
    await daemon.stop();
  });

  it('fetches with credentials, by tag and by digest', async () => {
    const reference = `${address}/shop/web:1.0`;
    const progress: PullProgress[] = [];
    await engine.pull(reference, { credentials, onProgress: (line) => progress.push(line) });
    expect(progress.length).toBeGreaterThan(1);
    if (kind === 'docker') {
      const bytes = progress.filter(
        ({ currentBytes, totalBytes }) => (currentBytes ?? 0) > 0 && (totalBytes ?? 0) > 0,
      );
      expect(bytes).not.toEqual([]);
    }
    const { digest } = await engine.inspectImage(reference);
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    await engine.removeImage(reference);
    const exact = `${address}/shop/web@${digest}`;
    await engine.pull(exact, { credentials });
    expect((await engine.inspectImage(exact)).digest).toBe(digest);
    await engine.removeImage(exact);
  });

  it('fetches an index by its digest, and what was pulled by a tag is there by that digest', async () => {
    const auth = { username: credentials.username, password: PASSWORD };
    const target = { host: address, port: TEST_REGISTRY_PORT, auth, stop: async () => {} };
    const platforms = [`linux/${machineArchitecture()}`, 'linux/s390x'];
    const { digest } = await pushImage(target, 'shop/many:1.0', { platforms, busybox: false });
    const exact = `${address}/shop/many@${digest}`;
    await engine.pull(exact, { credentials });
    expect((await engine.inspectImage(exact)).digest).toBe(digest);
    await engine.removeImage(exact);
    expect(await engine.imageExists(exact)).toBe(false);
    await engine.pull(`${address}/shop/many:1.0`, { credentials });
    expect(await engine.imageExists(exact)).toBe(true);
    await engine.removeImage(`${address}/shop/many:1.0`);
  });

  it('says why it cannot, and never the password', async () => {
    const reference = `${address}/shop/web:1.0`;
    await expect(engine.pull(reference)).rejects.toMatchObject({
      name: 'ImagePullError',
      reason: 'unauthorized',
    });
    const wrong = engine.pull(reference, { credentials: { ...credentials, password: 'wrong-password' } });
    await expect(wrong).rejects.toMatchObject({ reason: 'unauthorized' });
    await expect(wrong).rejects.not.toThrow('wrong-password');
    await expect(engine.pull(`${address}/shop/web:2.0`, { credentials })).rejects.toMatchObject({
      reason: 'not-found',
    });
    await expect(engine.pull(`${address}/shop/none:1.0`, { credentials })).rejects.toMatchObject({
      reason: 'not-found',
    });
    await expect(engine.pull('localhost:1/web:1')).rejects.toMatchObject({ reason: 'unreachable' });
    // Without tag or digest an engine would fetch every tag.
    await expect(engine.pull(`${address}/shop/web`, { credentials })).rejects.toThrow(
      /not an exact image reference/,
    );
    expect(await engine.imageExists(reference)).toBe(false);
  });

  it('keeps no credentials: the next pull without them is refused', async () => {
    const reference = `${address}/shop/web:1.0`;
    await engine.pull(reference, { credentials });
    await engine.removeImage(reference);
    await expect(engine.pull(reference)).rejects.toMatchObject({ reason: 'unauthorized' });
  });
});

async function startRegistry(folder: string, address: string): Promise<ChildProcess> {
  const passwords = join(folder, 'htpasswd');
  writeFileSync(passwords, `berth:${PASSWORD_HASH}\n`);
  const config = join(folder, 'registry.yml');
  writeFileSync(
    config,
    JSON.stringify({
      version: 0.1,
      log: { level: 'error' },
      storage: { filesystem: { rootdirectory: join(folder, 'registry') } },
      http: { addr: address },
      auth: { htpasswd: { realm: 'test', path: passwords } },
    }),
  );
  const child = spawn('/usr/bin/docker-registry', ['serve', config], { stdio: 'ignore' });
  for (let round = 0; round < 400; round += 1) {
    const status = await fetch(`http://${address}/v2/`).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 401) return child;
    await pause(25);
  }
  child.kill('SIGKILL');
  throw new Error('the registry did not start');
}

async function push(
  daemon: TestEngine,
  repository: string,
  tag: string,
  credentials: RegistryCredentials,
): Promise<void> {
  const stream = await new EngineTransport(daemon.socketPath).stream({
    method: 'POST',
    path: `/v1.41/images/${repository}/push?tag=${tag}`,
    headers: { 'X-Registry-Auth': registryAuth(credentials) },
  });
  for await (const line of jsonValues(stream)) expect(line).not.toHaveProperty('error');
}
