import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandBody } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { typeCommand } from '../support/harness/typed-command.ts';

const IMAGE = '127.0.0.1:1/shop/web:1.4.2';
const folder = mkdtempSync(join(tmpdir(), 'berth-bad-input-'));
const plane = new PlaneProcess();
let token = '';

interface Row {
  /** Words that the command accepts, about something that is not there. */
  readonly valid: readonly string[];
  readonly input?: string;
  /** What it says of something that is not there; absent when it needs nothing. */
  readonly missing?: string;
  /** It speaks to no control plane. */
  readonly local?: true;
  /** A value that is wrong, and the words about it. */
  readonly wrong?: readonly [words: readonly string[], message: string, status: number];
}

const manifest = join(folder, 'web.yaml');
const broken = join(folder, 'broken.yaml');
const described = join(folder, 'cells.yaml');
const format = (...words: readonly string[]): NonNullable<Row['wrong']> => [
  [...words, '-o', 'xml'],
  'unknown output format xml',
  2,
];
const duration = (...words: readonly string[]): NonNullable<Row['wrong']> => [
  [...words, '--timeout', 'soon'],
  'soon',
  2,
];

/** Every command. One that is not here fails the run. */
const ROWS: Readonly<Record<string, Row>> = {
  up: { valid: [], local: true, wrong: [['--port', '99999'], 'expected 1 to 65535', 2] },
  login: { valid: ['--server', 'URL'], input: 'TOKEN\n', wrong: [['--server', 'ftp://x'], 'ftp://x', 2] },
  'context list': { valid: [], local: true },
  'context use': { valid: ['nobody'], local: true, missing: 'nobody' },
  'context remove': { valid: ['nobody'], local: true, missing: 'nobody' },
  doctor: { valid: [], local: true },
  debug: {
    valid: ['--local', '--to', join(folder, 'debug.tar.gz')],
    local: true,
    wrong: [['--for', 'soon'], '--for soon: expected a duration', 2],
  },
  'cells haproxy': {
    valid: ['-f', described],
    local: true,
    wrong: [['-f', manifest], 'name is not a known field', 2],
  },
  'server logs': { valid: [], wrong: [['--level', 'loud'], '--level loud: expected one of', 2] },
  run: {
    valid: ['--image', IMAGE, '--no-wait'],
    wrong: [[IMAGE, '--host', 'shop.example.com', '--host-port', 'web'], 'web', 2],
  },
  apply: { valid: ['-f', manifest, '--no-wait'], wrong: [['-f', broken], 'is not valid YAML', 2] },
  diff: { valid: ['-f', manifest], wrong: [['-f', manifest, '--prune'], '--prune needs -l', 2] },
  scale: { valid: ['nobody', '1'], missing: 'deployment_not_found', wrong: [['nobody', 'many'], 'many', 2] },
  restart: { valid: ['nobody'], missing: 'deployment_not_found', wrong: duration('nobody') },
  'stop instance': { valid: ['nobody'], missing: 'there is no instance nobody' },
  'signal instance': {
    valid: ['nobody', 'HUP'],
    missing: 'there is no instance nobody',
    wrong: [['nobody', 'SIGSTOP'], 'no signal SIGSTOP can be sent', 2],
  },
  'rollout status': { valid: ['nobody'], missing: 'deployment_not_found', wrong: duration('nobody') },
  'rollout history': { valid: ['nobody'], missing: 'deployment_not_found', wrong: format('nobody') },
  'rollout undo': { valid: ['nobody'], missing: 'deployment_not_found', wrong: duration('nobody') },
  delete: {
    valid: ['deployment', 'nobody', '-y'],
    missing: 'deployment_not_found',
    wrong: [['event', 'x', '-y'], 'cannot be deleted', 2],
  },
  'scaling get': { valid: ['nobody'], missing: 'deployment_not_found', wrong: format('nobody') },
  'scaling set': {
    valid: ['nobody', '--max', '3', '--cpu', '70'],
    missing: 'deployment_not_found',
    wrong: [['nobody', '--max', 'some', '--cpu', '70'], 'some', 2],
  },
  'scaling delete': { valid: ['nobody', '-y'], missing: 'deployment_not_found' },
  'canary start': {
    valid: ['nobody', '--image', IMAGE],
    missing: 'deployment_not_found',
    wrong: duration('nobody', '--image', IMAGE),
  },
  'canary status': { valid: ['nobody'], missing: '_not_found', wrong: format('nobody') },
  'canary promote': { valid: ['nobody'], missing: '_not_found', wrong: duration('nobody') },
  'canary abort': { valid: ['nobody'], missing: '_not_found' },
  'job list': { valid: [], wrong: format() },
  'job get': { valid: ['nobody'], missing: 'job_not_found', wrong: format('nobody') },
  'job run': { valid: ['nobody'], missing: 'job_not_found', wrong: duration('nobody') },
  'job logs': {
    valid: ['nobody'],
    missing: 'job_not_found',
    wrong: [['nobody', '--previous', '--follow'], '--previous chooses the attempt', 2],
  },
  'job cancel': { valid: ['nobody'], missing: 'job_not_found' },
  'job delete': { valid: ['nobody', '-y'], missing: 'job_not_found' },
  get: { valid: ['deployment', 'nobody'], missing: 'deployment_not_found', wrong: format('nodes') },
  describe: {
    valid: ['deployment', 'nobody'],
    missing: 'deployment_not_found',
    wrong: format('deployment', 'nobody'),
  },
  explain: { valid: ['nobody'], missing: 'deployment_not_found', wrong: format('nobody') },
  logs: {
    valid: ['nobody'],
    missing: 'deployment_not_found',
    wrong: [['nobody', '--tail', 'some'], 'some', 2],
  },
  exec: {
    valid: ['nobody', '--', 'ls'],
    missing: 'deployment_not_found',
    wrong: [['nobody'], 'what is to be run?', 2],
  },
  cp: {
    valid: ['nobody:/data', '/tmp/nowhere'],
    missing: 'deployment_not_found',
    wrong: [['here', 'there'], 'neither of them is in an instance', 2],
  },
  'port-forward': {
    valid: ['nobody', '0:80'],
    missing: 'deployment_not_found',
    wrong: [['nobody', 'some'], 'expected [LOCAL:]REMOTE', 2],
  },
  top: {
    valid: ['nobody', '--once'],
    missing: 'deployment_not_found',
    wrong: [['--since', '25h'], 'expected a duration from 1m to 24h', 2],
  },
  events: { valid: [], wrong: [['--since', 'yesterday'], 'expected a time', 2] },
  audit: { valid: [], wrong: [['--actor', 'nobody'], 'no token has this name', 2] },
  'archive list': { valid: ['nobody'], missing: 'deployment_not_found', wrong: format('nobody') },
  'archive diff': {
    valid: ['nobody', '1', '2'],
    missing: 'deployment_not_found',
    wrong: [['nobody', 'one', '2'], 'one', 2],
  },
  'backup create': { valid: ['nobody'], missing: 'deployment_not_found', wrong: format('nobody') },
  'backup list': { valid: [], wrong: format() },
  'backup restore': { valid: ['bak_none'], missing: 'backup_not_found', wrong: duration('bak_none') },
  'backup export': { valid: ['bak_none'], missing: 'backup_not_found' },
  'backup import': { valid: [], input: '{}', missing: 'backup_invalid', wrong: format() },
  'backup delete': { valid: ['bak_none', '-y'], missing: 'backup_not_found' },
  'node add': {
    valid: ['root@127.0.0.1', '--port', '1', '--release', '/nowhere'],
    wrong: [['root@127.0.0.1', '--label', 'ssd'], 'expected key=value', 2],
  },
  'node token': { valid: [], wrong: format() },
  'node list': { valid: [], wrong: format() },
  'node show': { valid: ['nowhere'], missing: 'node_not_found', wrong: format('nowhere') },
  'node cordon': { valid: ['nowhere'], missing: 'node_not_found' },
  'node uncordon': { valid: ['nowhere'], missing: 'node_not_found' },
  'node clean': { valid: ['nowhere'], missing: 'node_not_found', wrong: format('nowhere') },
  'node logs': {
    valid: ['nowhere'],
    missing: 'node_not_found',
    wrong: [['nowhere', '--for', '5m'], '--for says how long to follow', 2],
  },
  'node rotate-key': { valid: ['nowhere'], missing: 'node_not_found' },
  'volume promote': { valid: ['nothing', 'nowhere'], missing: 'volume_not_found' },
  'node drain': { valid: ['nowhere'], missing: 'node_not_found' },
  'node delete': { valid: ['nowhere', '-y'], missing: 'node_not_found' },
  'network show': { valid: [], wrong: format() },
  'network create': {
    valid: ['back'],
    missing: 'network_node_candidates_unresolvable',
    wrong: format('back'),
  },
  ingress: { valid: [], wrong: format() },
  'ingress revoke': { valid: ['nowhere.example', '-y'], missing: 'ingress_host_not_found' },
  'network list': { valid: [], wrong: format() },
  'network get': { valid: ['back'], missing: 'network_not_found', wrong: format('back') },
  'network delete': { valid: ['back', '-y'], missing: 'network_not_found' },
  'webhook list': { valid: [], wrong: format() },
  'webhook get': { valid: ['alerts'], missing: 'webhook_not_found', wrong: format('alerts') },
  'webhook create': {
    valid: ['alerts', '--url', 'http://127.0.0.1/', '--signing-key', 'resources/hooks'],
    missing: 'webhook_invalid',
    wrong: [['alerts', '--url', 'https://example.com/'], '--signing-key', 2],
  },
  'webhook pause': { valid: ['alerts'], missing: 'webhook_not_found' },
  'webhook resume': { valid: ['alerts'], missing: 'webhook_not_found' },
  'webhook dead-letters': { valid: ['alerts'], missing: 'webhook_not_found', wrong: format('alerts') },
  'webhook redeliver': { valid: ['alerts'], missing: 'webhook_not_found' },
  'webhook delete': { valid: ['alerts', '-y'], missing: 'webhook_not_found' },
  'volume list': { valid: [], wrong: format() },
  'volume get': { valid: ['data'], missing: 'volume_not_found', wrong: format('data') },
  'volume create': {
    valid: ['data', '--class', 'ephemeral', '--size', '1Gi', '--node', 'nowhere', '--no-wait'],
    missing: 'node_candidates_unresolvable',
    wrong: [['data', '--class', 'ephemeral', '--size', 'lots'], 'expected an amount', 2],
  },
  'volume replicas': { valid: ['data'], missing: 'volume_not_found', wrong: format('data') },
  'volume add-replica': { valid: ['data', 'nowhere'], missing: 'volume_not_found' },
  'volume remove-replica': { valid: ['data', 'nowhere', '-y'], missing: 'volume_not_found' },
  'volume snapshots': { valid: ['data'], missing: 'volume_not_found', wrong: format('data') },
  'volume backup-job': {
    valid: ['data', '--repo', 'rest:http://127.0.0.1:1/', '--image', IMAGE],
    missing: 'volume_not_found',
    wrong: [['data', '--repo', '/srv/backups', '--image', IMAGE], 'gone with the container', 2],
  },
  'volume restore-job': {
    valid: ['data-2', '--from', 'data', '--repo-in-secret', '--image', IMAGE, '--no-wait'],
    missing: 'volume_not_found',
    wrong: [['data-2', '--from', 'data', '--repo-in-secret', '--image', IMAGE, '--path', '../x'], '../x', 2],
  },
  'volume drill-job': {
    valid: ['data', '--repo-in-secret', '--image', IMAGE, '--', 'true'],
    wrong: [['data', '--repo-in-secret', '--image', IMAGE], 'what checks it?', 2],
  },
  'volume delete': { valid: ['data', '-y'], missing: 'volume_not_found' },
  'recommendation list': {
    valid: [],
    wrong: [['--priority', 'urgent'], 'dvm_recommendation_unknown_priority', 1],
  },
  'recommendation apply': {
    valid: ['rec_none', '-y'],
    missing: 'dvm_recommendation_not_found',
    wrong: [['rec_none', '--size', 'lots', '-y'], 'expected an amount', 2],
  },
  'secret write': {
    valid: ['deployments/web', '--generate', 'key'],
    wrong: [['elsewhere/web', '--generate', 'key'], 'secret_path_namespace', 1],
  },
  'secret list': { valid: ['--unreferenced'], wrong: format() },
  'secret delete': {
    valid: ['deployments/none', '-y'],
    missing: 'secret_not_found',
    wrong: [['none', '-y'], 'is not the path of a secret', 2],
  },
  'secret show': {
    valid: ['deployments/none'],
    missing: 'secret_not_found',
    wrong: format('deployments/none'),
  },
  'secret consumers': { valid: ['deployments/none'], wrong: format('deployments/none') },
  'secret rotate': {
    valid: ['nobody'],
    missing: 'deployment_not_found',
    wrong: [['nobody', '--phase', 'half'], 'half', 2],
  },
  'secret hooks': {
    valid: ['deployments/none', '--apply', 'nobody'],
    missing: 'secret_not_found',
    wrong: [['deployments/none', '--apply', 'nobody', '--none'], '--none stands alone', 2],
  },
  'tenant list': { valid: [], wrong: format() },
  'tenant create': { valid: ['acme'], wrong: [['Not A Slug'], 'tenant_name_invalid', 1] },
  'tenant delete': { valid: ['nobody', '-y'], missing: 'tenant_not_found' },
  'tenant defaults': {
    valid: ['nobody', '--pids', '1024'],
    missing: 'tenant_not_found',
    wrong: [['platform', '--pids', 'lots'], 'lots', 2],
  },
  'tenant image-policy': {
    valid: ['nobody', '--none'],
    missing: 'tenant_not_found',
    wrong: [['platform', '--require', 'x'], 'expected images=key file', 2],
  },
  'tenant quota': {
    valid: ['nobody', '--cpu', '1'],
    missing: 'tenant_not_found',
    wrong: [['platform', '--records', 'pods=5'], 'expected kind=limit', 2],
  },
  'token list': { valid: [], wrong: format() },
  'token create': {
    valid: ['--name', 'ci', '--role', 'viewer'],
    wrong: [['--name', 'x', '--role', 'king'], 'token_invalid', 1],
  },
  'token revoke': {
    valid: ['nothing', '-y'],
    missing: 'token_not_found',
    wrong: [['berth_pat_x_y_z'], 'not the id', 2],
  },
  completion: { valid: ['bash'], local: true, wrong: [['tcsh'], 'tcsh', 2] },
  version: { valid: ['--server'] },
};

const type = (words: readonly string[], environment: Readonly<Record<string, string>>, input = '') =>
  typeCommand(words, { HOME: folder, ...environment }, input);

const here = (): Record<string, string> => ({ BERTH_CLI_SERVER: plane.url, BERTH_CLI_TOKEN: token });

async function state(): Promise<string> {
  const routes = [
    'deployments',
    'secrets/resources',
    'tenants',
    'tokens',
    'networks',
    'jobs',
    'dvm/volumes',
    'backups',
    'audit?limit=1000',
  ];
  const answers = await Promise.all(routes.map((route) => plane.admin('GET', `/api/v1/${route}`)));
  return JSON.stringify(answers.map(({ body }) => body));
}

interface Leaf {
  readonly path: string;
  readonly body: CommandBody;
}

async function leaves(): Promise<readonly Leaf[]> {
  const walk = (path: string, body: CommandBody): readonly Leaf[] => [
    ...(body.run === undefined ? [] : [{ path, body }]),
    ...(body.subcommands ?? []).flatMap((sub) => walk(`${path} ${sub.name}`, sub)),
  ];
  return (await Promise.all(COMMANDS.map(async (entry) => walk(entry.name, await entry.load())))).flat();
}

const LEAVES = await leaves();
const ROW_LIST = Object.entries(ROWS).map(([path, row]) => ({ path, row, words: path.split(' ') }));
const REMOTE = ROW_LIST.filter(({ row }) => row.local !== true);

beforeAll(async () => {
  writeFileSync(manifest, `name: web\nimage: ${IMAGE}\n`);
  writeFileSync(broken, 'name: [unclosed\n');
  writeFileSync(
    described,
    'listen: :443\nbaseUrl: https://berth.example.com\ncells: [{ name: eu1, servers: http://10.0.0.1 }]\n',
  );
  await plane.start();
  token = await plane.token('platform', 'platform-admin');
});

afterAll(async () => {
  await plane.dispose();
  rmSync(folder, { recursive: true, force: true });
});

// None of them changes anything, so they may run side by side; reads are tried again for a while when nothing listens.
describe.concurrent('bad input of every command', () => {
  it('has a row for each', () => {
    expect(Object.keys(ROWS).sort()).toEqual(LEAVES.map(({ path }) => path).sort());
  });

  it.each(LEAVES)('berth $path: a wrong flag, missing and superfluous words', async ({ path, body }) => {
    const words = path.split(' ');
    const flag = await type([...words, '--no-such-flag'], here());
    expect(flag).toMatchObject({ status: 2, out: '', err: expect.stringContaining('--no-such-flag') });
    expect(flag.err).toContain(`berth ${path} --help`);
    const needed = (body.parameters ?? []).filter(({ term }) => term.startsWith('<'));
    if (needed.length > 0) {
      const none = await type(words, here());
      expect(none).toMatchObject({ status: 2, out: '' });
      expect(none.err).toContain('missing required argument');
    }
    if (body.passThrough === true || (body.parameters ?? []).some(({ term }) => term.includes('...'))) return;
    const many = await type([...words, ...'abcdefg'.split('')], here());
    expect(many).toMatchObject({ status: 2, out: '' });
    expect(many.err).toContain('too many arguments');
  });

  it.each(LEAVES)('berth $path: a page of help with examples', async ({ path, body }) => {
    const help = await type([...path.split(' '), '--help'], {});
    expect(help).toMatchObject({ status: 0, err: '' });
    for (const part of ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'EXIT STATUS', 'EXAMPLES'])
      expect(help.out).toContain(part);
    for (const { line } of body.examples)
      expect(line).toMatch(new RegExp(`(?:^|\\| )berth ${path.split(' ')[0]}\\b`));
    expect(body.examples.length).toBeGreaterThan(0);
    expect(Math.max(...help.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(112);
  });

  it.each(REMOTE)('berth $path: nothing listens, and a token that is none', async ({ words, row }) => {
    const nowhere = 'http://127.0.0.1:1';
    const valid = (url: string): readonly string[] => [
      ...words,
      ...row.valid.map((word) => (word === 'URL' ? url : word)),
    ];
    const before = await state();
    const away = await type(valid(nowhere), { BERTH_CLI_SERVER: nowhere, BERTH_CLI_TOKEN: token }, row.input);
    expect(away.status).toBe(3);
    expect(away.err).toContain('nothing listens at 127.0.0.1:1');
    const stranger = { BERTH_CLI_SERVER: plane.url, BERTH_CLI_TOKEN: 'berth_pat_nobody_knows_this' };
    const refused = await type(valid(plane.url), stranger, row.input);
    // The version is told to everybody.
    if (words[0] !== 'version') {
      expect(refused.status).toBe(1);
      expect(refused.err).toContain('refused: unauthenticated');
    }
    expect(refused.err).not.toContain('nobody_knows');
    expect(await state()).toBe(before);
  });

  it.each(ROW_LIST.filter(({ row }) => row.missing !== undefined))(
    'berth $path: what is not there',
    async ({ words, row }) => {
      const before = await state();
      const outcome = await type([...words, ...row.valid], here(), row.input);
      expect(outcome.err).toContain(row.missing);
      expect(outcome.out).toBe('');
      expect(outcome.status).toBe(row.local === true ? 2 : 1);
      expect(await state()).toBe(before);
    },
  );

  it.each(ROW_LIST.filter(({ row }) => row.wrong !== undefined))(
    'berth $path: a wrong value',
    async ({ words, row }) => {
      const [values, message, status] = row.wrong ?? [[], '', 0];
      const before = await state();
      const outcome = await type([...words, ...values], here(), row.input);
      expect(outcome.err).toContain(message);
      expect(outcome).toMatchObject({ status, out: '' });
      expect(await state()).toBe(before);
    },
  );
});
