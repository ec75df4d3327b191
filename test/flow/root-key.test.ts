import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startControlPlane, type ControlPlane } from '../support/harness/server-under-test.ts';

/** More than the second after which the files of keys are read again. */
const REREAD_MS = 1100;

let plane: ControlPlane | undefined;

afterEach(async () => {
  await plane?.close();
  plane = undefined;
});

describe('the root key of the embedded secrets store', () => {
  it('is changed under a running control plane: tenant keys are wrapped anew and the old key can go', async () => {
    plane = await startControlPlane();
    const { api, dataDir, logs } = plane;
    const path = '/api/v1/secrets/resources/db';
    expect(
      (await api.call('PUT', path, { body: { values: { password: 'kept over the change' } } })).status,
    ).toBe(201);
    const key = join(dataDir, 'keys', 'root.key');
    const original = readFileSync(key);
    copyFileSync(key, `${key}.retired`);
    writeFileSync(`${key}.new`, randomBytes(32), { mode: 0o600 });
    const isWrapped = (): boolean => logs.some((line) => line.includes('wrapped by the new root key'));
    // Between the two steps of an operator, the files are read.
    await delay(REREAD_MS);
    expect(isWrapped()).toBe(false);
    renameSync(`${key}.new`, key);
    await eventually(isWrapped, Boolean);
    rmSync(`${key}.retired`);
    await delay(REREAD_MS);
    expect((await api.call('GET', path)).status).toBe(200);
    expect((await api.call('PUT', path, { body: { values: { password: 'again' } } })).status).toBe(200);
    expect(readFileSync(key)).not.toEqual(original);
  });

  it('seals the store when it is gone, and unseals it when it is back, without a restart', async () => {
    plane = await startControlPlane();
    const { api, dataDir } = plane;
    const path = '/api/v1/secrets/resources/db';
    await api.call('PUT', path, { body: { values: { password: 'x' } } });
    const key = join(dataDir, 'keys', 'root.key');
    renameSync(key, `${key}.away`);
    await eventually(
      () => api.call('GET', '/healthz'),
      ({ status }) => status === 503,
    );
    const refused = await api.call('PUT', path, { body: { values: { password: 'y' } } });
    expect(refused.body).toMatchObject({ code: 'secrets_sealed' });
    renameSync(`${key}.away`, key);
    await eventually(
      () => api.call('GET', '/healthz'),
      ({ status }) => status === 200,
    );
    expect((await api.call('GET', path)).body).toMatchObject({ version: 1 });
  });

  it('is not made anew where secrets are sealed: the start says so, and the old one opens them again', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-root-key-'));
    try {
      plane = await startControlPlane({ dataDir });
      const path = '/api/v1/secrets/resources/db';
      await plane.api.call('PUT', path, { body: { values: { password: 'x' } } });
      await plane.close();
      const key = join(dataDir, 'keys', 'root.key');
      renameSync(key, `${key}.away`);
      plane = await startControlPlane({ dataDir });
      const { api, logs } = plane;
      await eventually(async () => logs.some((line) => line.includes('root_key_missing')), Boolean);
      expect(existsSync(key)).toBe(false);
      expect((await api.call('GET', '/healthz')).body).toMatchObject({ secrets: { sealed: true } });
      renameSync(`${key}.away`, key);
      await eventually(
        () => api.call('GET', '/healthz'),
        ({ status }) => status === 200,
      );
      expect((await api.call('GET', path)).body).toMatchObject({ version: 1 });
    } finally {
      await plane?.close();
      plane = undefined;
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
