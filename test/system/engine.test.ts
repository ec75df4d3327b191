import { readFileSync, readlinkSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ContainerSpec, ContainerState } from '../../src/agent/engine/container.ts';
import { DockerEngine } from '../../src/agent/engine/docker-engine.ts';
import type { EngineEvent, LogLine } from '../../src/agent/engine/engine.ts';
import {
  EngineConflictError,
  EngineNotFoundError,
  ExecTimeoutError,
  UnsafeSpecError,
} from '../../src/agent/engine/errors.ts';
import { collectOutput } from '../../src/agent/engine/exec-session.ts';
import { EngineTransport } from '../../src/agent/engine/transport.ts';
import { buildTestImage, startEngine, startPodman, type TestEngine } from '../support/harness/engine.ts';

const IMAGE = 'berth.test/box:1';
const MARKER = 'marker-7f3a-secret';
/** The bits of the capabilities that are left: chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind, chroot. */
const CAPABILITY_MASK = '00000000000404fb';
/** Everything that a shell, a template or a JSON writer might take apart. */
const AWKWARD = `a b"c'd\`e$(f)\${g};|&\n\t\\*?[h]{i} é☃%25=#`;

const STARTERS = {
  docker: () => startEngine({ ownFilter: true }),
  podman: () => startPodman({ ownFilter: true }),
} as const;

describe.each(['docker', 'podman'] as const)('engine on %s', (kind) => {
  let daemon: TestEngine;
  let engine: DockerEngine;
  let raw: EngineTransport;
  let serial = 0;

  beforeAll(async () => {
    daemon = await STARTERS[kind]();
    engine = new DockerEngine(daemon.socketPath);
    raw = new EngineTransport(daemon.socketPath);
    await buildTestImage(daemon, IMAGE);
  });
  afterAll(() => daemon.stop());

  function spec(changes: Partial<ContainerSpec> = {}): ContainerSpec {
    serial += 1;
    return {
      name: `box-${serial}`,
      image: IMAGE,
      env: [],
      labels: {},
      ownLabels: { 'berth.io/test': String(serial) },
      restart: { name: 'no' },
      mounts: [],
      ports: [],
      ...changes,
    };
  }

  async function run(changes: Partial<ContainerSpec> = {}): Promise<string> {
    const id = await engine.createContainer(spec(changes));
    onTestFinished(() => engine.remove(id, { force: true }).catch(ignoreMissing));
    await engine.start(id);
    return id;
  }

  const shell = (script: string): Partial<ContainerSpec> => ({ command: ['sh', '-c', script] });

  async function output(id: string, ...argv: string[]): Promise<string> {
    const result = await collectOutput(await engine.exec(id, argv, { timeoutMs: 10_000 }), 1 << 20);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    return result.stdout;
  }

  async function said(id: string, text: string): Promise<void> {
    for await (const { line } of engine.logs(id, { follow: true })) if (line.includes(text)) return;
  }

  async function until(id: string, condition: (state: ContainerState) => boolean): Promise<ContainerState> {
    for (const deadline = Date.now() + 20_000; ; await pause(25)) {
      const state = await engine.inspect(id);
      if (condition(state)) return state;
      if (Date.now() > deadline) throw new Error(`condition not met: ${JSON.stringify(state)}`);
    }
  }

  const exited = (id: string): Promise<ContainerState> => until(id, (state) => state.status === 'exited');

  it('tells what it is', async () => {
    await engine.ping();
    const info = await engine.info();
    expect(info).toMatchObject({
      kind,
      apiVersion: '1.41',
      platform: expect.stringMatching(/^linux\/(amd64|arm64)/),
    });
    expect(info.rootDir).toContain(daemon.folder);
    expect(info.cpus).toBeGreaterThan(0);
    expect(info.memoryBytes).toBeGreaterThan(1 << 28);
    expect(info.components['runc']).toMatch(/^\d+\.\d+\.\d+/);
  });

  it('knows its images', async () => {
    await buildTestImage(daemon, 'berth.test/other:2');
    const image = await engine.inspectImage('berth.test/other:2');
    expect(image.id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(image.platform).toBe((await engine.info()).platform);
    expect(await engine.inspectImage(image.id)).toMatchObject({ id: image.id });
    await engine.removeImage('berth.test/other:2');
    expect(await engine.imageExists('berth.test/other:2')).toBe(false);
    expect(await engine.imageExists(IMAGE)).toBe(true);
    await expect(engine.inspectImage('berth.test/other:2')).rejects.toThrow(EngineNotFoundError);
    await expect(engine.inspectImage('../containers/json?x=:1')).rejects.toThrow(UnsafeSpecError);
  });

  it('makes a network once, and takes no other one for it', async () => {
    const wanted = {
      name: 'net-a',
      driver: 'bridge',
      internal: true,
      labels: { 'berth.io/tenant': 'a' },
    } as const;
    const [first, second] = await Promise.all([engine.ensureNetwork(wanted), engine.ensureNetwork(wanted)]);
    expect(second).toEqual(first);
    expect(first).toMatchObject(wanted);
    await expect(engine.ensureNetwork({ ...wanted, labels: { 'berth.io/tenant': 'b' } })).rejects.toThrow(
      EngineConflictError,
    );
    await expect(engine.ensureNetwork({ ...wanted, internal: false })).rejects.toThrow(/internal/);
    expect(await engine.listNetworks({ 'berth.io/tenant': 'a' })).toEqual([first]);
    expect(await engine.listNetworks({ 'berth.io/tenant': 'b' })).toEqual([]);

    const id = await run({ network: { name: 'net-a', aliases: ['web'] } });
    await expect(engine.removeNetwork(first.id)).rejects.toThrow(EngineConflictError);
    const [attachment] = (await engine.inspect(id)).networks;
    expect(attachment).toMatchObject({ name: 'net-a', ip: expect.stringMatching(/^10\./) });
    expect(attachment?.aliases).toContain('web');
    await engine.remove(id, { force: true });
    await engine.removeNetwork(first.id);
    await expect(engine.removeNetwork(first.id)).rejects.toThrow(EngineNotFoundError);
  });

  it('runs a container through its life', async () => {
    const wanted = spec({
      ...shell('trap "exit 3" TERM; echo trapped; while true; do sleep 0.05; done'),
      labels: { team: 'shop', 'berth.io/test': 'forged' },
      ownLabels: { 'berth.io/test': 'own' },
    });
    const id = await engine.createContainer(wanted);
    onTestFinished(() => engine.remove(id, { force: true }).catch(ignoreMissing));
    const { id: imageId } = await engine.inspectImage(IMAGE);
    expect(await engine.inspect(wanted.name)).toEqual({
      id,
      name: wanted.name,
      image: IMAGE,
      imageId,
      labels: expect.objectContaining({ team: 'shop', 'berth.io/test': 'own' }),
      createdAt: expect.stringMatching(/^20/),
      status: 'created',
      oomKilled: false,
      restartCount: 0,
      restartsItself: false,
      // What an engine adds where nothing is said.
      stopTimeoutS: 10,
      binds: [],
      networks: expect.any(Array),
      ports: [],
    });
    await engine.start(id);
    await engine.start(id);
    // From here on it is the program that was asked for, and no longer the engine's own on the way to it.
    await said(id, 'trapped');
    const running = await engine.inspect(id);
    expect(running).toMatchObject({
      status: 'running',
      pid: expect.any(Number),
      startedAt: expect.stringMatching(/^20/),
    });
    expect(running).not.toHaveProperty('exitCode');
    expect(await commandLine(running)).toContain('sh');
    expect(await engine.list({ all: false, labels: { 'berth.io/test': 'own' } })).toMatchObject([
      { id, name: wanted.name, image: IMAGE, imageId, status: 'running', labels: { team: 'shop' } },
    ]);
    expect(await engine.list({ all: true, labels: { 'berth.io/test': 'own', team: 'other' } })).toEqual([]);

    await expect(engine.remove(id)).rejects.toThrow(EngineConflictError);
    await engine.stop(id, 5);
    await engine.stop(id, 5);
    expect(await engine.inspect(id)).toMatchObject({
      status: 'exited',
      exitCode: 3,
      finishedAt: expect.stringMatching(/^20/),
    });
    expect(await engine.list({ all: false, labels: { 'berth.io/test': 'own' } })).toEqual([]);
    expect(await engine.list({ all: true, labels: { 'berth.io/test': 'own' } })).toHaveLength(1);
    await expect(engine.kill(id)).rejects.toThrow(EngineConflictError);
    await engine.remove(id);
    await expect(engine.inspect(id)).rejects.toThrow(EngineNotFoundError);
    await expect(engine.remove(id)).rejects.toThrow(EngineNotFoundError);
  });

  it('stops after the time given, by force', async () => {
    const id = await run(shell('trap "" TERM; echo trapped; while true; do sleep 0.05; done'));
    await said(id, 'trapped');
    await engine.stop(id, 1);
    expect(await engine.inspect(id)).toMatchObject({ status: 'exited', exitCode: 137 });
    const other = await run();
    await engine.kill(other);
    expect(await exited(other)).toMatchObject({ exitCode: 137 });
  });

  it('says whose a taken name is, and never confuses names with ids', async () => {
    const wanted = spec();
    const id = await engine.createContainer(wanted);
    await expect(engine.createContainer(wanted)).rejects.toThrow(EngineConflictError);
    await expect(engine.createContainer(wanted)).rejects.toThrow(id);
    await expect(engine.inspect(id.slice(0, 12))).rejects.toThrow(EngineNotFoundError);
    await expect(engine.remove(id.slice(0, 12))).rejects.toThrow(UnsafeSpecError);
    await expect(engine.remove(wanted.name)).rejects.toThrow(UnsafeSpecError);
    await engine.remove(id);
    await expect(engine.createContainer(spec({ image: 'berth.test/none:1' }))).rejects.toThrow(
      EngineNotFoundError,
    );
  });

  it('hands argv and environment over byte by byte, and never returns the environment', async () => {
    const seen: EngineEvent[] = [];
    const events = engine.events({}, { onEvent: (event) => seen.push(event), onEnd: () => {} });
    await events.ready;
    const id = await run({
      command: ['sh', '-c', 'exec sleep 600', AWKWARD],
      env: [
        ['AWKWARD', AWKWARD],
        ['PASSWORD', MARKER],
      ],
      healthCheck: {
        test: ['CMD-SHELL', 'echo $PASSWORD; exit 1'],
        intervalMs: 200,
        timeoutMs: 5000,
        retries: 1,
      },
    });
    // By way of the kernel: of the container's first process.
    const state = await engine.inspect(id);
    expect(await commandLine(state)).toContain(AWKWARD);
    const environment = readFileSync(`/proc/${state.pid}/environ`, 'utf8').split('\0');
    expect(environment).toContain(`AWKWARD=${AWKWARD}`);
    expect(environment).toContain(`PASSWORD=${MARKER}`);

    for (let round = 0; (await engine.healthcheckNow(id))?.lastExitCode === undefined; round += 1) {
      expect(round).toBeLessThan(100);
      await pause(50);
    }
    const answers = [
      await engine.inspect(id),
      await engine.list({ all: true }),
      await engine.healthcheckNow(id),
      await engine.info(),
      seen,
    ];
    expect(JSON.stringify(answers)).not.toContain(MARKER);
    expect(seen.map((event) => event.kind)).toContain('start');
    // The control: the engine itself does tell both.
    const told = JSON.stringify(
      (await raw.call({ method: 'GET', path: `/v1.41/containers/${id}/json` })).body,
    );
    expect(told.split(MARKER).length - 1).toBeGreaterThanOrEqual(2);
    events.close();
  });

  it('takes powers away from every container', async () => {
    const id = await run({ cpu: 0.5, memoryBytes: 64 << 20, pidsLimit: 100 });
    const status = await output(id, 'cat', '/proc/self/status');
    expect(status).toMatch(new RegExp(`CapBnd:\\s+${CAPABILITY_MASK}`));
    expect(status).toMatch(new RegExp(`CapEff:\\s+${CAPABILITY_MASK}`));
    expect(status).toMatch(/NoNewPrivs:\s+1/);
    expect(status).toMatch(/Seccomp:\s+2/);
    expect((await output(id, 'cat', '/proc/1/comm')).trim()).toMatch(/init/);
    const { pid } = await engine.inspect(id);
    // Podman 4.3 leaves containers in the host's cgroup namespace where cgroups are of version 1, whatever it is asked.
    for (const namespace of ['net', 'pid', 'ipc', 'uts', 'mnt', ...(kind === 'docker' ? ['cgroup'] : [])]) {
      expect(await output(id, 'readlink', `/proc/self/ns/${namespace}`)).not.toBe(
        `${readlinkSync(`/proc/self/ns/${namespace}`)}\n`,
      );
    }
    const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    expect(limit(groups, 'memory', 'memory.limit_in_bytes')).toBe(String(64 << 20));
    expect(limit(groups, 'pids', 'pids.max')).toBe('100');
    expect(limit(groups, 'cpu', 'cpu.cfs_quota_us')).toBe('50000');
    expect((await output(id, 'ls', '/sys/class/net')).split('\n').filter(Boolean)).toEqual(['lo']);
  });

  const WRITES = `for f in /x /etc/x /tmp/x /run/x; do if touch $f 2>/dev/null; then echo "$f written"; else echo "$f refused"; fi; done`;

  it('takes away what a workload gives up, and leaves it /tmp and /run', async () => {
    const id = await run({ user: '1000:1000', readOnlyRoot: true, dropCapabilities: ['ALL'] });
    const status = await output(id, 'cat', '/proc/self/status');
    expect(status).toMatch(/Uid:\s+1000\s+1000\s+1000\s+1000/);
    expect(status).toMatch(/Gid:\s+1000\s+1000\s+1000\s+1000/);
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'])
      expect(status).toMatch(new RegExp(`Cap${set}:\\s+0{16}`));
    expect((await output(id, 'sh', '-c', WRITES)).trim().split('\n')).toEqual([
      '/x refused',
      '/etc/x refused',
      '/tmp/x written',
      '/run/x written',
    ]);
    // As the process that the engine itself started, not only what is run beside it.
    const seen = await output(id, 'sh', '-c', 'cat /proc/[0-9]*/status | grep -E "^(Uid|CapEff)" | sort -u');
    expect(seen).toMatch(/^CapEff:\s+0{16}\nUid:\s+1000\s+1000\s+1000\s+1000\n$/);
  });

  it('takes away single capabilities, and all of them from a user other than root', async () => {
    const id = await run({ dropCapabilities: ['SETUID', 'cap_setgid'] });
    const mask = (BigInt(`0x${CAPABILITY_MASK}`) & ~0b1100_0000n).toString(16).padStart(16, '0');
    expect(await output(id, 'cat', '/proc/self/status')).toMatch(new RegExp(`CapEff:\\s+${mask}`));
    const other = await run({ user: 'nobody' });
    const status = await output(other, 'cat', '/proc/self/status');
    expect(status).toMatch(/Uid:\s+65534/);
    expect(status).toMatch(/CapEff:\s+0{16}/);
    // Any port is open to it, on either engine.
    await output(other, 'sh', '-c', 'httpd -p 80 && wget -q -O /dev/null http://127.0.0.1/etc/passwd');
    await expect(run({ user: 'stranger' })).rejects.toThrow(/stranger/);
  });

  it('gives no capability to the user of an image', async () => {
    await buildTestImage(daemon, 'berth.test/nobody:1', { changes: ['USER nobody'] });
    const id = await run({ image: 'berth.test/nobody:1' });
    const status = await output(id, 'cat', '/proc/self/status');
    expect(status).toMatch(/Uid:\s+65534/);
    expect(status).toMatch(/CapEff:\s+0{16}/);
    const root = await run({ image: 'berth.test/nobody:1', user: '0' });
    expect(await output(root, 'cat', '/proc/self/status')).toMatch(
      new RegExp(`CapEff:\\s+${CAPABILITY_MASK}`),
    );
  });

  it('mounts what is asked for, and removes anonymous volumes only', async () => {
    const source = join(daemon.folder, 'bound');
    await mkdir(source);
    await writeFile(join(source, 'file'), 'from the host');
    await buildTestImage(daemon, 'berth.test/volume:1', { changes: ['VOLUME /anonymous'] });
    const id = await run({
      image: 'berth.test/volume:1',
      mounts: [
        { kind: 'bind', source, target: '/bound', readOnly: true },
        { kind: 'volume', source: 'named', target: '/named', readOnly: false },
        { kind: 'tmpfs', target: '/scratch', sizeBytes: 1 << 20 },
      ],
    });
    expect(await output(id, 'cat', '/bound/file')).toBe('from the host');
    await output(id, 'touch', '/named/x', '/scratch/x', '/anonymous/x');
    const refused = await collectOutput(
      await engine.exec(id, ['touch', '/bound/x'], { timeoutMs: 5000 }),
      1000,
    );
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Read-only') });
    expect(await output(id, 'df', '-k', '/scratch')).toMatch(/\s1024\s/);
    const volumes = async (): Promise<readonly string[]> => {
      const answer = await raw.call({ method: 'GET', path: '/v1.41/volumes' });
      return (answer.body as { Volumes: { Name: string }[] }).Volumes.map(({ Name }) => Name);
    };
    expect(await volumes()).toHaveLength(2);
    await engine.remove(id, { force: true });
    expect(await volumes()).toEqual(['named']);
  });

  it('publishes ports', async () => {
    await engine.ensureNetwork({ name: 'net-ports', driver: 'bridge', internal: false, labels: {} });
    const id = await run({
      ...shell('mkdir /tmp/w && echo served > /tmp/w/index.html && exec httpd -f -p 8080 -h /tmp/w'),
      network: { name: 'net-ports', aliases: [] },
      ports: [{ container: 8080, host: 18_080, protocol: 'tcp' }],
    });
    expect((await engine.inspect(id)).ports).toContainEqual(
      expect.objectContaining({ container: 8080, host: 18_080, protocol: 'tcp' }),
    );
    let body = '';
    for (const deadline = Date.now() + 10_000; body === '' && Date.now() < deadline; await pause(25)) {
      body = await fetch(`http://${daemon.address}:18080/`).then(
        (answer) => answer.text(),
        () => '',
      );
    }
    expect(body).toBe('served\n');
  });

  it('streams events in one set of words', async () => {
    const seen: EngineEvent[] = [];
    const ended = Promise.withResolvers<Error | undefined>();
    const label = { 'berth.io/events': 'yes' };
    const events = engine.events(
      { labels: label },
      { onEvent: (event) => seen.push(event), onEnd: ended.resolve },
    );
    await events.ready;
    await run();
    const wanted = spec({ ...shell('exit 5'), ownLabels: label });
    const startedMs = Date.now();
    const id = await engine.createContainer(wanted);
    await engine.start(id);
    await exited(id);
    await engine.remove(id);
    for (let round = 0; !seen.some((event) => event.kind === 'destroy'); round += 1) {
      expect(round).toBeLessThan(200);
      await pause(25);
    }
    expect(seen.map((event) => event.kind)).toEqual(['create', 'start', 'die', 'destroy']);
    for (const event of seen)
      expect(event).toMatchObject({ containerId: id, name: wanted.name, labels: label });
    expect(seen[2]).toMatchObject({ exitCode: 5 });
    expect(Math.abs((seen[0]?.atMs ?? 0) - startedMs)).toBeLessThan(5000);
    events.close();
    expect(await ended.promise).toBeUndefined();

    const again: EngineEvent[] = [];
    const replay = engine.events(
      { labels: label, sinceMs: startedMs - 1000 },
      { onEvent: (event) => again.push(event), onEnd: () => {} },
    );
    for (let round = 0; again.length < 4; round += 1) {
      expect(round).toBeLessThan(200);
      await pause(25);
    }
    replay.close();
    expect(again.map((event) => event.kind)).toEqual(['create', 'start', 'die', 'destroy']);
  });

  it('reads logs of both streams, long lines, and the last ones', async () => {
    const long = 100_000;
    const id = await run(
      shell(`echo first; echo oops >&2; head -c ${long} /dev/zero | tr '\\0' 'x'; echo; echo; printf last`),
    );
    await exited(id);
    const lines = await all(engine.logs(id, {}));
    const of = (stream: LogLine['stream']): readonly string[] =>
      lines.filter((line) => line.stream === stream).map((line) => line.line);
    expect(of('stderr')).toEqual(['oops']);
    expect(of('stdout').map((line) => line.length)).toEqual([5, 65_536, long - 65_536, 0, 4]);
    expect(of('stdout').join('')).toBe(`first${'x'.repeat(long)}last`);
    expect(lines.filter((line) => line.partial)).toHaveLength(1);
    expect(lines.every((line) => line.timestamp?.startsWith('20'))).toBe(true);
    const tail = await all(engine.logs(id, { tail: 1 }));
    expect(tail.map((line) => line.line)).toEqual(['last']);
    expect(await all(engine.logs(id, { sinceMs: Date.now() + 60_000 }))).toEqual([]);
  });

  it('follows a log to the end of its container, or until it is left', async () => {
    const id = await run(shell('for i in 1 2 3; do echo $i; sleep 0.2; done'));
    const lines: string[] = [];
    for await (const { line } of engine.logs(id, { follow: true })) lines.push(line);
    expect(lines).toEqual(['1', '2', '3']);

    const endless = await run(shell('while true; do echo tick; sleep 0.05; done'));
    let seen = 0;
    for await (const { line } of engine.logs(endless, { follow: true })) {
      expect(line).toBe('tick');
      seen += 1;
      if (seen === 3) break;
    }
    const stop = new AbortController();
    const reading = all(engine.logs(endless, { follow: true, signal: stop.signal }));
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });

  it('runs commands with input, output and exit code', async () => {
    const id = await run();
    const result = await collectOutput(
      await engine.exec(id, ['sh', '-c', 'cat; echo "$0" >&2; exit 42', AWKWARD], {
        timeoutMs: 10_000,
        stdin: [Buffer.from('in\0put')],
      }),
      1000,
    );
    expect(result).toEqual({ exitCode: 42, stdout: 'in\0put', stderr: `${AWKWARD}\n`, truncated: false });

    const size = 5_000_000;
    let bytes = 0;
    const big = await engine.exec(id, ['head', '-c', String(size), '/dev/zero'], { timeoutMs: 20_000 });
    for await (const chunk of big.output) bytes += chunk.bytes.length;
    expect([bytes, await big.exitCode()]).toEqual([size, 0]);

    const cut = await collectOutput(await engine.exec(id, ['seq', '1', '1000'], { timeoutMs: 10_000 }), 10);
    expect(cut).toEqual({ exitCode: 0, stdout: '1\n2\n3\n4\n5\n', stderr: '', truncated: true });

    const missing = await collectOutput(
      await engine.exec(id, ['no-such-program'], { timeoutMs: 10_000 }),
      1000,
    );
    expect([126, 127]).toContain(missing.exitCode);
    const slow = await engine.exec(id, ['sleep', '60'], { timeoutMs: 300 });
    await expect(collectOutput(slow, 1000)).rejects.toThrow(ExecTimeoutError);
    await engine.kill(id);
    await exited(id);
    await expect(engine.exec(id, ['true'], { timeoutMs: 1000 })).rejects.toThrow(EngineConflictError);
  });

  it('measures', async () => {
    await engine.ensureNetwork({ name: 'net-stats', driver: 'bridge', internal: false, labels: {} });
    const id = await run({
      ...shell('while true; do :; done'),
      network: { name: 'net-stats', aliases: [] },
      memoryBytes: 64 << 20,
      cpu: 1,
    });
    const first = await engine.statsOnce(id);
    const samples = [];
    for await (const sample of engine.stats(id)) {
      samples.push(sample);
      if (samples.length === 2) break;
    }
    const last = samples.at(-1) ?? first;
    const share = (last.cpuNs - first.cpuNs) / 1e6 / (last.atMs - first.atMs);
    expect(share).toBeGreaterThan(0.05);
    expect(share).toBeLessThan(1.5);
    expect(last.memoryLimitBytes).toBe(64 << 20);
    expect(last.memoryBytes).toBeGreaterThan(10_000);
    expect(last.memoryBytes).toBeLessThan(64 << 20);
    // On a network there are counters, whether there was traffic or not.
    expect(last.network?.sentBytes).toBeGreaterThanOrEqual(0);
    expect(last.network?.receivedBytes).toBeGreaterThanOrEqual(first.network?.receivedBytes ?? 0);
    await engine.kill(id);
    await exited(id);
    await expect(engine.statsOnce(id)).rejects.toThrow(EngineConflictError);
  });

  it('says what a container has written outside of its mounts, as it is on disk', async () => {
    const id = await run({
      ...shell(
        'dd if=/dev/zero of=/written bs=1M count=8; dd if=/dev/zero of=/data/apart bs=1M count=8; echo done; sleep 99',
      ),
      mounts: [{ kind: 'tmpfs', target: '/data', sizeBytes: 16 << 20 }],
    });
    await said(id, 'done');
    const bytes = await engine.writtenBytes(id);
    expect(bytes).toBeGreaterThanOrEqual(8 * 2 ** 20);
    expect(bytes).toBeLessThan(9 * 2 ** 20);
    // A file of the image that is removed takes nothing away.
    await output(id, 'rm', '/written');
    expect(await engine.writtenBytes(id)).toBeLessThan(2 ** 20);
    await engine.stop(id, 0);
    expect(await engine.writtenBytes(id)).toBeLessThan(2 ** 20);
  });

  it('checks health', async () => {
    const check = { intervalMs: 200, timeoutMs: 5000, retries: 2 };
    const good = await run({ healthCheck: { ...check, test: ['CMD', 'test', '-e', '/tmp'] } });
    const bad = await run({ healthCheck: { ...check, test: ['CMD-SHELL', 'exit 1'] } });
    const missing = await run({ healthCheck: { ...check, test: ['CMD-SHELL', 'curl localhost'] } });
    const none = await run();
    const reached = async (id: string, status: string): Promise<unknown> => {
      for (let round = 0; round < 100; round += 1) {
        const health = await engine.healthcheckNow(id);
        if (health?.status === status) return (await engine.inspect(id)).health;
        await pause(50);
      }
      throw new Error(`never ${status}`);
    };
    expect(await reached(good, 'healthy')).toEqual({
      status: 'healthy',
      failingStreak: 0,
      lastExitCode: 0,
      commandNotFound: false,
    });
    expect(await reached(bad, 'unhealthy')).toMatchObject({ lastExitCode: 1, commandNotFound: false });
    expect(await reached(missing, 'unhealthy')).toMatchObject({ commandNotFound: true });
    expect(await engine.healthcheckNow(none)).toBeUndefined();
  });

  it('tells of the kernel killing for memory', async () => {
    const id = await run({
      command: ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=64M', 'count=1'],
      memoryBytes: 16 << 20,
    });
    const state = await exited(id);
    expect(state).toMatchObject({ exitCode: 137 });
    expect(state.oomKilled || kind === 'podman').toBe(true);
  });
});

/** A container counts as started a moment before the runtime has become its command. */
async function commandLine(state: ContainerState): Promise<readonly string[]> {
  const read = (): readonly string[] => readFileSync(`/proc/${state.pid}/cmdline`, 'utf8').split('\0');
  await vi.waitFor(() => expect(read().join(' ')).not.toMatch(/runc init/), { timeout: 5000, interval: 10 });
  return read();
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

function limit(groups: string, controller: string, file: string): string {
  const path = groups
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, controllers]) => controllers === controller)?.[2];
  return readFileSync(`/sys/fs/cgroup/${controller}${path}/${file}`, 'utf8').trim();
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof EngineNotFoundError)) throw error;
}
