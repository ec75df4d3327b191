import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ContainerSpec } from '../../src/agent/engine/container.ts';
import { detectEngine } from '../../src/agent/engine/detect.ts';
import { DockerEngine } from '../../src/agent/engine/docker-engine.ts';
import { EngineConflictError, EngineUnavailableError } from '../../src/agent/engine/errors.ts';
import { collectOutput } from '../../src/agent/engine/exec-session.ts';
import { EngineTransport } from '../../src/agent/engine/transport.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';

const IMAGE = 'berth.test/box:1';

function spec(changes: Partial<ContainerSpec> & Pick<ContainerSpec, 'name'>): ContainerSpec {
  return {
    image: IMAGE,
    env: [],
    labels: {},
    ownLabels: {},
    restart: { name: 'no' },
    mounts: [],
    ports: [],
    ...changes,
  };
}

/**
 * The whole HostConfig that Docker 20.10 reports of a container with every field in use: what an agent's specification can
 * reach, and nothing else. A new field that is not in here fails the test.
 */
const GOLDEN_HOST_CONFIG = {
  AutoRemove: false,
  Binds: null,
  BlkioDeviceReadBps: null,
  BlkioDeviceReadIOps: null,
  BlkioDeviceWriteBps: null,
  BlkioDeviceWriteIOps: null,
  BlkioWeight: 0,
  BlkioWeightDevice: null,
  CapAdd: [
    'CAP_CHOWN',
    'CAP_DAC_OVERRIDE',
    'CAP_FOWNER',
    'CAP_FSETID',
    'CAP_KILL',
    'CAP_NET_BIND_SERVICE',
    'CAP_SETGID',
    'CAP_SETUID',
    'CAP_SYS_CHROOT',
  ],
  CapDrop: ['ALL'],
  Cgroup: '',
  CgroupParent: '',
  CgroupnsMode: 'private',
  ConsoleSize: [0, 0],
  ContainerIDFile: '',
  CpuCount: 0,
  CpuPercent: 0,
  CpuPeriod: 0,
  CpuQuota: 0,
  CpuRealtimePeriod: 0,
  CpuRealtimeRuntime: 0,
  CpuShares: 0,
  CpusetCpus: '',
  CpusetMems: '',
  DeviceCgroupRules: null,
  DeviceRequests: null,
  Devices: [],
  Dns: null,
  DnsOptions: null,
  DnsSearch: null,
  ExtraHosts: null,
  GroupAdd: null,
  IOMaximumBandwidth: 0,
  IOMaximumIOps: 0,
  Init: true,
  IpcMode: 'private',
  Isolation: '',
  KernelMemory: 0,
  KernelMemoryTCP: 0,
  Links: null,
  LogConfig: { Config: { 'max-file': '3', 'max-size': '10000000' }, Type: 'json-file' },
  MaskedPaths: [
    '/proc/asound',
    '/proc/acpi',
    '/proc/kcore',
    '/proc/keys',
    '/proc/latency_stats',
    '/proc/timer_list',
    '/proc/timer_stats',
    '/proc/sched_debug',
    '/proc/scsi',
    '/sys/firmware',
  ],
  Memory: 67_108_864,
  MemoryReservation: 0,
  MemorySwap: 67_108_864,
  MemorySwappiness: null,
  Mounts: [
    {
      BindOptions: { Propagation: 'rprivate' },
      ReadOnly: true,
      Source: '/usr/share',
      Target: '/share',
      Type: 'bind',
    },
    { Source: 'data', Target: '/data', Type: 'volume' },
    { Target: '/scratch', TmpfsOptions: { Mode: 0o1777, SizeBytes: 1_048_576 }, Type: 'tmpfs' },
  ],
  NanoCpus: 500_000_000,
  NetworkMode: 'golden',
  OomKillDisable: false,
  OomScoreAdj: 0,
  PidMode: '',
  PidsLimit: 4096,
  PortBindings: {
    '53/udp': [{ HostIp: '', HostPort: '15353' }],
    '80/tcp': [{ HostIp: '', HostPort: '15080' }],
  },
  Privileged: false,
  PublishAllPorts: false,
  ReadonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
  ReadonlyRootfs: false,
  RestartPolicy: { MaximumRetryCount: 4, Name: 'on-failure' },
  Runtime: 'runc',
  SecurityOpt: ['no-new-privileges'],
  ShmSize: 67_108_864,
  UTSMode: '',
  Ulimits: null,
  UsernsMode: '',
  VolumeDriver: '',
  VolumesFrom: null,
};

describe('engine on Docker', () => {
  let daemon: TestEngine;
  let engine: DockerEngine;

  beforeAll(async () => {
    daemon = await startEngine();
    engine = new DockerEngine(daemon.socketPath);
    await buildTestImage(daemon, IMAGE);
  });
  afterAll(() => daemon.stop());

  async function run(wanted: ContainerSpec): Promise<string> {
    const id = await engine.createContainer(wanted);
    onTestFinished(() => engine.remove(id, { force: true }));
    await engine.start(id);
    return id;
  }

  it('reaches nothing of the host beyond its typed fields', async () => {
    await engine.ensureNetwork({ name: 'golden', driver: 'bridge', internal: false, labels: {} });
    const wanted = spec({
      name: 'golden',
      command: ['sleep', '60'],
      env: [['A', 'b']],
      labels: { user: 'label', own: 'forged' },
      ownLabels: { own: 'berth' },
      network: { name: 'golden', aliases: ['db'] },
      healthCheck: {
        test: ['CMD', 'true'],
        intervalMs: 1000,
        timeoutMs: 10_000,
        retries: 3,
        startPeriodMs: 5000,
      },
      restart: { name: 'on-failure', maxRetries: 4 },
      cpu: 0.5,
      memoryBytes: 64 << 20,
      mounts: [
        { kind: 'bind', source: '/usr/share', target: '/share', readOnly: true },
        { kind: 'volume', source: 'data', target: '/data', readOnly: false },
        { kind: 'tmpfs', target: '/scratch', sizeBytes: 1 << 20 },
      ],
      ports: [
        { container: 80, host: 15_080, protocol: 'tcp' },
        { container: 53, host: 15_353, protocol: 'udp' },
      ],
      stopTimeoutS: 7,
    });
    // What a forged message could carry besides: no field of it is read.
    const forged = {
      ...wanted,
      Privileged: true,
      HostConfig: { Privileged: true, PidMode: 'host' },
      CapAdd: ['ALL'],
      Binds: ['/:/host'],
    };
    const id = await engine.createContainer(forged);
    onTestFinished(() => engine.remove(id, { force: true }));
    const raw = new EngineTransport(daemon.socketPath);
    const body = (await raw.call({ method: 'GET', path: `/v1.41/containers/${id}/json` })).body as {
      readonly HostConfig: unknown;
      readonly Config: Readonly<Record<string, unknown>>;
    };
    expect(body.HostConfig).toEqual(GOLDEN_HOST_CONFIG);
    expect(body.Config).toMatchObject({
      Cmd: ['sleep', '60'],
      Env: expect.arrayContaining(['A=b']),
      Labels: { user: 'label', own: 'berth' },
      StopTimeout: 7,
      Tty: false,
      OpenStdin: false,
      User: '',
      Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Timeout: 1e10, Retries: 3, StartPeriod: 5e9 },
      ExposedPorts: { '80/tcp': {}, '53/udp': {} },
    });
  });

  it('resolves aliases on a network, also of one that is joined later', async () => {
    const { id: network } = await engine.ensureNetwork({
      name: 'names',
      driver: 'bridge',
      internal: true,
      labels: {},
    });
    const server = await run(spec({ name: 'server', command: ['httpd', '-f', '-p', '80', '-h', '/etc'] }));
    const client = await run(spec({ name: 'client', network: { name: 'names', aliases: [] } }));
    await expect(engine.connect(network, server, ['web'])).rejects.toThrow(/none|private/);
    const joined = await run(
      spec({
        name: 'joined',
        command: ['httpd', '-f', '-p', '80', '-h', '/etc'],
        network: { name: 'golden', aliases: [] },
      }),
    );
    await engine.connect(network, joined, ['web']);
    expect((await engine.inspect(joined)).networks.map(({ name }) => name)).toEqual(['golden', 'names']);
    const fetched = await collectOutput(
      await engine.exec(client, ['wget', '-qO-', 'http://web/passwd'], { timeoutMs: 10_000 }),
      1000,
    );
    expect(fetched).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('root:') });
    await engine.disconnect(network, joined);
    expect((await engine.inspect(joined)).networks.map(({ name }) => name)).toEqual(['golden']);
  });

  it('holds a fast writer back for a slow reader, in bounded memory', async () => {
    const lines = 9700;
    const script = `l=$(head -c 999 /dev/zero | tr '\\0' x); i=0; while [ $i -lt ${lines} ]; do echo $l; i=$((i+1)); done`;
    const id = await run(spec({ name: 'writer', command: ['sh', '-c', script] }));
    const idleBytes = process.memoryUsage().arrayBuffers;
    const log = engine.logs(id, { follow: true })[Symbol.asyncIterator]();
    expect((await log.next()).done).toBe(false);
    while ((await engine.inspect(id)).status !== 'exited') await pause(25);
    // All 9.7 MB are ready and nobody reads.
    await pause(500);
    expect(process.memoryUsage().arrayBuffers - idleBytes).toBeLessThan(1_000_000);
    let read = 1;
    let bytes = 1000;
    for (let next = await log.next(); next.done !== true; next = await log.next()) {
      read += 1;
      bytes += next.value.line.length + 1;
    }
    expect([read, bytes]).toEqual([lines, lines * 1000]);
  });

  it('reads the output of a terminal, which is not framed', async () => {
    const made = await new EngineTransport(daemon.socketPath).call({
      method: 'POST',
      path: '/v1.41/containers/create?name=terminal',
      json: { Image: IMAGE, Tty: true, Cmd: ['sh', '-c', 'echo one; echo two >&2; printf three'] },
    });
    const id = (made.body as { readonly Id: string }).Id;
    onTestFinished(() => engine.remove(id, { force: true }));
    await engine.start(id);
    const lines: string[] = [];
    for await (const { stream, line } of engine.logs(id, { follow: true })) lines.push(`${stream} ${line}`);
    expect(lines).toEqual(['stdout one', 'stdout two', 'stdout three']);
  });

  it('ends every call at its deadline while the engine hangs, and goes on when it is back', async () => {
    const id = await run(spec({ name: 'hung' }));
    daemon.pause();
    try {
      const started = performance.now();
      const calls = [
        engine.ping({ deadlineMs: 300 }),
        engine.inspect(id, { deadlineMs: 300 }),
        engine.createContainer(spec({ name: 'never' }), { deadlineMs: 300 }),
        engine.pull(IMAGE, { deadlineMs: 300 }),
        new DockerEngine(daemon.socketPath).list({ all: true }, { deadlineMs: 300 }),
      ];
      for (const result of await Promise.allSettled(calls)) {
        expect(result).toMatchObject({ status: 'rejected', reason: expect.any(EngineUnavailableError) });
      }
      expect(performance.now() - started).toBeLessThan(2000);
      const reason = new Error('no longer wanted');
      await expect(engine.inspect(id, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const stop = new AbortController();
      const waiting = engine.inspect(id, { signal: stop.signal });
      setTimeout(() => stop.abort(reason), 50);
      await expect(waiting).rejects.toBe(reason);
    } finally {
      daemon.resume();
    }
    expect(await engine.inspect(id)).toMatchObject({ status: 'running' });
  });

  it('is found by its socket', async () => {
    expect(await detectEngine(daemon.socketPath)).toMatchObject({
      kind: 'docker',
      socketPath: daemon.socketPath,
    });
    expect(await detectEngine(undefined, { DOCKER_HOST: `unix://${daemon.socketPath}` })).toMatchObject({
      source: 'DOCKER_HOST',
    });
    await expect(detectEngine(join(daemon.folder, 'none.sock'))).rejects.toThrow(
      /configured socket .*none\.sock \(no such socket\)/,
    );
    await expect(detectEngine(undefined, { DOCKER_HOST: 'tcp://127.0.0.1:2375' })).rejects.toThrow(
      /only unix sockets/,
    );
  });
});

describe('an engine that goes and comes', () => {
  it('keeps containers and pid with live restore; streams end with an error, calls work again', async () => {
    await using daemon = await startEngine({ network: 'none', liveRestore: true });
    const engine = new DockerEngine(daemon.socketPath);
    await buildTestImage(daemon, IMAGE);
    const id = await engine.createContainer(spec({ name: 'survivor' }));
    await engine.start(id);
    const before = await engine.inspect(id);
    const ended = Promise.withResolvers<Error | undefined>();
    const events = engine.events({}, { onEvent: () => {}, onEnd: ended.resolve });
    await events.ready;
    const following = engine.logs(id, { follow: true })[Symbol.asyncIterator]().next();
    const command = await engine.exec(id, ['sleep', '60'], { timeoutMs: 60_000 });
    const collected = collectOutput(command, 10);
    const settled = Promise.allSettled([following, collected]);
    await pause(100);

    await daemon.kill9();
    expect(await ended.promise).toBeInstanceOf(EngineUnavailableError);
    for (const result of await settled) expect(result.status).toBe('rejected');
    await expect(engine.ping()).rejects.toThrow(EngineUnavailableError);
    await expect(engine.createContainer(spec({ name: 'other' }))).rejects.toThrow(EngineUnavailableError);
    await daemon.start();
    expect(await engine.inspect(id)).toMatchObject({ status: 'running', pid: before.pid, restartCount: 0 });
    await expect(engine.createContainer(spec({ name: 'survivor' }))).rejects.toThrow(EngineConflictError);
    await daemon.restart();
    expect(await engine.inspect(id)).toMatchObject({ status: 'running', pid: before.pid });
  });

  // Every file with a cluster of several nodes has engines side by side.
  it.runIf(LONG_TIER)('lets several engines run side by side with ports of their own', async () => {
    const daemons = await Promise.all([startEngine(), startEngine(), startEngine({ namespace: false })]);
    try {
      const answers = daemons.map(async (daemon, index) => {
        const engine = new DockerEngine(daemon.socketPath);
        await buildTestImage(daemon, IMAGE, { files: { '/www/index.html': { content: `engine ${index}` } } });
        await engine.ensureNetwork({ name: 'same', driver: 'bridge', internal: false, labels: {} });
        const id = await engine.createContainer(
          spec({
            name: 'same',
            command: ['httpd', '-f', '-p', '80', '-h', '/www'],
            network: { name: 'same', aliases: [] },
            ports: [{ container: 80, host: 18_181, protocol: 'tcp' }],
          }),
        );
        await engine.start(id);
        for (let round = 0; round < 200; round += 1) {
          const body = await fetch(`http://${daemon.address}:18181/`).then(
            (answer) => answer.text(),
            () => undefined,
          );
          if (body !== undefined) return body;
          await pause(25);
        }
        return undefined;
      });
      expect(await Promise.all(answers)).toEqual(['engine 0', 'engine 1', 'engine 2']);
    } finally {
      await Promise.all(daemons.map((daemon) => daemon.stop()));
    }
  });
});
