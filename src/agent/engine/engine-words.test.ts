import { describe, expect, it } from 'vitest';
import { socketCandidates } from './detect.ts';
import { apiVersionFor } from './dialect.ts';
import { engineInfo } from './engine-info.ts';
import {
  EngineConflictError,
  EngineError,
  EngineNotFoundError,
  errorForStatus,
  pullFailure,
  UnsafeSpecError,
} from './errors.ts';
import { pullProgress, registryAuth } from './image-pull.ts';
import { exactReference, imageState } from './image-reference.ts';
import { jsonValues } from './json-stream.ts';
import { redact } from './redact.ts';
import { statsSample } from './stats-sample.ts';

const DIGEST = `sha256:${'0'.repeat(64)}`;
const OTHER = `sha256:${'1'.repeat(64)}`;

describe('API version', () => {
  it.each([
    ['1.41', '1.41'],
    ['1.43', '1.43'],
    ['1.44', '1.44'],
    ['1.52', '1.44'],
    ['2.0', '1.44'],
  ])('%s offered: %s spoken', (offered, spoken) => expect(apiVersionFor(offered)).toBe(spoken));

  it.each(['1.40', '1.9', '0.99', '', 'x'])('%j is too old', (offered) => {
    expect(() => apiVersionFor(offered)).toThrow(EngineError);
  });
});

describe('errors', () => {
  it.each([
    [404, 'No such container', EngineNotFoundError],
    [409, 'Conflict', EngineConflictError],
    [500, 'the container name "web" is already in use by abc', EngineConflictError],
    [500, 'can only kill running containers: container state improper', EngineConflictError],
    [500, 'network name a already used: network already exists', EngineConflictError],
    [403, 'network a has active endpoints', EngineConflictError],
    [403, 'forbidden', EngineError],
    [500, 'disk on fire', EngineError],
  ])('%i %j', (status, message, kind) => {
    const error = errorForStatus(status, message);
    expect(error.constructor).toBe(kind);
    expect(error.message).toBe(message);
  });

  it.each([
    ['manifest for localhost:5000/a:1 not found: manifest unknown', 'not-found'],
    ['unauthorized: authentication required', 'unauthorized'],
    [
      'pull access denied for a, repository does not exist or may require login: access denied',
      'unauthorized',
    ],
    ['no basic auth credentials', 'unauthorized'],
    ['dial tcp 127.0.0.1:1: connect: connection refused', 'unreachable'],
    ['lookup registry.test: no such host', 'unreachable'],
    ['write /var/lib/docker/tmp/x: no space left on device', 'no-space'],
    ['no matching manifest for linux/arm64 in the manifest list entries', 'not-found'],
    ['something else', 'other'],
  ])('a pull that fails with %j: %s', (message, reason) => expect(pullFailure(message)).toBe(reason));

  it('hides values', () => {
    expect(redact('invalid value "s3cr3t" in s3cr3t=1', ['s3cr3t', 'a', ''])).toBe(
      'invalid value "[redacted]" in [redacted]=1',
    );
  });
});

describe('image', () => {
  it.each(['web:1', 'registry.test:5000/shop/web:1.4', `web@${DIGEST}`, `a/b:1@${DIGEST}`])(
    '%s is exact',
    (reference) => {
      expect(exactReference(reference)).toBe(reference);
    },
  );

  it.each([
    'web',
    'registry.test:5000/web',
    '../x:1',
    'a/../b:1',
    'a//b:1',
    '/a:1',
    'a:1?x=2',
    'a b:1',
    'web@sha256:00',
    '',
  ])('%j is not', (reference) => expect(() => exactReference(reference)).toThrow(UnsafeSpecError));

  it('has the digest of its own repository', () => {
    const body = (...RepoDigests: string[]): unknown => ({
      Id: DIGEST,
      RepoDigests,
      Os: 'linux',
      Architecture: 'arm64',
      Variant: 'v8',
    });
    expect(imageState('r.test/a:1', body(`r.test/b@${OTHER}`, `r.test/a@${DIGEST}`))).toEqual({
      id: DIGEST,
      digest: DIGEST,
      platform: 'linux/arm64/v8',
    });
    expect(imageState(`r.test/a@${OTHER}`, body(`r.test/a@${DIGEST}`, `r.test/a@${OTHER}`)).digest).toBe(
      OTHER,
    );
    expect(imageState('alpine:3', body(`docker.io/library/alpine@${DIGEST}`)).digest).toBe(DIGEST);
    expect(imageState('r.test/a:1', body())).not.toHaveProperty('digest');
  });

  it('sends credentials in the alphabet and padding that Go reads', () => {
    const credentials = { username: 'u', password: '?>~~ÿÿ', serverAddress: 'r.test' };
    const header = registryAuth(credentials);
    expect(header).toMatch(/^[A-Za-z0-9_-]+={0,2}$/);
    expect(header.length % 4).toBe(0);
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({
      username: 'u',
      password: '?>~~ÿÿ',
      serveraddress: 'r.test',
    });
  });

  it('reports progress, and throws what fails in the stream', () => {
    expect(
      pullProgress({ status: 'Downloading', id: 'l1', progressDetail: { current: 1, total: 2 } }),
    ).toEqual({
      layer: 'l1',
      status: 'Downloading',
      currentBytes: 1,
      totalBytes: 2,
    });
    expect(() => pullProgress({ error: 'x', errorDetail: { message: 'manifest unknown' } })).toThrow(
      'manifest unknown',
    );
    expect(() => pullProgress({ error: 'toomanyrequests' })).toThrow('toomanyrequests');
  });
});

describe('info and stats', () => {
  it('reads components of both engines', () => {
    const components = (...Components: object[]): unknown =>
      engineInfo({ kind: 'docker', apiVersion: '1.41' }, {}, { Os: 'linux', Arch: 'amd64', Components })
        .components;
    expect(components({ Name: 'Engine', Version: '20.10.24' }, { Name: 'runc', Version: '1.1.5' })).toEqual({
      engine: '20.10.24',
      runc: '1.1.5',
    });
    expect(
      components(
        { Name: 'Conmon', Version: 'conmon version 2.1.6, commit: unknown' },
        { Name: 'OCI Runtime (/usr/sbin/runc)', Version: 'runc version 1.1.5+ds1\ncommit: x' },
        { Name: 'OCI Runtime (crun)', Version: 'crun version 1.8' },
      ),
    ).toEqual({ conmon: '2.1.6', runc: '1.1.5+ds1', crun: '1.8' });
  });

  it('adds up the traffic of all interfaces, and knows none of the network of the host', () => {
    const sample = (networks: unknown) =>
      statsSample({ read: '2026-11-15T01:55:00Z', memory_stats: { usage: 1, limit: 2 }, networks })?.network;
    expect(sample({ eth0: { rx_bytes: 5, tx_bytes: 7 }, eth1: { rx_bytes: 10, tx_bytes: 1 } })).toEqual({
      receivedBytes: 15,
      sentBytes: 8,
    });
    expect(sample({})).toBeUndefined();
    expect(sample(undefined)).toBeUndefined();
  });

  it('does not count cache as memory in use, on either version of cgroups', () => {
    const sample = (stats: object): number | undefined =>
      statsSample({ read: '2026-11-15T01:55:00Z', memory_stats: { usage: 100, limit: 1000, stats } })
        ?.memoryBytes;
    expect(sample({ total_inactive_file: 30, inactive_file: 10 })).toBe(70);
    expect(sample({ inactive_file: 40 })).toBe(60);
    expect(sample({})).toBe(100);
    expect(statsSample({ read: '0001-01-01T00:00:00Z', memory_stats: {} })).toBeUndefined();
  });
});

describe('JSON stream', () => {
  async function* chunks(...parts: readonly Buffer[]): AsyncGenerator<Buffer> {
    yield* parts;
  }
  async function read(...parts: readonly Buffer[]): Promise<readonly unknown[]> {
    const values: unknown[] = [];
    for await (const value of jsonValues(chunks(...parts))) values.push(value);
    return values;
  }

  it('joins what was split, also inside a character, and takes a last line without an end', async () => {
    const bytes = Buffer.from('{"a":"é☃"}\r\n\n{"b":1}\n{"c":2}');
    const wanted = [{ a: 'é☃' }, { b: 1 }, { c: 2 }];
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(await read(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(wanted);
    }
  });

  it('refuses what is not JSON, and lines without an end', async () => {
    await expect(read(Buffer.from('<html>\n'))).rejects.toThrow(EngineError);
    await expect(read(Buffer.alloc(2 * 1024 * 1024, 'x'))).rejects.toThrow(/too long/);
  });
});

describe('sockets to try', () => {
  it('takes the one that is named, and no other', () => {
    expect(
      socketCandidates('/run/my.sock', { DOCKER_HOST: 'unix:///other' }).map(({ socketPath }) => socketPath),
    ).toEqual(['/run/my.sock']);
    expect(
      socketCandidates(undefined, { DOCKER_HOST: 'unix:///other.sock' }).map(({ socketPath }) => socketPath),
    ).toEqual(['/other.sock']);
  });

  it('otherwise goes through the usual places', () => {
    expect(
      socketCandidates(undefined, { XDG_RUNTIME_DIR: '/run/user/1' }).map(({ socketPath }) => socketPath),
    ).toEqual(['/var/run/docker.sock', '/run/podman/podman.sock', '/run/user/1/podman/podman.sock']);
    expect(socketCandidates(undefined, { DOCKER_HOST: '' })).toHaveLength(2);
  });
});
