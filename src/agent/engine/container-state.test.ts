import { describe, expect, it } from 'vitest';
import { containerHealth, containerState, containerStatus, containerSummary } from './container-state.ts';
import { EngineError } from './errors.ts';

const ID = 'ab'.repeat(32);
const IMAGE_ID = 'cd'.repeat(32);

/** As Docker 20.10 answers, shortened; Podman's differences are laid over it. */
const DOCKER = {
  Id: ID,
  Created: '2026-11-15T01:54:07.173193742Z',
  Name: '/web',
  Image: `sha256:${IMAGE_ID}`,
  RestartCount: 2,
  HostConfig: { RestartPolicy: { Name: 'unless-stopped', MaximumRetryCount: 0 } },
  Mounts: [
    { Type: 'bind', Source: '/srv/a', Destination: '/a' },
    { Type: 'volume', Name: 'v', Source: '/var/lib/docker/volumes/v/_data', Destination: '/b' },
  ],
  State: {
    Status: 'running',
    OOMKilled: false,
    Pid: 42,
    ExitCode: 0,
    StartedAt: '2026-11-15T01:54:07.5Z',
    FinishedAt: '0001-01-01T00:00:00Z',
    Health: { Status: 'unhealthy', FailingStreak: 3, Log: [{ ExitCode: 1, Output: 'token=hidden-1' }] },
  },
  Config: { Image: 'web:1', Env: ['PASSWORD=hidden-2'], Cmd: ['web'], Labels: { a: 'b' } },
  NetworkSettings: {
    Networks: {
      net: { NetworkID: 'x', IPAddress: '10.0.0.2', Aliases: ['web'] },
      other: { IPAddress: '', Aliases: null },
    },
    Ports: {
      '80/tcp': [{ HostIp: '0.0.0.0', HostPort: '8080' }],
      '53/udp': null,
      '9/sctp': [{ HostPort: '9' }],
    },
  },
};

const stateWith = (change: Readonly<Record<string, unknown>>) =>
  containerState({ ...DOCKER, State: { ...DOCKER.State, ...change } });

describe('container state', () => {
  it.each([
    ['ran when the power went', {}, 'exited', 255],
    ['had ended before', { FinishedAt: '2026-11-15T01:54:08Z', ExitCode: 3 }, 'exited', 3],
    ['ended in an earlier run', { FinishedAt: '2026-11-15T01:54:06Z', ExitCode: 3 }, 'exited', 255],
    ['is about to run again', { Pid: 42 }, 'created', undefined],
    ['never ran', { StartedAt: '0001-01-01T00:00:00Z' }, 'created', undefined],
  ])('of Podman after a restart of the machine: %s', (_case, change, status, exitCode) => {
    const seen = stateWith({ Status: 'created', Pid: 0, ...change });
    expect([seen.status, seen.exitCode]).toEqual([status, exitCode]);
  });

  it('is read of Docker, without environment and check output', () => {
    const state = containerState(DOCKER);
    expect(state).toEqual({
      id: ID,
      name: 'web',
      image: 'web:1',
      imageId: `sha256:${IMAGE_ID}`,
      labels: { a: 'b' },
      createdAt: '2026-11-15T01:54:07.173193742Z',
      startedAt: '2026-11-15T01:54:07.5Z',
      status: 'running',
      oomKilled: false,
      pid: 42,
      health: { status: 'unhealthy', failingStreak: 3, lastExitCode: 1, commandNotFound: false },
      restartCount: 2,
      restartsItself: true,
      binds: ['/srv/a'],
      networks: [
        { name: 'net', ip: '10.0.0.2', aliases: ['web'] },
        { name: 'other', aliases: [] },
      ],
      ports: [{ container: 80, host: 8080, protocol: 'tcp', hostIp: '0.0.0.0' }],
    });
    expect(JSON.stringify(state)).not.toContain('hidden');
  });

  it('is read of Podman', () => {
    const state = containerState({
      ...DOCKER,
      Image: IMAGE_ID,
      State: {
        Status: 'stopped',
        Pid: 0,
        ExitCode: 3,
        OOMKilled: true,
        Healthcheck: { Status: '', Log: null },
      },
      NetworkSettings: {},
    });
    expect(state).toMatchObject({
      imageId: `sha256:${IMAGE_ID}`,
      status: 'exited',
      exitCode: 3,
      oomKilled: true,
      ports: [],
    });
    expect(state).not.toHaveProperty('health');
    expect(state).not.toHaveProperty('pid');
  });

  it.each([
    ['running', 'running'],
    ['configured', 'created'],
    ['stopping', 'running'],
    ['stopped', 'exited'],
    ['removing', 'removing'],
    ['dead', 'dead'],
    ['restarting', 'restarting'],
  ])('calls %s %s', (word, status) => expect(containerStatus(word)).toBe(status));

  it('is a fault where the engine says what nobody knows', () => {
    expect(() => containerStatus('sleeping')).toThrow(EngineError);
    expect(() => containerStatus('constructor')).toThrow(EngineError);
    expect(() => containerState({ ...DOCKER, Id: '' })).toThrow(EngineError);
    expect(() => containerState(null)).toThrow(EngineError);
  });

  it('is read of a list', () => {
    expect(
      containerSummary({
        Id: ID,
        Names: ['/web'],
        Image: 'web:1',
        ImageID: IMAGE_ID,
        Labels: null,
        State: 'exited',
        Created: 1_794_707_647,
      }),
    ).toEqual({
      id: ID,
      name: 'web',
      image: 'web:1',
      imageId: `sha256:${IMAGE_ID}`,
      labels: {},
      status: 'exited',
      createdAt: '2026-11-15T01:54:07.000Z',
    });
  });
});

describe('health', () => {
  const after = (ExitCode: number, Output: string): boolean | undefined =>
    containerHealth({ Status: 'unhealthy', FailingStreak: 1, Log: [{ ExitCode: 0 }, { ExitCode, Output }] })
      ?.commandNotFound;

  it.each([
    [127, '/bin/sh: curl: not found', true],
    [126, '', true],
    [-1, 'OCI runtime exec failed: exec: "curl": executable file not found in $PATH: unknown', true],
    [-1, 'Health check exceeded timeout (10s)', false],
    [1, '/bin/sh: curl: not found', true],
    [1, 'sh: 1: curl: not found\n', true],
    [1, 'bash: line 1: curl: command not found', true],
    [1, 'HTTP 404: page not found', false],
    [0, '', false],
  ])('after exit %i with %j: program missing is %s', (exitCode, output, missing) => {
    expect(after(exitCode, output)).toBe(missing);
  });

  it('is absent where no check is declared', () => {
    for (const none of [undefined, null, {}, { Status: 'none' }, { Status: '' }])
      expect(containerHealth(none)).toBeUndefined();
  });
});
