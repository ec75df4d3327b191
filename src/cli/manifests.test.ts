import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readManifests } from './manifests.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-manifests-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
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
    ['broken YAML, with the line', 'name: web\n  image: [\n', /not valid YAML.*line 1/],
    ['a key that is given twice', 'name: web\nname: api\n', /unique/],
    ['a list', '- name: web\n', /must describe one record/],
    ['a document without a name', 'image: a:1\n', /name is missing/],
    ['a kind that cannot be applied', 'kind: Job\nname: once\n', /kind "Job" cannot be applied/],
    ['nothing', '# only a remark\n', /hold no document/],
    ['the same name twice', 'name: web\n---\nname: web\n', /described twice/],
  ])('refuse %s', async (_what, text, message) => {
    await expect(read(file('bad.yaml', text))).rejects.toThrow(message);
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
      /alias/i,
    );
  });
});
