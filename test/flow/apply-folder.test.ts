import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';
import { type CommandOutcome, typeCommand } from '../support/harness/typed-command.ts';

let plane: ControlPlane;
let shop: TestTenant;
let home: string;
let folder: string;
let count = 0;

const berth = (...words: readonly string[]): Promise<CommandOutcome> =>
  typeCommand(words, {
    HOME: home,
    BERTH_CLI_SERVER: plane.url,
    BERTH_CLI_TOKEN: shop.tokens['tenant-admin'],
  });

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const names = async (what: string): Promise<readonly string[]> =>
  (await berth('get', what, '-o', 'name')).out.split('\n').filter((line) => line !== '');

beforeAll(async () => {
  plane = await startControlPlane();
  home = mkdtempSync(join(tmpdir(), 'berth-apply-folder-'));
});
beforeEach(async () => {
  count += 1;
  shop = await plane.tenant(`shop-${count}`);
  folder = join(home, `files-${count}`);
  mkdirSync(folder);
});
afterAll(async () => {
  await plane.close();
  rmSync(home, { recursive: true, force: true });
});

const deployment = (name: string, ...lines: readonly string[]): string =>
  ['kind: Deployment', `name: ${name}`, `image: ${UNREACHABLE_IMAGE}`, ...lines, ''].join('\n');

describe('a folder of documents', () => {
  it('is written in the order in which they refer to one another, and left alone the second time', async () => {
    file('10-web.yaml', deployment('web', 'dependsOn:', '  db: started'));
    file('20-db.yml', deployment('db', 'access:', '  from: [web]'));
    file('.hidden.yaml', 'not: [a document');
    const dry = await berth('apply', '-f', folder, '--dry-run');
    expect(dry).toMatchObject({ status: 5, out: '' });
    expect(dry.err.match(/^\+ \w+/gm)).toEqual(['+ db', '+ web']);
    expect(await names('deployments')).toEqual([]);
    expect((await berth('apply', '-f', folder, '--no-wait')).out).toMatch(
      /^deployment\/db created .*\ndeployment\/web created .*\n$/,
    );
    expect((await berth('apply', '-f', folder, '--no-wait')).out).toBe(
      'deployment/db unchanged\ndeployment/web unchanged\n',
    );
  });

  it('with refusals writes nothing, and says all of them with file, line and column', async () => {
    const good = file('a.yaml', deployment('good'));
    const several = file(
      'b.yaml',
      `${deployment('one', 'replicas: -1', 'ports:', '  - container: 80', '  - container: 99999')}---\n${deployment('two', 'helthCheck: {}')}`,
    );
    const json = file('c.json', `{\n  "name": "three",\n  "image": "nginx"\n}\n`);
    const refused = await berth('apply', '-f', folder);
    expect(refused).toMatchObject({ status: 1, out: '' });
    const places = refused.err.split('\n').filter((line) => line.startsWith('  in '));
    expect(places.map((line) => line.slice(5).trim())).toEqual([
      `${several}:4:1, deployment one`,
      `${several}:7:5, deployment one`,
      `${several}:12:1, deployment two`,
      `${json}:3:3, deployment three`,
    ]);
    expect(refused.err).toContain('nothing was stored');
    expect(refused.err).not.toContain(good);
    expect(await names('deployments')).toEqual([]);
  });

  it('that is not written to its end says what is stored and what is not, and goes on from there', async () => {
    file('a.yaml', deployment('first'));
    file(
      'b.yaml',
      'kind: Volume\nname: data\nclass: ephemeral\ntype: volume\nsizeBytes: 134217728\n' +
        `---\n${deployment('second', 'volumes:', '  - { volume: data, mountPath: /data }')}`,
    );
    // No node makes the volume, so that what mounts it cannot be stored.
    const stuck = await berth('apply', '-f', folder, '--timeout', '1s');
    expect(stuck.status).toBe(4);
    expect(stuck.err).toContain('stored: volume/data, deployment/first\n');
    expect(stuck.err).toContain('not stored: deployment/second\n');
    expect(stuck.err).toContain('go on: ');
    expect(await names('deployments')).toEqual(['deployment/first']);
    const again = await berth('apply', '-f', folder, '--timeout', '1s');
    expect(again.out).toBe('volume/data unchanged\ndeployment/first unchanged\n');
    expect(again.status).toBe(4);
  });
});

describe('what is in no file any more', () => {
  const label = ['labels:', '  app: shop'];
  const files = (...names: readonly string[]): void => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const name of names) file(`${name}.yaml`, deployment(name, ...label));
  };

  it('is deleted by label after a yes, with a preview; nothing else is', async () => {
    files('web', 'old', 'older');
    const other = file('other.yaml', deployment('other'));
    const volume = file(
      'volume.yaml',
      'kind: Volume\nname: kept\nclass: ephemeral\ntype: volume\nsizeBytes: 134217728\n',
    );
    expect((await berth('apply', '-f', folder, '--no-wait')).status).toBe(0);
    rmSync(other);
    rmSync(volume);
    files('web');
    const preview = await berth('apply', '-f', folder, '--dry-run', '--prune', '-l', 'app=shop');
    expect(preview.err).toContain('- deployment old (to delete)\n- deployment older (to delete)\n');
    expect(preview.status).toBe(5);
    expect(preview.err).toMatch(/next: berth apply -f \S+ --plan \w+ --prune -l app=shop --yes\n$/);
    const unsaid = await berth('apply', '-f', folder, '--no-wait', '--prune', '-l', 'app=shop');
    expect(unsaid).toMatchObject({ status: 2, out: '' });
    expect(unsaid.err).toContain('deleting deployment/old, deployment/older needs a yes');
    expect(await names('deployments')).toHaveLength(4);
    const done = await berth('apply', '-f', folder, '--no-wait', '--prune', '-l', 'app=shop', '--yes');
    expect(done).toMatchObject({
      status: 0,
      out: 'deployment/web unchanged\ndeployment/old deleted\ndeployment/older deleted\n',
    });
    expect(await names('deployments')).toEqual(['deployment/other', 'deployment/web']);
    expect((await berth('get', 'volumes')).out).toContain('kept');
  });

  it('is not deleted without labels, by half a label, or when the rest did not become well', async () => {
    files('web', 'old');
    expect((await berth('apply', '-f', folder, '--no-wait')).status).toBe(0);
    files('web');
    const with_ = (...words: readonly string[]) => berth('apply', '-f', folder, '--yes', ...words);
    expect(await with_('--prune')).toMatchObject({ status: 2, err: expect.stringContaining('needs -l') });
    expect(await with_('--prune', '-l', 'app')).toMatchObject({ status: 2 });
    expect(await with_('-l', 'app=shop')).toMatchObject({ status: 2 });
    const late = await with_('--prune', '-l', 'app=shop', '--timeout', '1s');
    expect(late).toMatchObject({ status: 4, err: expect.stringContaining('nothing was deleted') });
    const none = await with_('--prune', '-l', 'app=shop', '-l', 'team=none', '--no-wait');
    expect(none.err).toContain('web has no label app=shop, team=none');
    expect(await names('deployments')).toEqual(['deployment/old', 'deployment/web']);
  });
});

describe('berth diff', () => {
  it('says what would change field by field, and ends with 0, 5 or 1', async () => {
    const path = file('web.yaml', deployment('web', 'labels:', '  app: shop'));
    const fresh = await berth('diff', '-f', folder);
    expect(fresh.status).toBe(5);
    expect(fresh.out).toBe(
      `+ deployment web\n  image\n    + ${UNREACHABLE_IMAGE}\n  labels\n    + {"app":"shop"}\n`,
    );
    expect((await berth('apply', '-f', path, '--no-wait')).status).toBe(0);
    expect(await berth('diff', '-f', path)).toMatchObject({ status: 0, out: '' });
    file('web.yaml', deployment('web', 'labels:', '  app: shop', 'replicas: 3'));
    expect(await berth('diff', '-f', path)).toMatchObject({
      status: 5,
      out: '~ deployment web\n  replicas\n    - 1\n    + 3\n',
    });
    file('web.yaml', deployment('web', 'count: 3'));
    const refused = await berth('diff', '-f', path);
    expect(refused).toMatchObject({ status: 1, out: '' });
    expect(refused.err).toContain(`${path}:4:1, deployment web`);
    expect(refused.err).toContain('here it is replicas');
  });

  it('shows what pruning would delete, and never the material of a secret', async () => {
    file('old.yaml', deployment('old', 'labels: { app: shop }'));
    expect((await berth('apply', '-f', folder, '--no-wait')).status).toBe(0);
    rmSync(join(folder, 'old.yaml'));
    file(
      'web.yaml',
      deployment(
        'web',
        'secrets:',
        '  - { name: DB, vault_path: resources/db, values: { password: hunter2hunter2 } }',
      ),
    );
    const { status, out, err } = await berth('diff', '-f', folder, '--prune', '-l', 'app=shop');
    expect({ status, err }).toMatchObject({ status: 5 });
    expect(out).toContain('- deployment old\n');
    expect(out).toContain('secrets\n    + ["DB"]');
    expect(`${out}${err}`).not.toContain('hunter2');
  });
});
