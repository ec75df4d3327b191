import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/harness/free-port.ts';
import { selfSigned } from '../support/harness/certificates.ts';
import { startTcpProxy } from '../support/harness/tcp-proxy.ts';

const BERTH = join(import.meta.dirname, '../../bin/berth');
const TOKEN = 'cli-test-token-0123456789abcdef0123456789';
/** A port of this machine where nothing listens: the registry is unreachable, which is a warning. */
const IMAGE = '127.0.0.1:1/shop/web:1.4.2';

const PATIENT = { timeout: 30_000, interval: 100 };

const folder = mkdtempSync(join(tmpdir(), 'berth-cli-'));
let server: ChildProcess;
let url: string;

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function berth(
  args: readonly string[],
  options: { readonly input?: string; readonly env?: Record<string, string> } = {},
): Promise<Outcome> {
  const child = spawn(BERTH, args, {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      BERTH_CLI_SERVER: url,
      BERTH_CLI_TOKEN: TOKEN,
      ...options.env,
    },
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const [code] = (await once(child, 'close')) as [number];
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

/** Everything of the tenant that a refused command must leave as it is; status and events are also written by controllers. */
async function state(): Promise<string> {
  const read = async (path: string): Promise<Record<string, unknown>[]> =>
    (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })).json() as Promise<
      Record<string, unknown>[]
    >;
  const parts = await Promise.all(
    ['deployments', 'secrets/resources', 'tenants', 'tokens', 'audit?limit=1000'].map((part) =>
      read(`/api/v1/${part}`),
    ),
  );
  return JSON.stringify(parts.map((part) => part.map(({ status: _status, ...record }) => record)));
}

function manifest(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function startServer(
  name: string,
  ...flags: readonly string[]
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const port = await freePort();
  const args = [
    'server',
    '--data-dir',
    join(folder, name),
    '--listen',
    `127.0.0.1:${port}`,
    '--log-level',
    'warn',
    ...flags,
  ];
  const child = spawn(BERTH, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, BERTH_BOOTSTRAP_TOKEN: TOKEN },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const listening = async (): Promise<boolean> => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  };
  for (const deadline = Date.now() + 60_000; !(await listening()); await pause(50)) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error('the control plane did not start');
  }
  return { child, port };
}

async function stopServer(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

beforeAll(async () => {
  const started = await startServer('data');
  server = started.child;
  url = `http://127.0.0.1:${started.port}`;
});

afterAll(async () => {
  await stopServer(server);
  rmSync(folder, { recursive: true, force: true });
});

describe('deployments from the command line', () => {
  it('are planned, stored, listed, changed, compared, undone and deleted', async () => {
    const web = manifest(
      'web.yaml',
      `kind: Deployment\nname: web\nimage: ${IMAGE}\nenvironment:\n  LOG_LEVEL: info\n  REGION: eu\n`,
    );
    const dry = await berth(['apply', '-f', web, '--dry-run']);
    expect(dry).toMatchObject({ code: 5, out: '' });
    expect(dry.err).toContain('+ web (to create)');
    const id = / --plan (\S+)/.exec(dry.err)?.[1] ?? '';
    expect(dry.err).toMatch(/replicas: 1 {2}\S/);
    expect(dry.err).toContain('warning: registry_unreachable');
    expect(dry.err).toContain('nothing was stored');
    expect((await berth(['get', 'deployments', '-o', 'name'])).out).toBe('');

    expect(await berth(['apply', '-f', web, '--no-wait'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('deployment/web created'),
    });
    expect((await berth(['get', 'deploy', '-o', 'name'])).out).toBe('deployment/web\n');
    const again = await berth(['apply', '-f', web, '--no-wait']);
    expect(again.out).toBe('deployment/web unchanged\n');
    expect(await berth(['apply', '-f', web, '--dry-run'])).toMatchObject({ code: 0 });
    const late = await berth(['apply', '-f', web, '--plan', id]);
    expect(late).toMatchObject({ code: 1, out: '' });
    expect(late.err).toContain('plan_outdated');

    manifest(
      'web.yaml',
      `kind: Deployment\nname: web\nimage: ${IMAGE}\nenvironment:\n  LOG_LEVEL: debug\n  REGION: eu\n`,
    );
    const changed = await berth(['apply', '-f', web, '--no-wait']);
    expect(changed.err).toContain('environment.LOG_LEVEL\n    - info\n    + debug');
    expect(changed.out).toContain('deployment/web updated');

    expect((await berth(['archive', 'diff', 'web', '1', '2'])).out).toContain('- info');
    const toZero = await berth(['scale', 'web', '0', '--dry-run']);
    expect(toZero).toMatchObject({ code: 5, out: '' });
    expect(toZero.err).toContain('replicas\n    - 1\n    + 0');
    const [, scaling = ''] = /next: berth (scale web 0 --plan \S+)/.exec(toZero.err) ?? [];
    const back = await berth(['rollout', 'undo', 'web', '--dry-run']);
    expect(back.err).toContain('environment.LOG_LEVEL\n    - debug\n    + info');
    const [, undoing = ''] = /next: berth (rollout undo web --to 1 --plan \S+)/.exec(back.err) ?? [];
    expect((await berth([...scaling.split(' '), '--no-wait'])).out).toBe(
      'deployment/web scaled from 1 to 0\n',
    );
    expect(await berth(['scale', 'web', '0', '--dry-run'])).toMatchObject({ code: 0 });
    const overtaken = await berth([...undoing.split(' '), '--no-wait']);
    expect(overtaken).toMatchObject({ code: 1, out: '' });
    expect(overtaken.err).toContain('refused: plan_outdated');
    const described = await berth(['describe', 'deployment', 'web']);
    expect(described.out).toContain('deployment.created');
    expect(described.out).toMatch(/next: berth /);
    expect(
      (await berth(['events', '--subject', 'web', '--kind', 'deployment.updated', '-o', 'name'])).out
        .trim()
        .split('\n'),
    ).toHaveLength(2);
    const deletion = await berth(['delete', 'deployment', 'web', '--dry-run']);
    expect(deletion).toMatchObject({ code: 5, out: '' });
    const [, deleting = ''] = /next: berth (delete deployment web --yes --plan \S+)/.exec(deletion.err) ?? [];
    expect((await berth(deleting.split(' '))).out).toBe('deployment/web deleted\n');
    expect((await berth(['get', 'deployment', 'web'])).code).toBe(1);
    expect((await berth(['archive', 'list', 'web'])).out).toContain('deleted');
  });

  it('that were printed as YAML can be given back', async () => {
    await berth(['run', IMAGE, '--name', 'again', '-p', '18080:8080', '--no-wait']);
    const printed = await berth(['get', 'deployment', 'again', '-o', 'yaml']);
    expect(await berth(['apply', '-f', '-', '--no-wait'], { input: printed.out })).toMatchObject({
      code: 0,
      out: 'deployment/again unchanged\n',
    });
  });

  it('run shows each default with its reason and never changes an existing one', async () => {
    const first = await berth(['run', IMAGE, '--name', 'ran', '--no-wait']);
    expect(first).toMatchObject({ code: 0 });
    expect(first.err).toContain('health check: none  an instance counts as healthy while it runs');
    const before = await state();
    expect(await berth(['run', IMAGE, '--name', 'ran', '--replicas', '3', '--no-wait'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('run never changes one'),
    });
    expect(await state()).toBe(before);
  });

  it('are stored and end with 4 and the reason when no node takes them, long before the timeout', async () => {
    const lonely = manifest('lonely.yaml', `name: lonely\nimage: ${IMAGE}\n`);
    const short = await berth(['apply', '-f', lonely, '--timeout', '1s']);
    expect(short.code).toBe(4);
    expect(short.err).toContain('no node is enrolled for this tenant');
    expect(short.err).toContain('next: berth node token');
    const early = await berth(['apply', '-f', lonely, '--timeout', '10m']);
    expect(early.code).toBe(4);
    expect(early.err).toContain('no node takes it; it is stored, and starts once one does');
    const explained = await berth(['explain', 'lonely']);
    expect(explained.out).toContain('no node is enrolled');
  });

  it('ends with 130 when interrupted while it waits', async () => {
    const child = spawn(BERTH, ['rollout', 'status', 'lonely'], {
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, BERTH_CLI_SERVER: url, BERTH_CLI_TOKEN: TOKEN },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await once(child.stderr, 'data');
    child.kill('SIGINT');
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(130);
  });
});

describe('scaling and canaries from the command line', () => {
  it('are set, shown, limited and ended', async () => {
    await berth(['run', IMAGE, '--name', 'sized', '--no-wait']);
    const set = await berth(['scaling', 'set', 'sized', '--max', '3', '--cpu', '70%']);
    expect(set.out).toBe('deployment/sized scales: 1 to 3 instances at 70 % CPU, cooldown 60s\n');
    expect(set.err).toContain('minReplicas: 1');
    const shown = await berth(['scaling', 'get', 'sized']);
    expect(shown.out).toMatch(
      /^sized: 1 to 3 instances at 70 % CPU, cooldown 60s\n {2}(?:not reconciled yet|paused: )/,
    );
    const scaled = await berth(['scale', 'sized', '9', '--no-wait']);
    expect(scaled.out).toBe('deployment/sized scaled from 1 to 3\n');
    expect(scaled.err).toContain('the scaling policy allows 1 to 3');

    const started = await berth(['canary', 'start', 'sized', '--image', `${IMAGE}-next`, '--no-wait']);
    expect(started.out).toBe(`canary of deployment/sized started: ${IMAGE}-next\n`);
    const status = await berth(['canary', 'status', 'sized']);
    expect(status.out).toContain(`sized: ${IMAGE}-next, 0 of 1 healthy`);
    const described = await berth(['describe', 'deployment', 'sized']);
    expect(described.out).toMatch(/ {2}scaling +1 to 3 instances at 70 % CPU/);
    expect(described.out).toMatch(/ {2}canary +127\.0\.0\.1:1\/shop\/web:1\.4\.2-next, 0 of 1 healthy/);
    expect((await berth(['canary', 'abort', 'sized'])).out).toContain('canary of deployment/sized aborted');
    const none = await berth(['canary', 'status', 'sized']);
    expect([none.code, none.err]).toEqual([
      1,
      'sized has no canary; the canary of sized is aborted: that was asked for\n',
    ]);
    const file = manifest('canary.yaml', 'kind: Deployment\nname: sized\nenvironment:\n  MODE: fast\n');
    await berth(['canary', 'start', 'sized', '-f', file, '--no-wait']);
    const promoted = await berth(['canary', 'promote', 'sized', '--no-wait']);
    expect(promoted.out).toBe('canary of deployment/sized promoted\n');
    expect(promoted.err).toContain('canary_not_healthy');
    expect((await berth(['get', 'deployment', 'sized', '-o', 'yaml'])).out).toContain('MODE: fast');
    expect((await berth(['scaling', 'delete', 'sized', '-y'])).out).toBe(
      'deployment/sized scales no more and stays at 3\n',
    );
    expect((await berth(['scaling', 'get', 'sized'])).err).toContain('scaling_policy_not_found');
    expect((await berth(['canary', 'start', 'sized'])).code).toBe(2);
    await berth(['delete', 'deployment', 'sized', '-y']);
  });
});

describe('backups from the command line', () => {
  it('are made, carried and restored', async () => {
    await berth(['run', IMAGE, '--name', 'kept', '--no-wait']);
    expect((await berth(['backup', 'create', 'kept'])).out).toMatch(/^backup\/bak_\S+ of kept made\n$/);
    const id = (await berth(['get', 'backups', '-o', 'name'])).out.trim().replace('backup/', '');
    const document = await berth(['backup', 'export', id]);
    await berth(['delete', 'deployment', 'kept', '-y']);
    expect((await berth(['backup', 'import'], { input: document.out })).out).toMatch(
      /^backup\/bak_\S+ imported\n$/,
    );
    expect((await berth(['backup', 'restore', id, '--no-wait'])).out).toBe(
      `deployment/kept restored from ${id}\n`,
    );
    expect((await berth(['get', 'deployment', 'kept', '-o', 'name'])).out).toBe('deployment/kept\n');
    expect((await berth(['delete', 'backup', id, '-y'])).out).toBe(`backup/${id} deleted\n`);
  });
});

describe('networks', () => {
  const net = (...args: readonly string[]) => berth([...args, '--tenant', 'net-shop']);

  it('are created, applied, listed and deleted', async () => {
    await berth(['tenant', 'create', 'net-shop']);
    expect((await net('network', 'create', 'backend')).err).toContain('network_node_candidates_unresolvable');
    const key = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' });
    const enrolled = await fetch(`${url}/api/v1/nodes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'x-tenant-id': 'net-shop',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        nodeName: 'net-1',
        capacity: { cpu: 1, memoryBytes: 2 ** 30 },
        publicKey: key.toString('base64'),
        platform: 'linux/amd64',
        engine: { kind: 'docker', version: '20.10' },
        agentVersion: '0',
      }),
    });
    expect(enrolled.status).toBe(201);
    const made = await net('network', 'create', 'backend', '--internal', '--label', 'team=shop');
    expect(made).toMatchObject({ code: 0, out: 'network/backend created on net-1\n' });
    const path = manifest('net.yaml', 'kind: Network\nname: applied\nnodeId: net-1\n');
    const dry = await net('apply', '-f', path, '--dry-run');
    expect(dry.err).toContain('+ network applied (to create)');
    expect((await net('get', 'networks', '-o', 'name')).out).toBe('network/backend\n');
    expect((await net('apply', '-f', path)).out).toBe('network/applied created\n');
    expect((await net('apply', '-f', path)).out).toBe('network/applied unchanged\n');
    manifest('net.yaml', 'kind: Network\nname: applied\ninternal: true\n');
    expect((await net('apply', '-f', path)).err).toContain('exists and differs in internal');
    manifest('net.yaml', 'kind: Network\nname: more\nsubnet: 10.0.0.0/24\n');
    expect((await net('apply', '-f', path)).err).toContain('network_option_unsupported_on_agent');
    expect((await net('network', 'list')).out).toMatch(/applied +net-1 +bridge +no +Pending/);
    expect((await net('network', 'get', 'backend', '-o', 'yaml')).out).toContain('team: shop');
    // Nobody can say what is attached while the agent is away.
    expect((await net('network', 'delete', 'applied', '-y')).err).toContain('agent_unreachable');
    expect((await net('delete', 'network', 'gone', '-y')).err).toContain('network_not_found');
  });
});

describe('taking something away', () => {
  it('is refused when nobody can be asked, and done with --allow-removal', async () => {
    const path = manifest('keep.yaml', `name: keep\nimage: ${IMAGE}\nenvironment:\n  A: "1"\n  B: "2"\n`);
    await berth(['apply', '-f', path, '--no-wait']);
    manifest('keep.yaml', `name: keep\nimage: ${IMAGE}\nenvironment:\n  A: "1"\n`);
    const before = await state();
    const refused = await berth(['apply', '-f', path, '--no-wait']);
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('keep loses environment[B]');
    expect(refused.err).toContain('--allow-removal');
    expect(await state()).toBe(before);
    expect(await berth(['apply', '-f', path, '--no-wait', '--allow-removal'])).toMatchObject({ code: 0 });
  });
});

describe('bad input', () => {
  const cases: readonly (readonly [string, readonly string[], number, string])[] = [
    ['an image without a tag', ['run', 'nginx'], 1, 'refused: image_required'],
    ['a name where the image goes', ['run', 'web', '--image', IMAGE], 2, 'berth run --name web --image'],
    [
      'too many replicas',
      ['run', IMAGE, '--name', 'many', '--replicas', '101'],
      1,
      'refused: replicas_out_of_range',
    ],
    ['negative replicas', ['scale', 'ran', '--no-wait', '--', '-1'], 1, 'refused: replicas_negative'],
    [
      'a credential in the environment',
      ['run', IMAGE, '--name', 'leak', '-e', 'DB_PASSWORD=hunter2hunter2'],
      1,
      'refused: plaintext_credential_in_environment',
    ],
    [
      'a node that is not there',
      ['run', IMAGE, '--name', 'placed', '--node', 'nowhere'],
      1,
      'refused: node_candidates_unresolvable',
    ],
    ['an unknown deployment', ['scale', 'nobody', '1'], 1, 'refused: deployment_not_found'],
    ['a name that is none', ['run', IMAGE, '--name', 'Not_A_Name'], 1, 'refused: deployment_name_invalid'],
    [
      'a version that is not kept',
      ['rollout', 'undo', 'ran', '--to', '99'],
      2,
      'version 99 of ran is not kept',
    ],
    ['a kind that cannot be deleted', ['delete', 'event', 'x'], 2, 'event cannot be deleted'],
    ['a plan of two deletions', ['delete', 'deployment', 'ran', 'web', '--dry-run'], 2, 'for one deployment'],
    ['a plan of what has none', ['delete', 'network', 'ran', '--plan', 'x'], 2, 'for one deployment'],
    ['a name without its kind', ['delete', 'ran'], 2, 'berth delete deployment ran'],
    ['a kind without a name', ['delete', 'nodes'], 2, 'which of the nodes?'],
    ['a deletion that nobody can be asked about', ['delete', 'deployment', 'ran'], 2, '--yes'],
    ['the same of a tenant', ['tenant', 'delete', 'platform'], 2, 'nothing was deleted'],
    ['the same of a node', ['node', 'delete', 'nowhere'], 2, 'nothing was deleted'],
    ['a run that no node takes', ['run', IMAGE, '--name', 'nowhere'], 1, 'nothing was stored'],
    [
      'a secret outside the namespaces',
      ['secret', 'write', 'elsewhere/db', '--generate', 'pw'],
      1,
      'refused: secret_path_namespace',
    ],
    ['a secret without keys', ['secret', 'write', 'deployments/db'], 2, 'no keys were given'],
    ['a secret that is not there', ['secret', 'show', 'deployments/none'], 1, 'refused: secret_not_found'],
    [
      'a rotation of nothing',
      ['secret', 'rotate', 'ran', '--no-wait'],
      1,
      'refused: rotation_transition_invalid',
    ],
    ['a tenant name', ['tenant', 'create', 'Not A Slug'], 1, 'refused: tenant_name_invalid'],
    ['an unknown tenant', ['tenant', 'quota', 'nobody', '--cpu', '1'], 1, 'refused: tenant_not_found'],
    [
      'a quota of no kind',
      ['tenant', 'quota', 'platform', '--bytes', 'archives'],
      2,
      'expected kind=limit, e.g. archives=64Mi',
    ],
    [
      'a quota that is no amount',
      ['tenant', 'quota', 'platform', '--memory', 'lots'],
      2,
      'expected an amount',
    ],
    ['an unknown role', ['token', 'create', '--name', 'x', '--role', 'king'], 1, 'refused: token_invalid'],
    ['an unknown token', ['token', 'revoke', 'nothing', '-y'], 1, 'refused: token_not_found'],
    ['a token in place of its id', ['token', 'revoke', 'berth_pat_x_y_z'], 2, 'this is a token, not the id'],
    ['an unknown node', ['node', 'drain', 'nowhere'], 1, 'refused: node_not_found'],
    ['a join token for no name', ['node', 'token', '--name', 'Not A Node'], 1, 'refused: node_name_invalid'],
    ['an unknown tenant to act for', ['get', 'deployments', '--tenant', 'nobody'], 1, 'refused: tenant_'],
    ['a time that is none', ['events', '--since', 'yesterday'], 2, 'expected a time'],
    ['an exec without a command', ['exec', 'ran'], 2, 'what is to be run?'],
    ['an exec where nothing runs', ['exec', 'ran', '--', 'ls'], 1, 'refused: exec_unavailable'],
    ['logs of nothing', ['logs', 'nobody'], 1, 'refused: deployment_not_found'],
    ['a backup of nothing', ['backup', 'create', 'nobody'], 1, 'refused: deployment_not_found'],
    ['a backup that is not there', ['backup', 'restore', 'bak_none'], 1, 'refused: backup_not_found'],
    ['an import that is no document', ['backup', 'import'], 2, 'standard input is not valid JSON'],
    ['an output format', ['get', 'nodes', '-o', 'xml'], 2, 'unknown output format xml'],
    ['a file that is not there', ['apply', '-f', 'none.yaml'], 2, 'there is no such file'],
  ];

  it.each(cases)('%s: message, exit code, and nothing changed', async (_what, args, code, message) => {
    const before = await state();
    const outcome = await berth(args);
    expect(outcome.err).toContain(message);
    expect(outcome.code).toBe(code);
    expect(outcome.out).toBe('');
    expect(`${outcome.out}${outcome.err}`).not.toContain('hunter2');
    expect(await state()).toBe(before);
  });

  it('in the last of several files stores none of them', async () => {
    const good = manifest('good.yaml', `name: good\nimage: ${IMAGE}\n`);
    const bad = manifest('wrong.yaml', `name: wrong\nimage: ${IMAGE}\nreplica: 3\n`);
    const before = await state();
    const outcome = await berth(['apply', '-f', good, '-f', bad]);
    expect(outcome).toMatchObject({ code: 1, out: '' });
    expect(outcome.err).toContain('refused: field_unknown');
    expect(outcome.err).toContain(`${bad}:3:1, deployment wrong`);
    expect(outcome.err).toContain('replicas');
    expect(await state()).toBe(before);
  });

  it('of a rejection shows all six fields', async () => {
    const { err } = await berth(['run', 'nginx:latest']);
    for (const label of [
      'refused: image_required',
      'field     image',
      'received  nginx:latest',
      'expected',
      'why',
      `doc       ${url}/docs/errors/image_required`,
    ]) {
      expect(err).toContain(label);
    }
  });
});

describe('secrets from the command line', () => {
  const VALUE = 'correct-horse-battery-staple';

  it('are read from standard input, files and JSON, and never shown', async () => {
    const file = manifest('value', `${VALUE}\n`);
    const outcomes = [
      await berth(['secret', 'write', 'deployments/piped', '--key', 'password'], { input: `${VALUE}\n` }),
      await berth([
        'secret',
        'write',
        'deployments/filed',
        '--from-file',
        `password=${file}`,
        '--generate',
        'session_key',
      ]),
      await berth(['secret', 'write', 'deployments/json', '--from-json'], {
        input: JSON.stringify({ password: VALUE }),
      }),
      await berth(['secret', 'show', 'deployments/filed', '-o', 'json']),
    ];
    for (const { code, out, err } of outcomes) {
      expect({ code, err }).toMatchObject({ code: 0 });
      expect(`${out}${err}`).not.toContain(VALUE);
    }
    expect(outcomes[1]?.out).toContain('version 1, keys password, session_key');
  });

  it('are not repeated when the input is malformed', async () => {
    const outcome = await berth(['secret', 'write', 'deployments/bad', '--from-json'], {
      input: `{"password": "${VALUE}"`,
    });
    expect(outcome.code).toBe(2);
    expect(outcome.err).not.toContain(VALUE);
  });

  it('list who reads them', async () => {
    const path = manifest(
      'reader.yaml',
      `name: reader\nimage: ${IMAGE}\nsecrets:\n  - name: DB\n    vault_path: deployments/piped\n`,
    );
    await berth(['apply', '-f', path, '--no-wait']);
    expect((await berth(['secret', 'list'])).out).toMatch(/deployments\/piped +written +password +1 +reader/);
    expect((await berth(['secret', 'consumers', 'deployments/piped'])).out).toMatch(/reader +DB +external/);
    const rotated = await berth(['secret', 'rotate', 'reader', '--no-wait']);
    expect(rotated.out).toContain('stage accepted, secretsVersion 1');
    expect(rotated.err).toContain('next: berth secret rotate reader --phase promote');
  });
});

describe('tenants, tokens and nodes', () => {
  it('are managed, and a token acts for its tenant', async () => {
    expect((await berth(['tenant', 'create', 'acme'])).out).toContain('tenant/acme created');
    expect((await berth(['tenant', 'quota', 'acme', '--containers', '5', '--memory', '1Gi'])).out).toMatch(
      /acme.* 5 +- +1 GiB/,
    );
    // What is not named stays, and one is taken away by itself.
    await berth([
      'tenant',
      'quota',
      'acme',
      '--records',
      'deployments=7',
      '--bytes',
      'archives=64Mi',
      '--streams',
      '9',
    ]);
    const kept = await berth([
      'tenant',
      'quota',
      'acme',
      '--records',
      'deployments=none',
      '--memory',
      'none',
      '-o',
      'json',
    ]);
    expect((JSON.parse(kept.out) as { quota: object }).quota).toEqual({
      containers: 5,
      records: {},
      bytes: { archives: 64 * 2 ** 20 },
      streams: 9,
    });
    expect(kept.err).toContain('no longer limited: quota[memoryBytes], quota[records.deployments]');
    expect((await berth(['describe', 'tenant', 'acme'])).out).toMatch(
      /archives +0 of \d+ +0 B of 64 MiB \(quota\)/,
    );
    const defaults = (...options: string[]) => berth(['tenant', 'defaults', 'acme', ...options]);
    expect((await defaults('--memory', '80%', '--pids', '2048')).out).toMatch(/memory +80%\n +pids +2048\n/);
    expect((await defaults()).out).toMatch(/pids +2048\n +cpuWeight +100 +\(platform\)/);
    expect((await defaults('--none')).out).toMatch(/pids +4096 +\(platform\)/);
    const made = await berth(['token', 'create', '--tenant', 'acme', '--name', 'ci', '--role', 'viewer']);
    expect(made.out).toMatch(/^berth_pat_\S+\n$/);
    const token = made.out.trim();
    const viewer = { env: { BERTH_CLI_TOKEN: token } };
    expect(await berth(['get', 'deployments'], viewer)).toMatchObject({
      code: 0,
      err: expect.stringContaining('no deployments yet'),
    });
    // Without the tenant the printed command would act for the platform.
    expect((await berth(['get', 'nodes', '--tenant', 'acme'])).err).toBe(
      'no nodes yet; next: berth node token --tenant acme\n',
    );
    expect(await berth(['run', IMAGE, '--name', 'x'], viewer)).toMatchObject({
      code: 1,
      err: expect.stringContaining('refused: role_forbidden'),
    });
    const id = (await berth(['token', 'list', '--tenant', 'acme', '-o', 'name'])).out
      .trim()
      .replace('token/', '');
    expect((await berth(['token', 'revoke', id, '-y', '--tenant', 'acme'])).out).toContain('revoked');
    expect(await berth(['get', 'deployments'], viewer)).toMatchObject({
      code: 1,
      err: expect.stringContaining('refused: unauthenticated'),
    });
    expect((await berth(['tenant', 'delete', 'acme', '-y'])).out).toBe('tenant/acme deleted\n');
  });

  it('a join token comes with the line to paste', async () => {
    const outcome = await berth(['node', 'token', '--name', 'berlin-1']);
    expect(outcome.out).toMatch(
      /^printf %s berth_join_\S+ \| berth agent --server \S+ --join-file - --name berlin-1\n$/,
    );
    expect((await berth(['get', 'join-tokens'])).out).toContain('berlin-1');
  });
});

describe('contexts', () => {
  const none = { BERTH_CLI_SERVER: '', BERTH_CLI_TOKEN: '' };

  it('are made by login from standard input, and used', async () => {
    const login = await berth(['login', '--server', url, '--name', 'here'], {
      input: `${TOKEN}\n`,
      env: none,
    });
    expect(login).toMatchObject({ code: 0, out: expect.stringContaining('as context here') });
    expect(`${login.out}${login.err}`).not.toContain(TOKEN);
    expect((await berth(['get', 'deployments', '-o', 'name'], { env: none })).code).toBe(0);
    const listed = await berth(['context', 'list'], { env: none });
    expect(listed.out).toMatch(/\* +here +http/);
    expect(listed.out).not.toContain(TOKEN);
    expect((await berth(['context', 'use', 'heer'], { env: none })).err).toContain('did you mean here?');
    expect((await berth(['context', 'remove', 'here'], { env: none })).code).toBe(0);
    expect(await berth(['get', 'deployments'], { env: none })).toMatchObject({
      code: 2,
      err: expect.stringContaining('no control plane is known yet'),
    });
  });

  it('are not kept when the token is wrong', async () => {
    const outcome = await berth(['login', '--server', url, '--name', 'wrong'], {
      input: 'not-a-token-of-this-control-plane\n',
      env: none,
    });
    expect(outcome).toMatchObject({ code: 1, err: expect.stringContaining('refused: unauthenticated') });
    expect(outcome.err).not.toContain('not-a-token-of-this');
    expect((await berth(['context', 'list'], { env: none })).out).not.toContain('wrong');
  });
});

describe('a control plane with TLS', () => {
  let child: ChildProcess;
  let secure: string;
  const { key, cert } = selfSigned(['IP:127.0.0.1']);

  beforeAll(async () => {
    const flags = ['--tls-cert', manifest('cert.pem', cert), '--tls-key', manifest('key.pem', key)];
    const started = await startServer('secure', ...flags);
    child = started.child;
    secure = `https://127.0.0.1:${started.port}`;
  });
  afterAll(() => stopServer(child));

  it('is refused while nobody trusts its certificate, and says how to trust it', async () => {
    const outcome = await berth(['get', 'deployments'], { env: { BERTH_CLI_SERVER: secure } });
    expect(outcome).toMatchObject({ code: 3, out: '' });
    expect(outcome.err).toContain('nobody this machine trusts signed the certificate');
    expect(outcome.err).toContain('--ca-file');
  });

  it('is used through a context that trusts it', async () => {
    const none = { BERTH_CLI_SERVER: '', BERTH_CLI_TOKEN: '' };
    const login = await berth(
      ['login', '--server', secure, '--name', 'tls', '--ca-file', join(folder, 'cert.pem')],
      { input: TOKEN, env: none },
    );
    expect(login).toMatchObject({ code: 0 });
    expect((await berth(['get', 'deployments', '-o', 'json', '--context', 'tls'], { env: none })).out).toBe(
      '[]\n',
    );
    const line = await berth(['node', 'token', '--context', 'tls'], { env: none });
    expect(line.out).toMatch(/--ca-digest sha256:[0-9a-f]{64}/);
  });

  it('that is addressed without TLS, or the other way round, is told apart', async () => {
    const plain = await berth(['get', 'deployments'], {
      env: { BERTH_CLI_SERVER: secure.replace('https', 'http') },
    });
    expect(plain).toMatchObject({ code: 3, err: expect.stringContaining('https://') });
    const encrypted = await berth(['get', 'deployments'], {
      env: { BERTH_CLI_SERVER: url.replace('http', 'https') },
    });
    expect(encrypted).toMatchObject({ code: 3, err: expect.stringContaining('does not speak TLS') });
  });
});

describe('the rest', () => {
  it('doctor finds nothing wrong but the missing node', async () => {
    const outcome = await berth(['doctor']);
    expect(outcome.out).toContain('✔ store');
    expect(outcome.out).toContain('✔ secrets store');
    expect(outcome.out).toContain('✔ clocks');
    expect(outcome.out).toContain('✘ nodes');
    expect(outcome.out).toContain('berth node token prints the line');
    expect(outcome.code).toBe(1);
  });

  it('an unreachable control plane ends with 3 and what to check', async () => {
    const outcome = await berth(['get', 'deployments'], {
      env: { BERTH_CLI_SERVER: `http://127.0.0.1:${await freePort()}` },
    });
    expect(outcome).toMatchObject({ code: 3, out: '' });
    expect(outcome.err).toContain('nothing listens at');
    expect(outcome.err).toContain('Is the control plane running there?');
  });

  it('events are followed live, also those of a time in which nobody answered', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(url).port) });
    const child = spawn(BERTH, ['events', '-f', '--subject', 'watched'], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        BERTH_CLI_SERVER: `http://127.0.0.1:${proxy.port}`,
        BERTH_CLI_TOKEN: TOKEN,
      },
    });
    try {
      let seen = '';
      let told = '';
      child.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
      const streams = async (): Promise<string> =>
        (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text();
      await expect.poll(streams, PATIENT).toMatch(/^berth_streams 1$/m);
      // It has had no event yet.
      proxy.refuse(true);
      await expect.poll(() => told, PATIENT).toContain('the connection was lost; trying again');
      await berth(['run', IMAGE, '--name', 'watched', '--no-wait']);
      // More often than a command asks that has nothing to go on with.
      await expect.poll(() => proxy.accepted, PATIENT).toBeGreaterThan(6);
      expect(child.exitCode).toBeNull();
      proxy.refuse(false);
      await expect.poll(() => seen, PATIENT).toMatch(/deployment\.created +deployment\/watched/);
      expect(told).toContain('connected again');
      await berth(['scale', 'watched', '2', '--no-wait']);
      await expect.poll(() => seen, PATIENT).toMatch(/deployment\.updated +deployment\/watched/);
      child.kill('SIGINT');
      const [code] = (await once(child, 'close')) as [number];
      expect(code).toBe(130);
    } finally {
      child.kill('SIGKILL');
      await proxy.close();
    }
  });

  it('version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
      version: string;
    };
    expect((await berth(['version'])).out).toBe(`berth ${version}\n`);
    expect((await berth(['version', '--server'])).out).toContain(`control plane ${version} at ${url}`);
  });
});
