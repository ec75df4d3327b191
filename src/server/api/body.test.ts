import fc from 'fast-check';
import { stringify } from 'yaml';
import { describe, expect, it } from 'vitest';
import { isRejection } from '../../core/rejections/reject.ts';
import { parseBody } from './body.ts';
import { jsonFault } from './json-fault.ts';

const LIMITS = { maxDepth: 32 };
const json = (body: string | Buffer) => parseBody(Buffer.from(body), 'application/json', {}, LIMITS);
const yaml = (body: string) => parseBody(Buffer.from(body), 'application/yaml', { yaml: true }, LIMITS);

function codeOf(result: ReturnType<typeof parseBody>) {
  return isRejection(result) ? result.code : undefined;
}

describe('the media type', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('takes %s', (type) => {
    expect(parseBody(Buffer.from('1'), type, {}, LIMITS)).toEqual({ value: 1 });
  });

  it.each([
    undefined,
    '',
    'text/plain',
    'text/json',
    'application/json; charset=latin1',
    'application/ld+json',
    'x',
  ])('refuses %s', (type) => {
    expect(codeOf(parseBody(Buffer.from('1'), type, { yaml: true }, LIMITS))).toBe(
      'content_type_unsupported',
    );
  });

  it.each([
    ['application/json; charset=latin1', 'The charset of the body is latin1'],
    ['application/json; charset="UTF-16"', 'The charset of the body is UTF-16'],
    ['application/yaml; foo=bar', 'The media type has the parameter foo'],
    ['application/json;', 'The media type has something that is no charset'],
    ['application/json; a=1; charset=utf-8', 'The media type has the parameter a'],
  ])('says what follows the type in %s', (type, why) => {
    const result = parseBody(Buffer.from('1'), type, { yaml: true }, LIMITS);
    const media = type.split(';', 1)[0];
    expect(result).toMatchObject({
      code: 'content_type_unsupported',
      received: type,
      expected: `${media}, alone or with charset=utf-8`,
      why: expect.stringContaining(why),
    });
  });

  it('takes YAML only where the route does', () => {
    for (const type of ['application/yaml', 'application/x-yaml']) {
      expect(parseBody(Buffer.from('a: 1'), type, { yaml: true }, LIMITS)).toEqual({ value: { a: 1 } });
      expect(codeOf(parseBody(Buffer.from('a: 1'), type, {}, LIMITS))).toBe('content_type_unsupported');
    }
  });
});

describe('JSON', () => {
  it.each<readonly [string, string | Buffer, string]>([
    ['empty', '', 'body_malformed'],
    ['half', '{"a":', 'body_malformed'],
    ['trailing bytes', '{} x', 'body_malformed'],
    ['two documents', '{}{}', 'body_malformed'],
    ['a comment', '{} // x', 'body_malformed'],
    ['NaN', '[NaN]', 'body_malformed'],
    ['a byte order mark', '\ufeff{}', 'body_malformed'],
    ['UTF-16', Buffer.from('{}', 'utf16le'), 'body_malformed'],
    ['overlong UTF-8', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'body_malformed'],
    ['a raw control character', '"\u0000"', 'body_malformed'],
    ['duplicate keys', '{"a":1,"a":2}', 'body_malformed'],
    ['__proto__', '{"a":{"__proto__":{}}}', 'body_malformed'],
    ['a number that would underflow to 0', '{"replicas":0.1e-400}', 'body_malformed'],
    ['a fraction that would be lost', '{"replicas":100.00000000000000001}', 'body_malformed'],
    ['33 levels', '['.repeat(33) + ']'.repeat(33), 'body_too_deep'],
    ['a million levels', '['.repeat(1e6), 'body_too_deep'],
  ])('refuses %s', (_, body, code) => {
    expect(codeOf(json(body))).toBe(code);
  });

  it('counts bytes, not characters', () => {
    const nested = '['.repeat(33) + '"ä"' + ']'.repeat(33);
    for (const read of [json(nested), yaml(nested)])
      expect(read).toHaveProperty('received', '(redacted, body, 70 bytes)');
  });

  it.each(['1e400', '1e300', '9007199254740993', '0.1', '1.10', '1e3', '3.0'])(
    'leaves %s to the rules',
    (number) => {
      expect(json(`{"replicas":${number}}`)).toEqual({ value: { replicas: Number(number) } });
      expect(yaml(`replicas: ${number}`)).toEqual({ value: { replicas: Number(number) } });
    },
  );

  it.each([
    ['', 'it is empty'],
    ['{"a":', 'line 1, column 6: the text ends, and a value is expected'],
    ['{"a": 1,\n "b" 2}', 'line 2, column 6: a colon after the name is expected'],
    ['{"a": 1\n "b": 2}', 'line 2, column 2: a comma or } is expected'],
    ['{"a": 1,\n}', 'line 2, column 1: a name in double quotes is expected'],
    ['[1, 2,]', 'line 1, column 7: a value is expected'],
    ['{]', 'line 1, column 2: a name in double quotes or } is expected'],
    ["{'a': 1}", 'line 1, column 2: a name in double quotes or } is expected'],
    ['[01]', 'line 1, column 3: a comma or ] is expected'],
    ['{}\n{}', 'line 2, column 1: nothing more is expected'],
    ['["a', 'line 1, column 2: a text in double quotes has no end'],
    ['["a\nb"]', 'line 1, column 4: a line break or another control character is not escaped'],
    ['["\\x"]', 'line 1, column 3: an escape is none that JSON has'],
    ['NaN', 'line 1, column 1: a value is expected'],
  ])('says where %j breaks off and how', (body, what) => {
    expect(json(body)).toHaveProperty('why', `The body is not valid JSON: ${what}.`);
  });

  it('finds a fault in what the parser refuses, and in nothing else', () => {
    const broken = fc
      .tuple(fc.jsonValue({ maxDepth: 3 }), fc.nat(), fc.constantFrom('', '"', '}', ',', '\\', '1', '\n'))
      .map(([value, at, put]) => {
        const text = JSON.stringify(value);
        const where = at % (text.length + 1);
        return `${text.slice(0, where)}${put}${text.slice(where + 1)}`;
      });
    fc.assert(
      fc.property(broken, (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(jsonFault(text) === undefined).toBe(isJson);
      }),
      { numRuns: 2000 },
    );
  });

  it('takes 32 levels, and every document as the parser does', () => {
    expect(codeOf(json('['.repeat(32) + ']'.repeat(32)))).toBeUndefined();
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('__proto__'));
        expect(json(text)).toEqual({ value: JSON.parse(text) });
      }),
    );
  });
});

describe('YAML', () => {
  it('is the same value as JSON', () => {
    const key = fc.stringMatching(/^[a-z]{1,5}$/);
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
      ),
    })).value;
    fc.assert(
      fc.property(value, (body) => {
        expect(yaml(stringify(body))).toEqual({ value: body });
      }),
    );
  });

  it('reads the words of YAML 1.2 only', () => {
    expect(yaml('{country: NO, on: off, time: 12:30, date: 2026-01-01}')).toEqual({
      value: { country: 'NO', on: 'off', time: '12:30', date: '2026-01-01' },
    });
  });

  it.each<readonly [string, string, string]>([
    ['half', '{a: [', 'body_malformed'],
    ['two documents', 'a: 1\n---\nb: 2', 'body_malformed'],
    ['duplicate keys', 'a: 1\na: 2', 'body_malformed'],
    ['keys that are one in JSON', '{1: a, "1": b}', 'body_malformed'],
    ['nested duplicate keys', 'a:\n  - b: 1\n    b: 2', 'body_malformed'],
    ['a list as a key', '? [a]\n: 1', 'body_malformed'],
    ['__proto__', '__proto__: {a: 1}', 'body_malformed'],
    ['a number that would underflow to 0', 'replicas: 0.1e-400', 'body_malformed'],
    ['a fraction that would be lost', 'a: [+100.00000000000000001]', 'body_malformed'],
    ['a fraction without a whole', 'a: .99999999999999999', 'body_malformed'],
    ['a key whose fraction would be lost', '1.00000000000000001: a', 'body_malformed'],
    ['aliases that multiply', bomb(), 'body_malformed'],
    ['33 levels', '['.repeat(33) + ']'.repeat(33), 'body_too_deep'],
    [
      'levels by indentation',
      Array.from({ length: 40 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      'body_too_deep',
    ],
    ['levels by dashes', `${'- '.repeat(100)}a`, 'body_too_deep'],
    ['levels behind closing brackets in texts', '["]",'.repeat(10_000), 'body_too_large'],
    ['more parts than are parsed', '- a\n'.repeat(20_000), 'body_too_large'],
  ])('refuses %s', (_, body, code) => {
    expect(codeOf(yaml(body))).toBe(code);
    if (code === 'body_malformed')
      expect(yaml(body)).toHaveProperty('expected', expect.stringContaining('YAML document'));
  });

  it('reads numbers of other bases, and texts that look like numbers', () => {
    expect(yaml('[0x1e, 0o17, "1e-400", 1.e1, .5]')).toEqual({ value: [30, 15, '1e-400', 10, 0.5] });
  });

  it.each([
    ['a: 1\n---\nb: 2', 'line 2, column 1: A second document begins.'],
    [
      'a: 1\nb: !!binary aGVsbG8=',
      'line 2, column 4: A tag is not accepted; put a text in quotes and leave the tag out.',
    ],
    ['a: !!str 1', 'line 1, column 10: A tag is not accepted; put a text in quotes and leave the tag out.'],
    [
      'a: 1\n"a": 2',
      'line 2, column 1: A mapping holds the same key twice; one of the two values would be lost.',
    ],
    ['a:\n\tb: 1', 'line 2, column 1: A tab indents the line; YAML takes spaces.'],
    ['? [a]\n: 1', 'line 1, column 1: A key is not a plain text.'],
    ['a: *b', 'An alias names an anchor that is not before it, or aliases repeat too much.'],
  ])('says where %j is not taken and why', (body, what) => {
    expect(yaml(body)).toHaveProperty('why', `The body is not taken as YAML: ${what}`);
  });

  it('leaves Object.prototype alone', () => {
    yaml('constructor: {prototype: {polluted: 1}}');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('answers a map of as many keys as fit soon enough', () => {
    const body = Array.from({ length: 2000 }, (_, index) => `k${index}: 1`).join('\n');
    const started = performance.now();
    expect(codeOf(yaml(body))).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

function bomb(): string {
  const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (const [before, name] of ['a b', 'b c', 'c d', 'd e', 'e f'].map((pair) => pair.split(' ')))
    lines.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`);
  return lines.join('\n');
}

it('a refusal shows nothing of the body', () => {
  for (const result of [
    json('{"password":"hunter2"'),
    json('{"hunter2":1,"hunter2":2}'),
    json('{"a": hunter2}'),
    json('["\\hunter2"]'),
    yaml('a: !hunter2 b'),
    yaml('a: *hunter2'),
    json(Buffer.concat([Buffer.from('"hunter2'), Buffer.from([0xff])])),
    yaml('hunter2: [\n'),
    yaml('- hunter2\n'.repeat(20_000)),
  ]) {
    expect(isRejection(result)).toBe(true);
    expect(JSON.stringify(result)).not.toContain('hunter2');
  }
});
