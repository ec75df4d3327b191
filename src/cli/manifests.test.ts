import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Failure } from './failure.ts';
import { readManifests } from './manifests.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-manifests-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
const read = (...paths: readonly string[]) =>
  readManifests(paths, async () => 'name: piped\nimage: a:1\n', ['Deployment', 'Network']);

describe('manifests', () => {
  it('are every document of every file, with its place', async () => {
    const path = file(
      'two.yaml',
      'kind: Deployment\nname: web\nimage: a:1\n---\nname: api\nimage: b:1\n---\n',
    );
    expect((await read(path)).map(({ source, name }) => [source, name])).toEqual([
      [`${path}#1`, 'web'],
      [`${path}#2`, 'api'],
    ]);
  });

  it('are read from a folder by name, without the folders in it, and from standard input', async () => {
    file('b.yml', 'name: b\nimage: a:1\n');
    file('a.json', '{"name": "a", "image": "a:1"}');
    file('notes.txt', 'not: a: manifest');
    mkdirSync(join(folder, 'deeper'));
    writeFileSync(join(folder, 'deeper', 'c.yaml'), 'name: c\n');
    expect((await read(folder, '-')).map(({ name }) => name)).toEqual(['a', 'b', 'piped']);
  });

  it.each([
    ['broken YAML, with its place', 'name: web\n  image: [\n', /bad\.yaml:\d:\d+ is not valid YAML: /],
    ['a key that is given twice', 'name: web\nname: api\n', /bad\.yaml:2:1 .*same key twice/],
    [
      'a key that is given as text and number',
      'name: web\nlabels: {1: a, "1": b}\n',
      /:2:16 .*same key twice/,
    ],
    ['a tag', 'name: web\nenvironment: {A: !secret abc}\n', /bad\.yaml:2:18 .*A tag is not accepted/],
    ['a tag of YAML', 'name: web\nfile: !!binary aGVsbG8=\n', /bad\.yaml:2:\d+ .*A tag is not accepted/],
    ['a tag of a text', 'name: web\nimage: !!str a:1\n', /bad\.yaml:2:\d+ .*A tag is not accepted/],
    ['an infinite number', 'name: web\nreplicas: .inf\n', /bad\.yaml:2:11 .*JSON has no such number/],
    ['a number that is too large', '{"name": "web",\n"replicas": 1e400}', /bad\.yaml:2:13 .*no such number/],
    ['what is no number', 'name: web\n---\nname: api\nports: [.nan]\n', /bad\.yaml:4:9 .*no such number/],
    ['a list', '- name: web\n', /must describe one record/],
    ['a document without a name', 'image: a:1\n', /name is missing/],
    ['a kind that cannot be applied', 'kind: Job\nname: once\n', /kind "Job" cannot be applied/],
    ['nothing', '# only a remark\n', /hold no document/],
    ['an alias within what it stands for', 'name: web\nimage: &a [*a]\n', /an alias stands for something/],
    ['an alias of nothing', 'name: web\nimage: *a\n', /not valid YAML: an alias/],
    ['the same name twice', 'name: web\n---\nname: web\n', /described twice/],
  ])('refuse %s', async (_what, text, message) => {
    await expect(read(file('bad.yaml', text))).rejects.toThrow(message);
  });

  it('refuse bytes that are not UTF-8, rather than to replace them', async () => {
    const latin = Buffer.from('name: web\nenvironment: {CITY: Z\xfcrich}\n', 'latin1');
    await expect(read(file('latin.yaml', latin))).rejects.toThrow(/latin\.yaml: line 2 is not UTF-8 text/);
  });

  it.each([
    ['a key twice', 'name: web\nenvironment: {DB_PASSWORD: hunter2, DB_PASSWORD: x}\n'],
    ['a bracket', 'name: web\nenvironment: {DB_PASSWORD: hunter2\n'],
    ['a quote', 'name: web\nenvironment:\n  DB_PASSWORD: "hunter2\n'],
    ['an escape', 'name: web\nenvironment:\n  DB_PASSWORD: "a\\hunter2"\n'],
    ['a colon', 'name: web\nenvironment:\n  DB_PASSWORD: a: hunter2\n'],
    ['a tag', 'name: web\nenvironment:\n  DB_PASSWORD: !hunter2 a\n'],
    ['an alias', 'name: web\nenvironment:\n  DB_PASSWORD: *hunter2\n'],
    ['the header of a block', 'name: web\nenvironment:\n  DB_PASSWORD: |hunter2\n'],
    ['a directive', '%hunter2\n---\nname: web\n'],
  ])('never repeat what a file holds: %s', async (_what, text) => {
    const said = await read(file('bad.yaml', text)).then(
      () => 'read',
      ({ message, advice }: Failure) => [message, ...advice].join('\n'),
    );
    expect(said).toContain('bad.yaml');
    expect(said).not.toContain('hunter2');
  });

  it('refuse a file that is not there, and a folder without manifests', async () => {
    await expect(read(join(folder, 'none.yaml'))).rejects.toThrow('there is no such file');
    await expect(read(folder)).rejects.toThrow('holds no .yaml');
  });

  it('do not let aliases multiply a small file', async () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) => `l${level + 1}: &l${level + 1} [${Array(9).fill(`*l${level}`).join(', ')}]`,
    );
    await expect(read(file('bomb.yaml', `name: web\nl0: &l0 [x]\n${levels.join('\n')}\n`))).rejects.toThrow(
      /bomb\.yaml is not valid YAML: .*alias/,
    );
  });
});
