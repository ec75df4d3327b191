import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLook } from '../../src/cli/machine/look.ts';
import { LOOK } from '../../src/cli/machine/orders.ts';
import { eventually } from '../support/eventually.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Installation, installPackage, PLAIN_PATH } from '../support/harness/installation.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { withoutLibrary } from '../support/harness/without-library.ts';

const ROOT = join(import.meta.dirname, '../..');
const UNITS = join(ROOT, 'packaging/systemd');
/** What the image says that it was made from. */
const REVISION = 'a'.repeat(40);

const folder = mkdtempSync(join(tmpdir(), 'berth-pack-'));
// One network of a machine's own: other tests have it here.
const environment = { PATH: PLAIN_PATH, HOME: folder, NO_COLOR: '1', BERTH_AGENT_MESH: 'off' };
let installed: Installation;
let engine: TestEngine;

interface Program {
  readonly child: ChildProcess;
  readonly said: () => string;
}

function start(args: readonly string[], extra: Readonly<Record<string, string>> = {}, input = ''): Program {
  const child = spawn(installed.berth, args, { cwd: folder, env: { ...environment, ...extra } });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  child.stdin.end(input);
  return { child, said: () => text };
}

function berth(...args: readonly string[]): string {
  return execFileSync(installed.berth, args, { cwd: folder, env: environment, encoding: 'utf8' });
}

function bundledNode(): string {
  const modules = join(installed.prefix, 'lib/node_modules/berth/node_modules');
  const runtime = readdirSync(modules).find((name) => name.startsWith('node-linux-')) ?? '';
  return join(modules, runtime, 'bin/node');
}

async function end({ child }: Program, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill(signal);
    await once(child, 'exit');
  }
  return child.exitCode;
}

async function readiness(url: string): Promise<number> {
  return fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2000) }).then(
    ({ status }) => status,
    () => 0,
  );
}

beforeAll(async () => {
  ensurePackages(['docker.io', 'docker-registry', 'busybox-static']);
  installed = installPackage(folder);
  // In the namespace of the tests: what it publishes and what listens on loopback must reach each other.
  engine = await startEngine({ namespace: false, ownFilter: true });
});

afterAll(async () => {
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('the package', () => {
  it('carries programs, units and pinned dependencies, and no sources or tests', () => {
    const files = execFileSync('tar', ['-tzf', installed.tarball], { encoding: 'utf8' }).trim().split('\n');
    process.stdout.write(`${installed.summary.replace(`${folder}/`, '')}\n`);
    expect(files).toContain('package/bin/berth');
    expect(files).toContain('package/packaging/systemd/berth-agent.service');
    expect(files).toContain('package/packaging/monitoring/berth-alerts.yml');
    for (const program of ['server/main.js', 'agent/main.js', 'cli/main.cjs'])
      expect(files).toContain(`package/dist/${program}`);
    expect(
      files.filter((file) =>
        /(?<!\.d)\.ts$|\.test\.|^package\/(?:src|test|scripts|bench|node_modules)\//.test(file),
      ),
    ).toEqual([]);
    const lock = JSON.parse(
      execFileSync('tar', ['-xzOf', installed.tarball, 'package/npm-shrinkwrap.json'], { encoding: 'utf8' }),
    ) as { packages: Record<string, { integrity?: string; dev?: boolean }> };
    const pinned = Object.entries(lock.packages).filter(([path]) => path !== '');
    expect(pinned.length).toBeGreaterThan(20);
    for (const [path, entry] of pinned)
      expect({ path, ...entry }).toMatchObject({ integrity: expect.stringMatching(/^sha512-/) });
    expect(pinned.filter(([, { dev }]) => dev === true)).toEqual([]);
  });

  it.each([
    [
      'dashboard',
      ['react', 'react-dom', 'uplot', '@xterm/xterm', 'tailwindcss', '@fontsource-variable/inter'],
      'SIL OPEN FONT LICENSE Version 1.1',
    ],
    ['cli', ['commander', 'picocolors'], 'Permission is hereby granted'],
    ['server', ['fastify', 'find-my-way', 'pino', 'ws', '@opentelemetry/api'], 'Apache License'],
  ])('carries the licences of what its %s is made of', (part, names, licence) => {
    const path = `package/dist/${part}/THIRD-PARTY-NOTICES.md`;
    const text = execFileSync('tar', ['-xzOf', installed.tarball, path], { encoding: 'utf8' });
    for (const name of names) expect(text).toMatch(new RegExp(`^## ${name} \\d\\S* \\(\\S+\\)$`, 'm'));
    expect(text).toContain(licence);
  });

  it('runs on the Node it brings, whatever the machine has', () => {
    expect(berth('--version')).toMatch(/^berth \d+\.\d+\.\d+\n$/);
    // A machine whose own Node is too old for us, and one without any.
    const old = join(folder, 'old');
    mkdirSync(old);
    writeFileSync(join(old, 'node'), '#!/bin/sh\necho 20\n', { mode: 0o755 });
    for (const program of ['sh', 'uname', 'dirname', 'readlink'])
      writeFileSync(
        join(old, program),
        `#!/bin/sh\nexec ${program === 'sh' ? '/bin/sh' : `/usr/bin/${program}`} "$@"\n`,
        {
          mode: 0o755,
        },
      );
    const run = (berthFile: string): string =>
      execFileSync(berthFile, ['--version'], {
        env: { HOME: folder, PATH: old },
        encoding: 'utf8',
        stdio: 'pipe',
      });
    expect(run(installed.berth)).toMatch(/^berth /);
    rmSync(join(old, 'node'));
    expect(run(installed.berth)).toMatch(/^berth /);
    // An installation that came without its Node says what to do.
    const bare = join(folder, 'bare/bin');
    mkdirSync(bare, { recursive: true });
    copyFileSync(join(ROOT, 'bin/berth'), join(bare, 'berth'));
    chmodSync(join(bare, 'berth'), 0o755);
    expect(() => run(join(bare, 'berth'))).toThrow(/no Node 24 or newer found/);
    // One that does not start on this machine, as on musl, is passed over for the Node of the machine.
    for (const arch of ['x64', 'arm64']) {
      const bundled = join(folder, `bare/node_modules/node-linux-${arch}/bin`);
      mkdirSync(bundled, { recursive: true });
      writeFileSync(join(bundled, 'node'), '#!/bin/sh\nexit 127\n', { mode: 0o755 });
    }
    symlinkSync(process.execPath, join(old, 'node'));
    expect(() => run(join(bare, 'berth'))).toThrow(/has neither sources nor a build/);
  });

  it.each([
    [
      'libatomic.so.1',
      'needs libatomic.so.1, which is not on this machine. Install it:\n  apt-get install libatomic1 ',
    ],
    ['libstdc++.so.6', 'does not start on this machine: loading shared libraries: '],
  ])('says that the Node it brings lacks %s', (library, words) => {
    const home = join(folder, `without-${library}`);
    mkdirSync(home);
    writeFileSync(join(home, 'node'), '#!/bin/sh\necho 20\n', { mode: 0o755 });
    const { status, stderr } = withoutLibrary(
      library,
      { env: { PATH: `${home}:${PLAIN_PATH}`, HOME: home } },
      installed.berth,
      'version',
    );
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(words) });
  });

  it('needs no library but those that the Debian package, a look at a machine and the guide name', () => {
    const printed = execFileSync('ldd', [bundledNode()], { encoding: 'utf8' });
    const names = [...printed.matchAll(/^\s+(\S+) => /gm)].map(([, name]) => `*/${name}`);
    const owners = execFileSync('dpkg', ['--search', ...names], { encoding: 'utf8' });
    const packages = new Set([...owners.matchAll(/^([^:]+):/gm)].map(([, name]) => name));
    // libstdc++6 depends on libgcc-s1.
    expect([...packages].toSorted()).toEqual(['libatomic1', 'libc6', 'libgcc-s1', 'libstdc++6']);
    const control = readFileSync(join(ROOT, 'packaging/debian/control'), 'utf8');
    expect(control).toMatch(/^Depends: libc6 \(\S+ \S+\), libstdc\+\+6 \(\S+ \S+\), libatomic1, /m);
  });

  it('looks whether a machine that is to become a node has the library', () => {
    const missing = (library: string): readonly string[] =>
      readLook(withoutLibrary(library, { env: environment }, 'sh', '-c', LOOK.script).stdout, Date.now())
        .missing;
    expect([missing('libatomic.so.1'), missing('libnothing')]).toEqual([['libatomic1'], []]);
  });

  it('starts a control plane and an agent', async () => {
    const server = start(['server', '--data-dir', join(folder, 'server'), '--listen', '127.0.0.1:0']);
    let agent: Program | undefined;
    try {
      const url = await eventually(
        'the control plane listens',
        () => /"url":"(http:[^"]+)"/.exec(server.said())?.[1] ?? '',
        (found) => found !== '',
      );
      expect(await readiness(url)).toBe(200);
      const dashboard = await fetch(`${url}/`);
      expect(dashboard.headers.get('content-type')).toContain('text/html');
      expect(await dashboard.text()).toContain('<script type="module"');
      const token = readFileSync(join(folder, 'server/admin-token'), 'utf8').trim();
      const context = { BERTH_CLI_SERVER: url, BERTH_CLI_TOKEN: token };
      const line = execFileSync(installed.berth, ['node', 'token', '--name', 'packed'], {
        env: { ...environment, ...context },
        encoding: 'utf8',
        stdio: 'pipe',
      });
      const join_ = /berth_join_\S+/.exec(line)?.[0] ?? '';
      const flags = ['--server', url, '--name', 'packed', '--data-dir', join(folder, 'agent')];
      agent = start(['agent', ...flags, '--engine', engine.socketPath, '--join-file', '-'], {}, join_);
      const said = agent.said;
      await eventually('the node is ready', said, (text) => text.includes('node packed ready'));
      expect(await end(agent)).toBe(0);
    } finally {
      if (agent !== undefined) await end(agent);
      expect(await end(server)).toBe(0);
    }
  });

  it('goes from nothing to a page that answers, and leaves everything of others on the engine', async () => {
    const data = join(folder, 'up');
    await buildTestImage(engine, 'berth.test/other:1');
    docker('create', '--name', 'somebody-elses', 'berth.test/other:1');
    const names = () => docker('ps', '--all', '--format', '{{.Names}}').split('\n');
    const args = ['up', '--quickstart', '--engine', engine.socketPath, '--data-dir', data, '--port', '7700'];
    const up = start(args, { PATH: `${join(installed.prefix, 'bin')}:${PLAIN_PATH}` });
    try {
      const text = await eventually(
        'the quickstart is ready',
        up.said,
        (said) => said.includes('Ctrl-C stops everything') || up.child.exitCode !== null,
        60_000,
      );
      expect(text).toContain(`at ${engine.socketPath}, which runs already`);
      const url = /Sample +(http:\S+)/.exec(text)?.[1] ?? `no address in:\n${text}`;
      expect(await (await fetch(url)).text()).toContain('It works');
      // Lines to paste name the command as it is found on the path.
      expect(text).toMatch(/^ {2}berth get deployments$/m);
      expect(berth('get', 'deployments')).toMatch(/hello +Running +1\/1/);
      expect(names()).toEqual(expect.arrayContaining(['hello', 'somebody-elses']));
    } finally {
      expect(await end(up, 'SIGINT')).toBe(0);
      expect(names()).toEqual(['somebody-elses']);
      berth('up', '--clean', '--data-dir', data);
    }
  });
});

describe('the units of systemd', () => {
  it.each(['berth-server.service', 'berth-agent.service'])('%s is understood whole', (name) => {
    // The program is where systemd looks for it only after an installation.
    const text = readFileSync(join(UNITS, name), 'utf8').replace(
      'ExecStart=berth',
      `ExecStart=${installed.berth}`,
    );
    const path = join(folder, name);
    writeFileSync(path, text);
    const program = '/usr/bin/systemd-analyze';
    if (existsSync(program)) execFileSync(program, ['verify', path], { stdio: 'pipe' });
    else process.stdout.write(`${name}: no systemd-analyze on this machine, lines are parsed only\n`);
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(
      lines.filter((line) => !/^(?:\[(?:Unit|Service|Install)\]|[A-Z][A-Za-z]+=.*)$/.test(line)),
    ).toEqual([]);
    const flags = [
      ...(lines.find((line) => line.startsWith('ExecStart=')) ?? '').matchAll(/ --[a-z-]+/g),
    ].map(([flag]) => flag.trim());
    const help = berth(name.includes('agent') ? 'agent' : 'server', '--help');
    for (const flag of flags) expect(help).toContain(flag);
  });

  it('leave the agent what volumes need: the mounts of the machine, modes as they are, a watchdog that stays', () => {
    const text = readFileSync(join(UNITS, 'berth-agent.service'), 'utf8');
    expect(text).not.toMatch(
      /^(?:Protect|Private|ReadOnly|ReadWrite|Inaccessible|BindPaths|TemporaryFileSystem|Dynamic|RootDir|RestrictSUIDSGID|UMask)/m,
    );
    expect(text).toMatch(/^KillMode=process$/m);
  });
});

/** busybox and the libraries of the bundled Node, in place of debian:12-slim, which is not at hand without the internet. */
async function buildBase(reference: string): Promise<void> {
  const printed = execFileSync('ldd', [bundledNode()], { encoding: 'utf8' });
  const libraries = [...printed.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path ?? '');
  await buildTestImage(engine, reference, {
    files: Object.fromEntries(libraries.map((path) => [path, { content: readFileSync(path), mode: 0o755 }])),
  });
}

function docker(...args: readonly string[]): string {
  return execFileSync('/usr/bin/docker', ['--host', `unix://${engine.socketPath}`, ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
    env: { ...environment, DOCKER_BUILDKIT: '0' },
  }).trim();
}

describe.runIf(LONG_TIER)('the image of the control plane', () => {
  const run = async (): Promise<{ readonly id: string; readonly url: string }> => {
    const id = docker(
      'run',
      '--detach',
      // The image's is every 30 s.
      '--health-interval',
      '1s',
      '--volume',
      'berth-data:/var/lib/berth',
      '--publish',
      '127.0.0.1::7600',
      'berth.test/berth:1',
    );
    const url = `http://${docker('port', id, '7600').split('\n')[0] ?? ''}`;
    await eventually(
      'the control plane is ready',
      () => readiness(url),
      (status) => status === 200,
    ).catch((error: unknown) => {
      throw new Error(docker('logs', id), { cause: error });
    });
    return { id, url };
  };

  it('is built, runs without root, stops in order, and keeps its data when it is replaced', async () => {
    await buildBase('berth.test/base:1');
    const context = join(folder, 'context');
    mkdirSync(join(context, 'opt'), { recursive: true });
    mkdirSync(join(context, 'data/keys'), { recursive: true });
    execFileSync('cp', ['-al', installed.prefix, join(context, 'opt/berth')]);
    const file = join(ROOT, 'packaging/Containerfile');
    const { version, description, license } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    ) as Record<string, string>;
    docker(
      'build',
      '--file',
      file,
      '--build-arg',
      'BASE=berth.test/base:1',
      '--build-arg',
      `VERSION=${version}`,
      '--build-arg',
      `REVISION=${REVISION}`,
      '--tag',
      'berth.test/berth:1',
      context,
    );
    expect(
      JSON.parse(docker('inspect', '--format', '{{json .Config.Labels}}', 'berth.test/berth:1')),
    ).toEqual({
      'org.opencontainers.image.title': 'Berth',
      'org.opencontainers.image.description': description,
      'org.opencontainers.image.licenses': license,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': REVISION,
    });

    const first = await run();
    expect(docker('exec', first.id, 'id', '-u')).toBe('10001');
    await eventually(
      'the engine calls it healthy',
      () => docker('inspect', '--format', '{{json .State.Health}}', first.id),
      (health) => health.includes('"Status":"healthy"'),
    );
    // The same where nobody listens.
    expect(() =>
      docker('exec', '--env', 'BERTH_LISTEN=:7699', first.id, 'berth', 'server', 'health'),
    ).toThrow(/no answer at http:\/\/127\.0\.0\.1:7699\/readyz/);
    expect(docker('exec', first.id, 'sh', '-c', 'tr "\\0" " " < /proc/1/cmdline')).toContain(
      '/dist/server/main.js',
    );
    const token = docker('exec', first.id, 'cat', '/var/lib/berth/admin-token');
    const tenants = async (url: string): Promise<string> =>
      (await fetch(`${url}/api/v1/tenants`, { headers: { authorization: `Bearer ${token}` } })).text();
    const made = await fetch(`${first.url}/api/v1/tenants`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ slug: 'kept' }),
    });
    expect(made.status).toBe(201);
    const before = await tenants(first.url);

    docker('stop', '--time', '20', first.id);
    expect(docker('inspect', '--format', '{{.State.ExitCode}}', first.id)).toBe('0');
    docker('rm', first.id);

    const second = await run();
    expect(await tenants(second.url)).toBe(before);
    expect(before).toContain('"kept"');
    docker('rm', '--force', second.id);
  });
});

/** Six containers and Debian's compose take a minute: in the long tier only. The image is that of the test above. */
describe.runIf(LONG_TIER)('the layout for compose', () => {
  const ports = { PLANE1_PORT: '17601', PLANE2_PORT: '17602', PLANE3_PORT: '17603' };
  const urls = Object.values(ports).map((port) => `http://127.0.0.1:${port}`);
  const token = 'bootstrap-token-of-the-compose-file-0123456789';
  const compose = (...args: readonly string[]): string =>
    execFileSync(
      '/usr/bin/docker-compose',
      ['--file', join(ROOT, 'packaging/compose/compose.yaml'), '--project-name', 'berthtest', ...args],
      {
        encoding: 'utf8',
        stdio: 'pipe',
        env: {
          ...environment,
          ...ports,
          DOCKER_HOST: `unix://${engine.socketPath}`,
          BERTH_IMAGE: 'berth.test/berth:1',
          ETCD_IMAGE: 'berth.test/etcd:1',
          BERTH_BOOTSTRAP_TOKEN: token,
        },
      },
    );
  const shards = async (): Promise<number> => {
    const held = await Promise.all(
      urls.map(async (url) => {
        const health = (await (await fetch(`${url}/healthz`)).json()) as {
          controllers: { shards: { held: number } };
        };
        return health.controllers.shards.held;
      }),
    );
    return held.reduce((sum, one) => sum + one, 0);
  };
  const call = (url: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });

  it('starts three control planes that share keys and shards, and survives the loss of one of each', async () => {
    ensurePackages(['docker-compose', 'etcd-server']);
    const libraries = [
      ...execFileSync('ldd', ['/usr/bin/etcd'], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g),
    ].map(([, path]) => path ?? '');
    await buildTestImage(engine, 'berth.test/etcd:1', {
      files: Object.fromEntries(
        [...libraries, '/usr/bin/etcd'].map((path) => [path, { content: readFileSync(path), mode: 0o755 }]),
      ),
    });
    try {
      compose('up', '--detach');
      for (const url of urls)
        await eventually(
          `${url} is ready`,
          () => readiness(url),
          (status) => status === 200,
          120_000,
        );
      await eventually('every shard is held', shards, (held) => held === 64);
      const made = await call(urls[0] ?? '', '/api/v1/tenants', { method: 'POST', body: '{"slug":"kept"}' });
      expect(made.status).toBe(201);
      for (const url of urls) expect(await (await call(url, '/api/v1/tenants')).text()).toContain('"kept"');

      compose('kill', 'etcd2', 'plane3');
      const after = await eventually(
        'the others go on',
        async () =>
          (await call(urls[1] ?? '', '/api/v1/tenants', { method: 'POST', body: '{"slug":"later"}' })).status,
        (status) => status === 201,
      );
      expect(after).toBe(201);
      compose('up', '--detach');
      await eventually(
        'the third is back',
        () => readiness(urls[2] ?? ''),
        (status) => status === 200,
        60_000,
      );
      expect(await (await call(urls[2] ?? '', '/api/v1/tenants')).text()).toContain('"later"');
    } catch (error) {
      throw new Error(compose('logs', '--tail', '20'), { cause: error });
    } finally {
      compose('down', '--volumes', '--timeout', '10');
    }
  }, 300_000);
});
