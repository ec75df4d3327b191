import { createHash, randomBytes } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { BOOTSTRAP } from '../support/harness/caller.ts';
import { BOX, type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { openPage, seriousFindings, signIn, startBrowser } from '../support/harness/browser.ts';

import { postgresImage } from '../support/harness/postgres-image.ts';
import { TypedProcess } from '../support/harness/typed-process.ts';

/** Commands that somebody sits at, in containers of Docker and of Podman, typed into the program itself. */

const POSTGRES = 'berth.test/postgres:15';
const BINARY = randomBytes(6 * 2 ** 20);
const home = mkdtempSync(join(tmpdir(), 'berth-terminal-'));

/**
 * On both engines in the long tier. In every run on Docker, where `engine` shows what each engine does for it (streams, exit codes), and
 * signals, ports, bytes, terminals, timeouts and files are tried here on Podman as well.
 */
const ON_ENGINES = LONG_TIER ? ['web', 'pod'] : ['web'];

let cluster: Cluster;
let shop: Tenant & { readonly token: string };

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  const postgres = {
    entries: postgresImage().files ?? [],
    changes: ['USER postgres', 'CMD ["postgres-start"]'],
  };
  await Promise.all([
    cluster.node('docker-1', shop, {
      labels: { engine: 'docker' },
      images: LONG_TIER ? { [POSTGRES]: postgres } : {},
    }),
    cluster.node('podman-1', shop, { labels: { engine: 'podman' }, podman: true }),
  ]);
  const on = (engine: string) => ({ placement: { constraints: { engine } } });
  await cluster.deploy(shop, { name: 'web', ...on('docker') });
  await cluster.deploy(shop, { name: 'pod', ...on('podman') });
  await cluster.deploy(shop, {
    name: 'db',
    ...(LONG_TIER && {
      image: POSTGRES,
      command: ['sh', '-c', 'export POSTGRES_PASSWORD=$HOSTNAME; exec postgres-start'],
    }),
    ...on('docker'),
  });
  await Promise.all(['web', 'pod', 'db'].map((name) => cluster.phase(shop, name, 'Running')));
}, 120_000);

afterAll(async () => {
  await cluster.stop();
  rmSync(home, { recursive: true });
});

function berth(...words: readonly string[]): TypedProcess {
  return new TypedProcess(words, { url: cluster.plane.url, token: shop.token, home });
}

/** In a terminal. */
function typed(line: string): TypedProcess {
  return new TypedProcess([], { url: cluster.plane.url, token: shop.token, home, line });
}

async function processes(name: string, of: string): Promise<number> {
  const { body } = await cluster.exec(shop, name, ['ps', '-o', 'args']);
  return (body.stdout as string).split('\n').filter((line) => line.includes(of)).length;
}

describe('a command with input', () => {
  // Every byte and every status: the cases below.
  it.runIf(LONG_TIER)('is psql with a file of SQL, and ends with its exit status', async () => {
    const psql = [
      'exec',
      '-i',
      'db',
      '--',
      'psql',
      '-h',
      '/tmp',
      '-U',
      'postgres',
      '-At',
      '-v',
      'ON_ERROR_STOP=1',
    ];
    await eventually(
      'the database answers',
      async () => (await berth('exec', 'db', '--', 'pg_isready', '-h', '/tmp').end()).code,
      (code) => code === 0,
    );
    const rows = Array.from({ length: 1000 }, (_, row) => `INSERT INTO orders VALUES (${row});`).join('\n');
    const { out, code } = await berth(...psql).end(
      `CREATE TABLE orders (id int);\n${rows}\nSELECT count(*) FROM orders;`,
    );
    expect([out.toString().split('\n').at(-2), code]).toEqual(['1000', 0]);
    expect((await berth(...psql).end('SELECT nonsense;')).code).toBe(3);
  });

  it.each(['web', 'pod'])('takes and gives every byte: %s', async (name) => {
    const { out, code } = await berth('exec', '-i', name, '--', 'cat').end(BINARY);
    expect(code).toBe(0);
    expect([out.length, digest(out)]).toEqual([BINARY.length, digest(BINARY)]);
  });

  it.each(ON_ENGINES)('tells output from errors, and ends as the command does: %s', async (name) => {
    const line = 'echo printed; echo told >&2; exit 7';
    const { out, err, code } = await berth('exec', name, '--', 'sh', '-c', line).end();
    expect([out.toString(), err, code]).toEqual(['printed\n', 'told\n', 7]);
  });
});

describe('a command that goes on', () => {
  it.each(['web', 'pod'])('is interrupted by Ctrl-C, and says how it ended: %s', async (name) => {
    const command = berth(
      'exec',
      '-i',
      name,
      '--',
      'sh',
      '-c',
      'trap "exit 42" INT; echo ready; while :; do sleep 1; done',
    );
    await eventually(
      'it runs',
      async () => command.printed,
      (text) => text.includes('ready'),
    );
    command.child.kill('SIGINT');
    expect((await command.ended()).code).toBe(42);
  });

  it.each(['web', 'pod'])('is killed at its timeout, and when its client is gone: %s', async (name) => {
    const { code, err } = await berth('exec', '--timeout', '1s', name, '--', 'sleep', '4001').end();
    expect([code, err]).toEqual([1, 'berth: the command did not end within 1s and was killed\n']);
    const command = berth('exec', '-i', name, '--', 'sleep', '4002');
    await eventually(
      'it runs',
      () => processes(name, 'sleep 4002'),
      (count) => count === 1,
    );
    command.child.kill('SIGKILL');
    await eventually(
      'both are gone',
      () => processes(name, 'sleep 400'),
      (count) => count === 0,
    );
  });
});

describe('a terminal', () => {
  it.each(['web', 'pod'])('has the size of this one, also when that changes: %s', async (name) => {
    const shell = typed(
      `stty cols 101 rows 31; (sleep 3; stty cols 77 rows 22 < /dev/tty) & berth exec -it ${name} -- sh`,
    );
    shell.type('stty size\n');
    await eventually(
      'its size',
      async () => shell.printed,
      (text) => text.includes('31 101'),
    );
    shell.type('while [ "$(stty size)" = "31 101" ]; do sleep 0.1; done; stty size\n');
    await eventually(
      'the new size',
      async () => shell.printed,
      (text) => text.includes('22 77'),
    );
    // A key, not a signal to the program here.
    shell.type('sleep 4003\n');
    await eventually(
      'it sleeps',
      () => processes(name, 'sleep 4003'),
      (count) => count === 1,
    );
    shell.type('\x03');
    shell.type('exit 9\n');
    expect((await shell.ended()).code).toBe(9);
  });

  it('is left by its keys, and the command goes on', async () => {
    const shell = typed('berth exec -it web -- sleep 4004');
    await eventually(
      'it sleeps',
      () => processes('web', 'sleep 4004'),
      (count) => count === 1,
    );
    shell.type('\x10\x11');
    const { code, out } = await shell.ended();
    expect([code, out.toString()]).toEqual([
      0,
      expect.stringContaining('left; the command goes on') as string,
    ]);
    expect(await processes('web', 'sleep 4004')).toBe(1);
  });
});

describe('a terminal in the dashboard', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  const opened = async (path: string, token = shop.token) => {
    const watched = await openPage(browser);
    await signIn(watched.page, cluster.plane.url, token);
    await watched.page.goto(cluster.plane.url + path);
    await watched.page.getByRole('button', { name: 'Open' }).click();
    const screen = watched.page.locator('.xterm-rows');
    const says = (text: string | RegExp) => screen.getByText(text).first().waitFor();
    await watched.page.getByText('Connected').waitFor();
    return { ...watched, screen, says };
  };

  it('types, pastes, interrupts and grows with its window, and says how it ended', async () => {
    const { page, complaints, says } = await opened('/deployments/web?tab=terminal');
    const { keyboard } = page;
    await says(/[#$]/);
    await keyboard.type('stty size; echo $((40+2))\n');
    await says(/^\d+ \d+$/);
    await says(/^42$/);
    // All colours are drawn by the rules of the page, and what is printed stays text.
    await keyboard.type(`printf '\\033[38;2;250;80;10mtrue\\033[0m \\033[31mred\\033[0m <b>bold</b>\\n'\n`);
    await says(/^true$/);
    const colour = await page
      .locator('.xterm-rows span', { hasText: /^true$/ })
      .evaluate((element) => (element as unknown as { style: { color: string } }).style.color);
    expect(colour).toMatch(/^rgb/);
    await says('<b>bold</b>');
    await page.evaluate(`(() => {
      const data = new DataTransfer();
      data.setData('text/plain', 'echo pasted-$((1+1))\\n');
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
    })()`);
    await says(/^pasted-2$/);
    await keyboard.type('sleep 4005\n');
    await eventually(
      'it sleeps',
      () => processes('web', 'sleep 4005'),
      (count) => count === 1,
    );
    await keyboard.press('Control+c');
    await eventually(
      'it is interrupted',
      () => processes('web', 'sleep 4005'),
      (count) => count === 0,
    );
    await page.setViewportSize({ width: 700, height: 700 });
    await keyboard.type('clear; stty size | tr " " x\n');
    await says(/^\d+x[4-7]\d$/);
    expect(await seriousFindings(page, 'terminal')).toEqual([]);
    // Out of it by keyboard, and back.
    await keyboard.press('Shift+Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('End');
    await keyboard.press('Tab');
    await keyboard.type('exit 7\n');
    await page.getByText('The command ended with exit status 7.').waitFor();
    expect(complaints).toEqual([]);
  });

  it('stays prompt while a command floods it, and takes its command with it', async () => {
    const { page, says } = await opened('/deployments/pod?tab=terminal');
    await says(/[#$]/);
    await page.keyboard.type('yes flooded\n');
    await says('flooded');
    await page.keyboard.press('Control+c');
    await page.keyboard.type('clear; echo still-$((1+1)); sleep 4006\n');
    await says(/^still-2$/);
    await eventually(
      'it sleeps',
      () => processes('pod', 'sleep 4006'),
      (count) => count === 1,
    );
    await page.getByRole('link', { name: 'Overview' }).click();
    await eventually(
      'it is gone',
      () => processes('pod', 'sleep 4006'),
      (count) => count === 0,
    );
  });

  it('is not offered to a viewer, and ends when its token is revoked', async () => {
    const made = async (role: string) =>
      (await shop.call('POST', '/api/v1/tokens', { name: role, role })).body;
    const viewer = await openPage(browser);
    await signIn(viewer.page, cluster.plane.url, (await made('viewer')).token as string);
    await viewer.page.goto(`${cluster.plane.url}/deployments/web`);
    await viewer.page.getByRole('tab', { name: 'Logs' }).waitFor();
    expect(await viewer.page.getByRole('tab', { name: 'Terminal' }).count()).toBe(0);
    const deployer = await made('deployer');
    const { page } = await opened('/deployments/web?tab=terminal', deployer.token as string);
    await page.keyboard.type('sleep 4007\n');
    await eventually(
      'it sleeps',
      () => processes('web', 'sleep 4007'),
      (count) => count === 1,
    );
    await shop.call('DELETE', `/api/v1/tokens/${deployer.id as string}`);
    await page.getByText('Your session has ended').waitFor();
    await eventually(
      'it is gone',
      () => processes('web', 'sleep 4007'),
      (count) => count === 0,
    );
  });

  it.runIf(LONG_TIER)('is of the tenant that a platform administrator acts for', async () => {
    const { page } = await openPage(browser);
    await signIn(page, cluster.plane.url, BOOTSTRAP);
    await page.getByRole('button', { name: /choose another/ }).click();
    await page.getByRole('menuitemradio', { name: 'shop' }).click();
    await page.getByRole('button', { name: 'Tenant shop: choose another' }).waitFor();
    await page.goto(`${cluster.plane.url}/deployments/web?tab=terminal`);
    await page.getByLabel('Command').fill('/bin/nothing');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText(/^The command ended with exit status 12[67]\.$/).waitFor();
    await page.getByLabel('Command').fill(`sh -c 'echo "in  here"; exit 3'`);
    await page.getByRole('button', { name: 'Open again' }).click();
    await page.locator('.xterm-rows').getByText('in  here').waitFor();
    await page.getByText('The command ended with exit status 3.').waitFor();
  });
});

describe('files', () => {
  it.each(['web', 'pod'])('go in and come back as they were: %s', async (name) => {
    const source = mkdtempSync(join(home, 'files-'));
    mkdirSync(join(source, 'sub'));
    writeFileSync(join(source, 'sub', 'binary'), BINARY);
    writeFileSync(join(source, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    symlinkSync('run.sh', join(source, 'link'));
    const sent = await berth('cp', source, `${name}:/tmp/site`).end();
    expect([sent.code, sent.err]).toEqual([0, expect.stringContaining('Copy')]);
    // Into a folder that is there.
    expect((await berth('cp', join(source, 'run.sh'), `${name}:/tmp`).end()).code).toBe(0);
    const { out } = await berth('exec', name, '--', 'ls', '/tmp/run.sh', '/tmp/site/link').end();
    expect(out.toString()).toBe('/tmp/run.sh\n/tmp/site/link\n');
    const target = join(home, `back-${name}`);
    expect((await berth('cp', `${name}:/tmp/site`, target).end()).code).toBe(0);
    expect(digest(readFileSync(join(target, 'sub', 'binary')))).toBe(digest(BINARY));
    expect([lstatSync(join(target, 'run.sh')).mode & 0o777, readlinkSync(join(target, 'link'))]).toEqual([
      0o755,
      'run.sh',
    ]);
    const missing = await berth('cp', `${name}:/nowhere`, target).end();
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('exec_unavailable')]);
  });
});

describe('a port', () => {
  it.each(['web', 'pod'])('is reached from here, by several at once: %s', async (name) => {
    const page = randomBytes(300_000).toString('hex');
    writeFileSync(join(home, 'page'), page);
    await berth('cp', join(home, 'page'), `${name}:/tmp/page`).end();
    const served = berth('exec', '-i', name, '--', 'httpd', '-f', '-p', '8099', '-h', '/tmp');
    await eventually(
      'it listens',
      () => processes(name, 'httpd -f -p 8099'),
      (count) => count === 1,
    );
    const forwarded = berth('port-forward', name, '0:8099');
    const port = await eventually(
      'it listens here',
      async () => /127\.0\.0\.1:(\d+) →/.exec(forwarded.told)?.[1],
      (found) => found !== undefined,
    );
    const ask = async (): Promise<boolean> =>
      (await (await fetch(`http://127.0.0.1:${port}/page`, { headers: { connection: 'close' } })).text()) ===
      page;
    expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual([true, true, true, true]);
    forwarded.child.kill('SIGINT');
    expect((await forwarded.ended()).code).toBe(130);
    served.child.kill('SIGKILL');
  });
});

describe('what it takes', () => {
  it('is shown by deployment, by node and one by one', async () => {
    const shown = async (...words: readonly string[]) => (await berth('top', ...words).end()).out.toString();
    await eventually(
      'all are measured',
      () => shown('instances'),
      (text) => !/ -\s/.test(text) && text.includes('\nweb-'),
    );
    expect(await shown()).toMatch(
      /^DEPLOYMENT +INSTANCES +CPU +MEMORY\ndb +1 +\d+\.\d\d +\d.*\npod .*\nweb /,
    );
    expect(await shown('nodes')).toMatch(/\ndocker-1 +2 +\d+\.\d\d .*\npodman-1 +1 /);
    expect((await shown('web')).split('\n')).toHaveLength(3);
  });
});

describe('who was where', () => {
  it('is in the audit, without what may be a credential', async () => {
    await berth('exec', 'web', '--', 'sh', '-c', 'exit 3', '--password=hunter2-Hunter2').end();
    const { body } = await shop.call('GET', '/api/v1/audit?limit=1000');
    const lines = (body as { action: string; details?: Record<string, unknown> }[]).filter(({ details }) =>
      String(details?.['command']).startsWith('sh -c "exit 3"'),
    );
    expect(lines.map(({ action }) => action).toSorted()).toEqual([
      'deployment.exec',
      'deployment.exec_ended',
    ]);
    expect(lines.find(({ action }) => action === 'deployment.exec_ended')?.details).toMatchObject({
      deployment: 'web',
      command: 'sh -c "exit 3" (redacted)',
      exitCode: 3,
      durationMs: expect.any(Number) as number,
    });
  });
});

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const PASSWORD = 'hunter2-of-the-shop';

async function idsOf(name: string): Promise<readonly string[]> {
  const { body } = await shop.call('GET', `/api/v1/deployments/${name}/instances`);
  return body.map(({ id }: { id: string }) => id);
}

async function printed(name: string): Promise<string> {
  return (await berth('logs', name).end()).out.toString();
}

describe('one instance', () => {
  const said = 'echo "begins with $DB_password"; trap "echo reads anew" HUP; while :; do sleep 0.2; done';
  beforeAll(async () => {
    await shop.call('PUT', '/api/v1/secrets/resources/db', { values: { password: PASSWORD } });
    for (const engine of ['docker', 'podman'])
      await cluster.deploy(shop, {
        name: `on-${engine}`,
        command: ['sh', '-c', said],
        healthCheck: { type: 'exec', command: ['ls', '/etc/hostname'], interval: '1s' },
        secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'external' }],
        placement: { constraints: { engine } },
      });
    await Promise.all(['on-docker', 'on-podman'].map((name) => cluster.phase(shop, name, 'Running')));
  }, 60_000);

  it.each(['on-docker', 'on-podman'])(
    'is described, and shows no value that it was given: %s',
    async (name) => {
      await eventually(
        'it printed',
        () => printed(name),
        (text) => text.includes('begins with'),
      );
      expect(await printed(name)).toBe('begins with [redacted]\n');
      const shown = await eventually(
        'its checks are told',
        async () => (await berth('describe', 'instance', `${name}-1`).end()).out.toString(),
        (text) => text.includes('/etc/hostname'),
      );
      expect(shown).toContain('resources/db version 1');
      expect(shown).toContain('instance.started');
      expect(shown).toContain('begins with [redacted]');
      expect(shown).not.toContain(PASSWORD);
    },
  );

  const restarted = LONG_TIER ? ['on-docker', 'on-podman'] : ['on-docker'];
  it.each(restarted)('is sent a signal, restarted, killed and stopped: %s', async (name) => {
    const [id = ''] = await idsOf(name);
    const one = `${name}-${id.slice(-8)}`;
    const at = `/api/v1/deployments/${name}/instances/${id}`;
    const now = async () => (await shop.call('GET', at)).body;
    const { code, out } = await berth('signal', 'instance', one, 'HUP').end();
    expect([code, out.toString()]).toEqual([0, expect.stringContaining('SIGHUP was sent')]);
    await eventually(
      'it reads anew',
      () => printed(name),
      (text) => text.includes('reads anew'),
    );
    const before = await now();
    const ordered = await berth('restart', 'instance', one).end();
    expect(ordered.code).toBe(0);
    expect(ordered.err).toContain('nothing of');
    const after = await eventually(
      'another container in its place',
      now,
      (body) => body.containerId !== before.containerId && body.health === 'healthy',
    );
    expect([after.attempt, after.nodeId]).toEqual([1, before.nodeId]);
    expect((await berth('signal', 'instance', one, 'SIGKILL').end()).code).toBe(0);
    await eventually(
      'it is started again',
      now,
      (body) => body.startedAt !== after.startedAt && body.state === 'running',
    );
    expect((await berth('stop', 'instance', one).end()).code).toBe(0);
    const left = await eventually(
      'a fresh one',
      () => idsOf(name),
      (ids) => ids.length === 1 && ids[0] !== id,
    );
    expect(left).toHaveLength(1);
    await cluster.phase(shop, name, 'Running');
  });

  it('keeps what jobs print without them too', async () => {
    await shop.call('POST', '/api/v1/jobs', {
      kind: 'Job',
      name: 'tells',
      image: BOX,
      command: ['sh', '-c', 'echo "password $DB_password"'],
      secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'external' }],
      placement: { constraints: { engine: 'docker' } },
    });
    const text = await eventually(
      'it printed',
      async () => String((await shop.call('GET', '/api/v1/jobs/tells/logs')).body),
      (body) => body.includes('password'),
    );
    expect(text).toBe('password [redacted]\n');
  });
});
