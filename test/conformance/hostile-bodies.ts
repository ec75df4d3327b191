import type { Shape } from '../../src/core/schema/shape.ts';

/** Wrong in every route that takes a body: what no document of this interface can be. */
export const HOSTILE_JSON: Readonly<Record<string, string | Buffer>> = {
  nothing: '',
  space: '   ',
  'a brace': '{',
  'no quotes': '{name: "web"}',
  'single quotes': "{'name': 'web'}",
  'trailing bytes': '{} x',
  'two documents': '{}{}',
  comment: '{/* */}',
  'not a number': '{"replicas": NaN}',
  'a leading zero': '{"replicas": 01}',
  'a raw newline in a text': '{"name": "a\nb"}',
  'a bad escape': '{"name": "\\x41"}',
  'the same key twice': '{"name": "a", "name": "b"}',
  'the same key twice, escaped': '{"name": "a", "\\u006eame": "b"}',
  'the same key twice, nested': '{"labels": {"a": "1", "a": "2"}}',
  __proto__: '{"__proto__": {"polluted": 1}}',
  '__proto__ escaped': '{"\\u005f\\u005fproto\\u005f\\u005f": {"polluted": 1}}',
  '__proto__ nested': '{"labels": {"__proto__": "x"}}',
  '__proto__ in a list': '{"secrets": [{"__proto__": {"polluted": 1}}]}',
  constructor: '{"constructor": {"prototype": {"polluted": 1}}}',
  toString: '{"toString": "x"}',
  'a byte order mark': Buffer.from('\ufeff{}'),
  'UTF-16': Buffer.from('{"name": "web"}', 'utf16le'),
  'overlong UTF-8': Buffer.concat([Buffer.from('{"name": "'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
  'a cut character': Buffer.concat([Buffer.from('{"name": "'), Buffer.from([0xe2, 0x82]), Buffer.from('"}')]),
  'a surrogate in UTF-8': Buffer.concat([
    Buffer.from('{"name": "'),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from('"}'),
  ]),
  'zero bytes': Buffer.alloc(1000),
  gzip: Buffer.from('1f8b0800000000000003abae0500435fbfa302000000', 'hex'),
  'a list': '[]',
  null: 'null',
  true: 'true',
  number: '1e400',
  text: '"text"',
  '33 levels': `${'['.repeat(33)}${']'.repeat(33)}`,
  '1,000 levels of objects': `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`,
  '100,000 levels': '['.repeat(100_000),
  '400,000 levels, closed': `${'['.repeat(400_000)}${']'.repeat(400_000)}`,
  '2 MiB': `"${'a'.repeat(2 * 2 ** 20)}"`,
  '100,000 keys': `{${Array.from({ length: 60_000 }, (_, index) => `"k${index}":1`).join(',')}}`,
  'a key of 1,000,000 characters': `{"${'a'.repeat(1_000_000)}":1}`,
  '90,000 texts like integers': `[${Array.from({ length: 90_000 }, (_, index) => `"${index * 7919}"`).join(',')}]`,
  '500,000 backslashes': `{"a":"${'\\\\'.repeat(500_000)}"}`,
};

/** Accepted as YAML nowhere, or not as what it says. */
export const HOSTILE_YAML: Readonly<Record<string, string>> = {
  nothing: '',
  'an alias bomb': [
    'a: &a [x, x, x, x, x, x, x, x, x]',
    ...'bcdefghi'
      .split('')
      .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(', ')}]`),
  ].join('\n'),
  'an alias to itself': 'a: &a [*a]',
  'an unknown alias': 'name: *web',
  'a merge key': 'base: &base {name: web}\n<<: *base',
  'two documents': 'name: web\n---\nname: web',
  'the same key twice': 'name: a\nname: b',
  'the same key twice, quoted': 'name: a\n"name": b',
  'a prototype key': '__proto__: {polluted: 1}',
  'a nested prototype key': 'labels:\n  __proto__: x',
  'a list as a key': '? [a]\n: b',
  'a function': 'name: !!js/function "function () {}"',
  binary: 'name: !!binary aGVsbG8=',
  'a tag of its own': 'name: !secret x',
  'a directive': '%YAML 1.1\n---\nname: no',
  tabs: 'name:\n\t- a',
  '100,000 levels of brackets': '['.repeat(100_000),
  '100,000 levels of dashes': '- '.repeat(100_000),
  '100,000 levels of wide dashes': '-   '.repeat(100_000),
  '100,000 levels of questions': '? '.repeat(100_000),
  '600 levels of indentation': Array.from({ length: 600 }, (_, level) => `${' '.repeat(level)}a:`).join('\n'),
  '100,000 keys': Array.from({ length: 60_000 }, (_, index) => `k${index}: v`).join('\n'),
  '200,000 tags': '!!a '.repeat(200_000),
  '200,000 entries': '- a\n'.repeat(200_000),
  '1,000,000 newlines': '\n'.repeat(1_000_000),
  '400,000 quotes': '"'.repeat(400_000),
  'no as a text field': 'name: web\nimage: no',
  'a number for a text': 'name: 1e3',
  'a date': 'name: 2001-12-14',
  'an octal number': 'name: 0o17',
  infinity: 'name: web\nimage: x:1\nreplicas: .inf',
  'a boolean in the environment': 'name: web\nimage: x:1\nenvironment: {DEBUG: yes, ON: true}',
};

export interface WrongType {
  readonly path: string;
  readonly body: unknown;
  /** `null` may clear a field. */
  readonly isNull: boolean;
}

const SAMPLES: readonly unknown[] = [
  null,
  true,
  7,
  1.5,
  -1,
  'text',
  [],
  {},
  [[]],
  [null],
  { a: { b: [] } },
  '\ud800',
  'a\u0000b',
];

function fits(shape: Shape, value: unknown): boolean {
  switch (shape.type) {
    case 'string':
      return typeof value === 'string' && value.isWellFormed() && !value.includes('\u0000');
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'list':
      return Array.isArray(value) && value.length === 0;
    case 'map':
    case 'object':
      return (
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        Object.keys(value).length === 0
      );
    case 'any':
      return true;
  }
}

/** A body for every field of the shape and every value that does not fit it, nested ones included. */
export function* wrongTypes(
  shape: Shape,
  wrap: (value: unknown) => unknown = (value) => value,
  path = '',
): Generator<WrongType> {
  for (const value of SAMPLES)
    if (!fits(shape, value)) yield { path, body: wrap(value), isNull: value === null };
  switch (shape.type) {
    case 'object':
      for (const [key, field] of Object.entries(shape.fields))
        yield* wrongTypes(field, (value) => wrap({ [key]: value }), path === '' ? key : `${path}.${key}`);
      return;
    case 'list':
      yield* wrongTypes(shape.items, (value) => wrap([value]), `${path}[0]`);
      return;
    case 'map':
      for (const key of ['key', 'constructor', 'toString'])
        yield* wrongTypes(shape.items, (value) => wrap({ [key]: value }), `${path}.${key}`);
      return;
    default:
  }
}
