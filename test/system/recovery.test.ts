import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runRecovery } from '../../src/server/recovery/commands.ts';
import { failureOf, STATUS } from '../../src/server/recovery/failure.ts';
import { eventually } from '../support/eventually.ts';
import type { Caller } from '../support/harness/caller.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { BERTH, Program } from '../support/harness/program.ts';

/** `berth server backup`, `verify`, `restore` and `rescue` as an operator types them, beside a control plane that runs. */
const folder = mkdtempSync(join(tmpdir(), 'berth-recovery-'));
const passphrase = join(folder, 'passphrase');
const plane = new PlaneProcess();
let shop: { readonly call: Caller; readonly token: string };

interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

function spawned(...words: readonly string[]): Ended {
  const { status, stdout, stderr } = spawnSync(BERTH, ['server', ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  return { status, out: stdout, err: stderr };
}

/** The same in this process, with a key that is cheaper to make. */
async function type(name: string, ...args: readonly string[]): Promise<Ended> {
  let out = '';
  const say = (line: string): void => {
    out += `${line}\n`;
  };
  const signal = new AbortController().signal;
  try {
    await runRecovery(name, { args, environment: {}, say, signal, cost: 1024 });
    return { status: 0, out, err: '' };
  } catch (error) {
    const { status, message } = failureOf(error);
    return { status, out, err: message };
  }
}

const sealed = (name: string, ...words: readonly string[]): Promise<Ended> =>
  type(name, ...words, '--passphrase-file', passphrase);
const at = (name: string): string => join(folder, name);

/** Everything that the interface shows of it. */
async function shown(call: Caller): Promise<unknown> {
  const { body: volumes } = await call('GET', '/api/v1/dvm/volumes');
  const { body: networks } = await call('GET', '/api/v1/networks');
  const { body: audit } = await call('GET', '/api/v1/audit');
  return { volumes, networks, audit };
}

beforeAll(async () => {
  writeFileSync(passphrase, 'correct horse battery\n', { mode: 0o600 });
  await plane.start();
  shop = await plane.tenant('shop');
  for (const name of ['data', 'more'])
    expect(
      (
        await shop.call('POST', '/api/v1/dvm/volumes', {
          name,
          class: 'replicated',
          type: 'volume',
          sizeBytes: 2 ** 28,
        })
      ).status,
    ).toBe(201);
  await eventually(
    'the controllers have said what they have to say',
    () => shop.call('GET', '/api/v1/dvm/volumes'),
    ({ body }) => body.every(({ message }: { readonly message?: string }) => message !== undefined),
  );
}, 60_000);

afterAll(async () => {
  await plane.dispose();
  rmSync(folder, { recursive: true, force: true });
});

describe('a backup of a control plane', () => {
  it('is made beside it, verified, and restored into an empty folder that serves the same', async () => {
    const before = await shown(shop.call);
    const madeMs = Date.now();
    const made = spawned(
      'backup',
      '--to',
      at('one.backup'),
      '--data-dir',
      plane.dataDir,
      '--passphrase-file',
      passphrase,
    );
    expect(made).toMatchObject({ status: 0, err: '' });
    expect(made.out).toContain('keys.tokenKeyFile');
    // Nothing of it can be read, not even what most records have in common.
    const bytes = readFileSync(at('one.backup')).toString('latin1');
    for (const text of ['"v":1', 'tenantId', 'shop']) expect(bytes.includes(text)).toBe(false);

    const checked = await sealed('verify', at('one.backup'));
    expect(checked).toMatchObject({ status: 0, err: '' });
    const [, digest] = /sha256 ([0-9a-f]{64})/.exec(made.out) ?? [];
    expect(checked.out).toContain(`${digest}`);

    const elsewhere = new PlaneProcess({}, at('restored'));
    expect(await sealed('restore', at('one.backup'), '--data-dir', elsewhere.dataDir)).toMatchObject({
      status: 0,
      err: '',
    });
    await elsewhere.start();
    try {
      const { call } = { call: elsewhere.as(shop.token) };
      const after = await shown(call);
      // An epoch that no node was given.
      const lowered: unknown = JSON.parse(JSON.stringify(after), (name, value: unknown) =>
        name === 'epoch' && typeof value === 'number' && value > madeMs ? 1 : value,
      );
      expect(withoutRevisions(lowered)).toEqual(withoutRevisions(before));
      const { body: audit } = await elsewhere.admin('GET', '/api/v1/audit');
      expect(audit).toContainEqual(expect.objectContaining({ action: 'store.restored', actor: 'system' }));
    } finally {
      await elsewhere.dispose();
    }
  }, 60_000);

  it('names what is wrong with a file, each with a status of its own', async () => {
    expect((await sealed('backup', '--to', at('good.backup'), '--data-dir', plane.dataDir)).status).toBe(0);
    const good = readFileSync(at('good.backup'));
    const wrong = at('wrong');
    writeFileSync(wrong, 'another passphrase\n', { mode: 0o600 });
    const file = (name: string, bytes: Buffer): string => {
      writeFileSync(at(name), bytes);
      return at(name);
    };
    const flipped = Buffer.from(good);
    flipped.writeUInt8(flipped.readUInt8(good.length - 100) ^ 1, good.length - 100);
    const cases: readonly (readonly [Ended, keyof typeof STATUS, string])[] = [
      [
        await type('verify', at('good.backup'), '--passphrase-file', wrong),
        'wrongPassphrase',
        'not the one of this backup',
      ],
      [await sealed('verify', file('cut', good.subarray(0, good.length - 1))), 'truncated', 'cut off'],
      [await sealed('verify', file('flipped', flipped)), 'damaged', 'is damaged'],
      [await sealed('verify', file('none', Buffer.from('hello'))), 'notABackup', 'not a backup'],
      [
        await sealed('restore', at('good.backup'), '--data-dir', plane.dataDir),
        'notEmpty',
        'there is a store already',
      ],
      [
        await sealed('backup', '--to', at('good.backup'), '--data-dir', plane.dataDir),
        'notEmpty',
        'exists already',
      ],
    ];
    for (const [ended, status, text] of cases) {
      expect(ended).toMatchObject({ status: STATUS[status], out: '' });
      expect(ended.err).toContain(text);
    }
    // What is refused leaves nothing behind.
    const empty = at('empty');
    expect((await sealed('restore', at('cut'), '--data-dir', empty)).status).toBe(STATUS.truncated);
    expect(existsSync(empty)).toBe(false);
  }, 60_000);

  it('has the keys apart on demand, and is worth nothing without them', async () => {
    const kept = ['--keys-to', at('keys.backup')];
    expect(
      (await sealed('backup', '--to', at('bare.backup'), ...kept, '--data-dir', plane.dataDir)).status,
    ).toBe(0);
    expect(await sealed('verify', at('keys.backup'))).toMatchObject({ status: STATUS.usage });
    const folderOf = at('apart');
    const restore = ['restore', at('bare.backup'), '--data-dir', folderOf] as const;
    expect((await sealed(...restore, '--keys-from', at('keys.backup'))).status).toBe(0);
    for (const key of ['token.key', 'root.key'])
      expect(readFileSync(join(folderOf, 'keys', key))).toEqual(
        readFileSync(join(plane.dataDir, 'keys', key)),
      );
    const other = at('other-keys');
    expect((await sealed('restore', at('bare.backup'), '--data-dir', other)).status).toBe(0);
    expect(existsSync(join(other, 'keys'))).toBe(false);
  }, 60_000);

  it('keeps as many in a folder as it is told to, and only its own', async () => {
    const into = ['backup', '--to', `${at('kept')}/`, '--keep', '2', '--data-dir', plane.dataDir] as const;
    expect((await sealed(...into)).status).toBe(0);
    const other = join(at('kept'), 'berth-20200101T000000Z-r1.backup');
    writeFileSync(other, 'a file of somebody else');
    for (let more = 0; more < 2; more += 1) {
      // The name has the second in it.
      spawnSync('sleep', ['1.1']);
      expect((await sealed(...into)).status).toBe(0);
    }
    const names = readdirSync(at('kept')).toSorted();
    expect(names).toHaveLength(3);
    expect(names).toContain('berth-20200101T000000Z-r1.backup');
  }, 60_000);

  it.concurrent('goes on by its schedule after one that failed, keeps as many as told, and ends between two', async () => {
    const into = at('scheduled');
    const older = 'berth-20200101T000000Z-r1.backup';
    expect((await sealed('backup', '--to', at('older'), '--data-dir', plane.dataDir)).status).toBe(0);
    mkdirSync(into);
    copyFileSync(at('older'), join(into, older));
    const said: string[] = [];
    const ending = new AbortController();
    const words = ['--to', `${into}/`, '--every', '1s', '--keep', '1', '--data-dir', plane.dataDir];
    const ended = runRecovery('backup', {
      args: [...words, '--passphrase-file', passphrase],
      environment: {},
      say: (line) => said.push(line),
      signal: ending.signal,
      cost: 1024,
    });
    const saying = (text: string, times = 1) =>
      eventually(
        text,
        () => said.filter((line) => line.includes(text)),
        (lines) => lines.length >= times,
      );
    try {
      await saying(`removed ${older}`);
      expect(readdirSync(into)).toHaveLength(1);
      // Where the folder was there is a file: the next one cannot be made, the one after it can.
      rmSync(into, { recursive: true });
      writeFileSync(into, '');
      await saying('no backup was made: ');
      rmSync(into);
      await saying('.backup: ', 2);
    } finally {
      ending.abort();
    }
    await ended;
    const [only = '', ...others] = readdirSync(into);
    expect(others).toEqual([]);
    expect((await sealed('verify', join(into, only))).status).toBe(0);
  }, 60_000);

  it.concurrent('leaves nothing of the one that it was making when it was stopped', async () => {
    const into = at('stopped');
    const words = ['--to', `${into}/`, '--every', '24h', '--data-dir', plane.dataDir];
    const program = new Program(
      [BERTH, 'server', 'backup', ...words, '--passphrase-file', passphrase],
      process.env,
    );
    try {
      const files = () => (existsSync(into) ? readdirSync(into) : []);
      // Its key is made while the file is already open.
      await program.until('a file that is begun', 30_000, () =>
        files().find((name) => name.endsWith('.partial')),
      );
      expect(await program.end('SIGTERM')).toBe(0);
      expect([files(), program.said]).toEqual([[], '']);
    } finally {
      await program.end('SIGKILL');
    }
  }, 60_000);

  it.each([
    [['backup'], '--to FILE or --to FOLDER/ is missing'],
    [['backup', '--to', 'x', '--keep', '2'], 'need a folder'],
    [['backup', '--to', 'x/', '--keep', 'some'], '--keep must be a number'],
    [['backup', '--to', 'x/', '--every', 'often'], '--every must be a duration'],
    [['backup', '--to', 'x', '--data-dir', '/nowhere'], 'a passphrase is needed'],
    [['backup', '--to', 'x', '--passphrase-file', '/nowhere/at-all'], 'cannot be read'],
    [['backup', '--to', 'x', '--dir', 'y'], 'unknown flag --dir'],
    [['verify'], 'the backup is missing'],
    [['verify', '/nowhere.backup', '--passphrase-file', passphrase], 'there is no file'],
    [['verify', 'a', 'b'], 'no word is expected'],
    [['restore'], 'the backup is missing'],
    [['migrate'], '--to-config FILE is missing'],
    [['rescue', 'me'], 'no word is expected'],
    [['rescue', '--data-dir', '/nowhere'], 'there is no /nowhere/keys/token.key'],
    [['health', 'now'], 'no word is expected'],
    [['health', '--listen', 'here'], 'listen must be host:port'],
  ])('berth server %j says what is wrong', async ([name = '', ...words], text) => {
    const ended = await type(name, ...words);
    expect(ended).toMatchObject({ status: STATUS.usage, out: '' });
    expect(ended.err).toContain(text);
  });

  it('is a word of the program, whose help names every command and status', () => {
    expect(spawned('backups')).toMatchObject({
      status: STATUS.usage,
      err: expect.stringContaining('did you mean backup?'),
    });
    const help = spawned('restore', '--help');
    expect(help).toMatchObject({ status: 0, err: '' });
    for (const status of Object.values(STATUS)) expect(help.out).toContain(`\n  ${status} `);
  });

  it('takes a passphrase from nowhere that others can read', async () => {
    const open = at('open');
    writeFileSync(open, 'correct horse battery\n');
    chmodSync(open, 0o644);
    expect(await type('verify', at('one.backup'), '--passphrase-file', open)).toMatchObject({
      status: STATUS.usage,
      err: expect.stringContaining('chmod 600'),
    });
  });
});

describe('a control plane that nobody has a token for', () => {
  it('gets one on its own machine while it is stopped, and tells so in the audit', async () => {
    const rescue = ['rescue', '--data-dir', plane.dataDir] as const;
    expect(await type(...rescue)).toMatchObject({
      status: 1,
      err: expect.stringContaining('is in use by process'),
    });
    await plane.end('SIGTERM');
    const made = await type(...rescue);
    expect(made).toMatchObject({ status: 0, err: '' });
    expect((await type(...rescue)).status).toBe(STATUS.notEmpty);
    await plane.start();
    const token = readFileSync(join(plane.dataDir, 'rescue-token'), 'utf8').trim();
    expect(made.out).not.toContain(token);
    const call = plane.as(token);
    expect((await call('POST', '/api/v1/tenants', { slug: 'rescued' })).status).toBe(201);
    const { body: audit } = await call('GET', '/api/v1/audit');
    expect(audit).toContainEqual(
      expect.objectContaining({
        action: 'token.rescued',
        actor: 'system',
        source: expect.stringContaining('this machine, user '),
      }),
    );
  }, 60_000);
});

function withoutRevisions(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, member: unknown) => (name === 'revision' ? undefined : member)),
  );
}
