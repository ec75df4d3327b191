import { describe, expect, it } from 'vitest';
import { parseYaml, YAML_MAX_TOKENS } from './yaml-body.ts';

const problem = (text: string) => {
  const parsed = parseYaml(text, 32);
  return 'problem' in parsed ? parsed.problem : parsed.value;
};

describe('parseYaml', () => {
  it.each([
    ['name: web\nreplicas: 2', { name: 'web', replicas: 2 }],
    ['a: no\nb: 2001-12-14\nc: "1.10"', { a: 'no', b: '2001-12-14', c: '1.10' }],
    ['a: &x [1]\nb: *x', { a: [1], b: [1] }],
    ['constructor: x', { constructor: 'x' }],
  ])('reads %j', (text, value) => {
    expect(problem(text)).toEqual(value);
  });

  it.each([
    ['the same key twice', 'a: 1\na: 2', 'malformed'],
    ['the same key twice, quoted', 'a: 1\n"a": 2', 'malformed'],
    ['a prototype key', 'a: {__proto__: 1}', 'malformed'],
    ['a second document', 'a: 1\n---\nb: 2', 'malformed'],
    ['a key that is a list', '? [a]\n: b', 'malformed'],
    ['a tag', 'a: !!binary aGVsbG8=', 'malformed'],
    ['an alias bomb', `a: &a [1]\nb: &b [${'*a,'.repeat(50)}]\nc: [${'*b,'.repeat(50)}]`, 'malformed'],
    ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`, 'too_deep'],
    ['dashes with wide gaps', `${`-${' '.repeat(200)}`.repeat(100)}a`, 'too_deep'],
    ['many tokens', '- a\n'.repeat(YAML_MAX_TOKENS), 'too_long'],
  ])('refuses %s', (_title, text, expected) => {
    expect(problem(text)).toBe(expected);
  });
});
