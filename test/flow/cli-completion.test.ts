import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { answeringAs } from '../support/harness/answering-as.ts';
import { BOOTSTRAP } from '../support/harness/caller.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { BERTH } from '../support/harness/program.ts';
import { typeCommand } from '../support/harness/typed-command.ts';
import { eventually } from '../support/eventually.ts';
import { WebStage } from '../support/harness/web-stage.ts';

const home = mkdtempSync(join(tmpdir(), 'berth-completion-'));
let stage: WebStage;
let here: Record<string, string>;

beforeAll(async () => {
  stage = await WebStage.start();
  here = { HOME: home, BERTH_CLI_SERVER: stage.plane.url, BERTH_CLI_TOKEN: stage.shop.token };
  const { call } = stage.shop;
  await call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'x' } });
  const image = 'localhost:1/shop/web:1.0.0';
  for (const name of ['sweep', 'mend']) await call('POST', '/api/v1/jobs', { name, image });
});
afterAll(async () => {
  await stage.close();
  rmSync(home, { recursive: true, force: true });
});

async function completed(line: string, environment: Readonly<Record<string, string>> = here) {
  const { status, out, err } = await typeCommand(['__complete', '--', ...line.split(' ')], environment);
  expect({ status, err }).toEqual({ status: 0, err: '' });
  return out.split('\n').filter((word) => word !== '');
}

describe('the word that is typed', () => {
  it('becomes a command, a subcommand, a flag or a value that is known', async () => {
    for (const { name } of COMMANDS) expect(await completed(name)).toContain(name);
    expect(await completed('node dr')).toEqual(['drain']);
    expect(await completed('apply --allow')).toEqual(['--allow-removal']);
    expect(await completed('get -o y')).toEqual(['yaml']);
    expect(await completed('get node')).toEqual(['nodes']);
    expect(await completed('help roll')).toEqual(['rollout']);
    expect(await completed('frobnicate x')).toEqual([]);
  });

  it('becomes the name of a record, of the kind that belongs there', async () => {
    const names = (await stage.ids()).map((id) => `web-${id.slice(-8)}`).toSorted();
    const { id = '' } = (await stage.shop.call('GET', '/api/v1/tokens')).body[0] ?? {};
    expect(await completed('logs ')).toEqual(['web']);
    expect(await completed('logs x')).toEqual([]);
    expect(await completed('get deployment ')).toEqual(['web']);
    expect(await completed('get no ')).toEqual(['n1']);
    expect(await completed('get events ')).toEqual(['web']);
    expect(await completed('get jobs ')).toEqual(['mend', 'sweep']);
    expect(await completed('delete job mend ')).toEqual(['sweep']);
    expect(await completed('job run s')).toEqual(['sweep']);
    expect(await completed('secret show ')).toEqual(['resources/db']);
    expect(await completed('token revoke ')).toContain(id);
    expect(await completed('describe instance ')).toEqual(names);
    expect(await completed('logs web --instance ')).toEqual(names);
    expect(await completed('volume promote data ')).toEqual(['n1']);
    expect(await completed('get deployment web -o json ')).toEqual([]);
  });

  it('is asked of the context and the tenant of the line', async () => {
    const admin = { ...here, BERTH_CLI_TOKEN: BOOTSTRAP };
    expect(await completed('get nodes --tenant sh', admin)).toEqual(['shop']);
    expect(await completed('get nodes --tenant=sh', admin)).toEqual(['--tenant=shop']);
    // As bash gives it.
    expect(await completed('get nodes --tenant = sh', admin)).toEqual(['shop']);
    expect(await completed('get nodes --tenant =', admin)).toContain('shop');
    expect(await completed('logs ', admin)).toEqual([]);
    expect(await completed('logs --tenant shop ', admin)).toEqual(['web']);
    expect(await completed('logs --tenant = shop ', admin)).toEqual(['web']);
    const contexts = { far: { server: 'http://127.0.0.1:1', token: 't' }, near: { server: 'x', token: 't' } };
    mkdirSync(join(home, '.config/berth'), { recursive: true });
    writeFileSync(join(home, '.config/berth/config.json'), JSON.stringify({ contexts }), { mode: 0o600 });
    expect(await completed('context use ')).toEqual(['far', 'near']);
    expect(await completed('logs --context n')).toEqual(['near']);
    expect(await completed('logs --context far ')).toEqual([]);
    rmSync(join(home, '.config'), { recursive: true });
  });

  it('is a file of this machine, or a word of another program, where that belongs there', async () => {
    expect(await completed('apply -f ')).toEqual([':files']);
    expect(await completed('cp ')).toEqual([':files']);
    expect(await completed('exec web -- ')).toEqual([]);
  });

  it('says nothing where nobody is logged in, nothing listens, or what listens is silent or refuses', async () => {
    await answeringAs(
      () => undefined,
      async (url) => expect(await completed('logs ', { ...here, BERTH_CLI_SERVER: url })).toEqual([]),
    );
    expect(await completed('logs ', { HOME: home })).toEqual([]);
    expect(await completed('logs ', { HOME: home, BERTH_CLI_SERVER: stage.plane.url })).toEqual([]);
    expect(await completed('logs ', { ...here, BERTH_CLI_SERVER: 'http://127.0.0.1:1' })).toEqual([]);
    expect(await completed('logs ', { ...here, BERTH_CLI_TOKEN: 'no' })).toEqual([]);
  });

  it('is never more than a name, whatever a control plane sends', async () => {
    const names = ['$(reboot)', 'a b', 'a;b', '`x`', '-rf', 'a\u001B[2J', 'a\nb', '*', 'good-1'];
    await answeringAs(
      (answer) => {
        answer.setHeader('content-type', 'application/json');
        answer.end(JSON.stringify(names.map((name) => ({ name }))));
      },
      async (url) => expect(await completed('logs ', { ...here, BERTH_CLI_SERVER: url })).toEqual(['good-1']),
    );
  });
});

/** What a shell at a terminal shows after these keys, each given when what the one before it leads to is there. */
async function typedInto(shell: string, keys: readonly (readonly [typed: string, leadsTo: string])[]) {
  const child = spawn('script', ['-qefc', shell, '/dev/null'], {
    env: { ...process.env, ...here, PATH: `${home}:${process.env['PATH'] ?? ''}`, TERM: 'dumb' },
  });
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  try {
    for (const [typed, leadsTo] of keys) {
      child.stdin.write(typed);
      await eventually(
        async () => shown,
        (text) => text.includes(leadsTo),
      );
    }
  } finally {
    child.kill('SIGKILL');
  }
}

const FUNCTION = 'berth() { echo "ran=$*"; }';

describe('at a terminal', () => {
  beforeAll(() => {
    ensurePackages(['fish', 'zsh']);
    symlinkSync(BERTH, join(home, 'berth'));
  });

  it.each([
    ['bash', 'bash --norc --noprofile -i', '. <(berth completion bash)', FUNCTION],
    ['zsh', 'zsh -f -i', 'autoload -U compinit && compinit -u -D; . <(berth completion zsh)', FUNCTION],
    [
      'fish',
      'fish --no-config -i',
      'berth completion fish | source',
      'function berth; echo "ran=$argv"; end',
    ],
  ])('%s completes names and flags', async (_name, shell, load, instead) => {
    // What is completed is carried out by a function, which the script does not ask.
    await typedInto(shell, [
      [`${load}; ${instead}; echo loa""ded\n`, 'loaded'],
      ['berth logs w\t', 'logs web'],
      ['--prev\t', '--previous'],
      ['\n', 'ran=logs web --previous'],
    ]);
  });
});
