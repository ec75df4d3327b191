import { describe, expect, it } from 'vitest';
import { lineOf, readYaml, writeYaml } from './yaml-text.ts';

const TEXT =
  'name: web\nimage: a:1\nhealthCheck:\n  type: exec\n  timeout: 5s\nsecrets:\n  - name: DB\n    vault_path: /x\n';

describe('a description in YAML', () => {
  it('is read and written', () => {
    const read = readYaml(TEXT);
    expect(read).toMatchObject({ draft: { name: 'web', secrets: [{ vault_path: '/x' }] } });
    expect('draft' in read && readYaml(writeYaml(read.draft))).toEqual(read);
  });
  it.each([
    ['healthCheck.timeout', 5],
    ['secrets[0].vault_path', 8],
    ['secrets[0].anchor', 7],
    ['replicas', undefined],
  ])('%s is on line %s', (field, line) => expect(lineOf(TEXT, field)).toBe(line));
  it.each([
    ['a key twice', 'a: 1\nb: {1: x, "1": y}', 2],
    ['a tag', 'name: web\nenvironment:\n  A: !secret abc', 3],
    ['an infinite number', 'name: web\nreplicas: .inf', 2],
  ])('is refused where JSON would alter it: %s', (_what, text, line) => {
    expect(readYaml(text)).toMatchObject({ problem: { line } });
  });
  it.each(['name: [', 'a: 1\na: 2', '- a', 'just text', 'a: &x 1\nb: *x'])(
    '%j is refused with its line',
    (text) => {
      const read = readYaml(text);
      expect('problem' in read && read.problem.line).toBeGreaterThan(0);
    },
  );
});
