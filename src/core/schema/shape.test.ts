import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deploymentBody } from '../contract/deployment-body.ts';
import { replicaBody } from '../contract/volume-body.ts';
import { checkBody, jsonSchema, shape, type Shape } from './shape.ts';

const SAMPLE = shape({
  type: 'object',
  fields: {
    text: { type: 'string' },
    choice: { type: 'string', values: ['a', 'b'] },
    count: { type: 'integer' },
    amount: { type: 'number' },
    flag: { type: 'boolean' },
    free: { type: 'any', schema: { type: 'string' } },
    list: { type: 'list', items: { type: 'object', fields: { name: { type: 'string' } } } },
    map: { type: 'map', items: { type: 'string' } },
    hidden: { type: 'map', items: { type: 'string' }, sensitive: true },
    secret: { type: 'object', fields: { word: { type: 'string' } }, sensitive: true },
  },
  ignored: ['id'],
});

function refuse(body: unknown, nullClears = false) {
  const rejection = checkBody(nullClears ? { ...SAMPLE, nullClears } : SAMPLE, body);
  return rejection && [rejection.code, rejection.field];
}

describe('accepted', () => {
  it.each([
    {},
    { id: { any: 'thing' } },
    { text: '', choice: 'b', count: -1, amount: 0.5, flag: false, free: [null] },
    { count: Number.MAX_SAFE_INTEGER, amount: -0 },
    { list: [{}, { name: 'x' }], map: { constructor: 'x', toString: 'y', 'a.b': '' } },
    { text: undefined },
  ])('%j', (body) => {
    expect(refuse(body)).toBeUndefined();
  });

  it('null clears a field of the top level only, and only where it is allowed', () => {
    expect(refuse({ text: null, list: null }, true)).toBeUndefined();
    expect(refuse({ text: null })).toEqual(['field_type_invalid', 'text']);
    expect(refuse({ list: [{ name: null }] }, true)).toEqual(['field_type_invalid', 'list[0].name']);
    expect(refuse({ map: { a: null } }, true)).toEqual(['field_type_invalid', 'map.a']);
    expect(refuse(null, true)).toEqual(['field_type_invalid', 'body']);
  });
});

describe('refused', () => {
  it.each<readonly [unknown, string, string]>([
    [[], 'field_type_invalid', 'body'],
    ['x', 'field_type_invalid', 'body'],
    [{ text: 1 }, 'field_type_invalid', 'text'],
    [{ text: ['x'] }, 'field_type_invalid', 'text'],
    [{ text: '\ud800' }, 'field_type_invalid', 'text'],
    [{ text: 'a\u0000' }, 'field_type_invalid', 'text'],
    [{ choice: 'c' }, 'field_type_invalid', 'choice'],
    [{ count: '1' }, 'field_type_invalid', 'count'],
    [{ count: true }, 'field_type_invalid', 'count'],
    [{ count: [1] }, 'field_type_invalid', 'count'],
    [{ count: 1.5 }, 'field_type_invalid', 'count'],
    [{ count: 2 ** 53 }, 'field_type_invalid', 'count'],
    [{ amount: Number.POSITIVE_INFINITY }, 'field_type_invalid', 'amount'],
    [{ flag: 0 }, 'field_type_invalid', 'flag'],
    [{ list: {} }, 'field_type_invalid', 'list'],
    [{ list: [{}, 1] }, 'field_type_invalid', 'list[1]'],
    [{ list: [{ nam: 'x' }] }, 'field_unknown', 'list[0].nam'],
    [{ map: [] }, 'field_type_invalid', 'map'],
    [{ map: { a: 1 } }, 'field_type_invalid', 'map.a'],
    [{ map: { 'a\u0000': 'x' } }, 'field_type_invalid', 'map'],
    [{ map: { '\udfff': 'x' } }, 'field_type_invalid', 'map'],
    [{ constructor: 1 }, 'field_unknown', 'constructor'],
    [{ hasOwnProperty: 1 }, 'field_unknown', 'hasOwnProperty'],
    [{ fields: 1 }, 'field_unknown', 'fields'],
    [{ ['k'.repeat(65)]: 1 }, 'field_unknown', 'body'],
    [{ list: [{ ['k'.repeat(65)]: 1 }] }, 'field_unknown', 'list[0]'],
  ])('%j is %s at %s', (body, code, field) => {
    expect(refuse(body)).toEqual([code, field]);
  });

  it('names what an empty key stands in', () => {
    const refused = [checkBody(SAMPLE, { '': 1 }), checkBody(SAMPLE, { list: [{ '': 1 }] })];
    expect(refused.map((rejection) => [rejection?.field, rejection?.why])).toEqual([
      ['body', 'A key of body is not a known field.'],
      ['list[0]', 'A key of list[0] is not a known field.'],
    ]);
  });

  it('says of a text that it is one, because it is shown like a number', () => {
    expect(checkBody(SAMPLE, { count: '1' })?.why).toBe('count must be an integer, not a text.');
    expect(checkBody(SAMPLE, { count: 1.5 })?.why).toBe('count must be an integer.');
  });

  it.each<readonly [unknown, string]>([
    [{ secretsVersion: 2 ** 53 }, 'integer from 0 to 9007199254740991'],
    [{ secretsVersion: JSON.parse('1e400') }, 'integer from 0 to 9007199254740991'],
    [{ healthCheck: { retries: 4e18 } }, 'integer from 3 to 9007199254740991'],
    [{ ports: [{ container: -1e300 }] }, 'integer from 1 to 65535'],
  ])('names the range of an integer that is too large: %j', (body, expected) => {
    const rejection = checkBody(deploymentBody, body);
    expect([rejection?.expected, rejection?.why]).toEqual([
      expected,
      `${rejection?.field} must be an ${expected}.`,
    ]);
  });

  it('expects what the field takes, where its code is that of others too', () => {
    expect(checkBody(replicaBody, { node_id: null })).toMatchObject({
      code: 'node_not_a_placement_candidate',
      expected: expect.not.stringContaining('left out'),
    });
    expect(checkBody(deploymentBody, { nodeId: 1 })?.expected).toContain('left out');
    expect(checkBody(deploymentBody, { name: 1e300 })?.expected).not.toBe('string');
  });

  it('names the nearest known field', () => {
    expect(checkBody(SAMPLE, { cuont: 1 })?.expected).toMatch(/^count /);
    expect(checkBody(SAMPLE, { zzzzzzz: 1 })?.expected).toMatch(/^one of: text, /);
  });

  it('echoes no sensitive value, no unknown field, and no line pasted as the key of a sensitive map', () => {
    const marker = 'hunter2';
    for (const body of [
      { hidden: marker },
      { hidden: { a: [marker] } },
      { hidden: { [`PASSWORD=${marker}`]: 1 } },
      { secret: [marker] },
      { secret: { word: [marker] } },
      { secret: { wrod: marker } },
      { password: marker },
      { text: `${marker}\u0000` },
      { map: { [`${marker}\u0000`]: 'x' } },
    ]) {
      const rejection = checkBody(SAMPLE, body);
      expect(rejection, JSON.stringify(body)).toBeDefined();
      expect(JSON.stringify(rejection)).not.toContain(marker);
    }
  });

  it.each<readonly [string, unknown]>([
    ['a map in the place of a list of secrets', { secrets: { DB: { values: { PASSWORD: 'hunter2' } } } }],
    ['one secret by itself', { secrets: { name: 'DB', values: { PASSWORD: 'hunter2' } } }],
    ['a list in a list of secrets', { secrets: [[{ values: { PASSWORD: 'hunter2' } }]] }],
    ['a text in a list of secrets', { secrets: ['hunter2'] }],
    ['a file by itself', { files: { path: '/x', content: 'hunter2' } }],
    ['a text for a generate block', { secrets: [{ generate: 'hunter2' }] }],
    ['a map of keys to generate', { secrets: [{ generate: { keys: { PASSWORD: 'hunter2' } } }] }],
    ['values in turn by name', { secrets: [{ generate: { P: { alternate: { a: 'hunter2' } } } }] }],
    ['a command as one text', { command: 'mysqld --password=hunter2' }],
    ['a check as one text', { healthCheck: { type: 'exec', command: 'curl -u app:hunter2 db' } }],
    ['the words of a check alone', { healthCheck: ['curl', '-u', 'app:hunter2'] }],
  ])('echoes nothing of what may hold a credential: %s', (_what, body) => {
    const rejection = checkBody(deploymentBody, body);
    expect(rejection?.received).toMatch(/^\(redacted, /);
    expect(JSON.stringify(rejection)).not.toContain('hunter2');
  });

  it('still shows what stands in the place of a list that holds none', () => {
    expect(checkBody(deploymentBody, { ports: { container: 80 } })?.received).toBe('{"container":80}');
  });

  it('never throws on JSON, and leaves Object.prototype alone', () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        checkBody(deploymentBody, body);
        checkBody(deploymentBody, { secrets: [body], environment: body, placement: body, volumes: body });
      }),
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });
});

describe('an object whose other keys the client chooses', () => {
  const open: Shape = {
    type: 'object',
    fields: { count: { type: 'integer' } },
    others: { type: 'object', fields: { word: { type: 'string' } } },
  };
  const refusal = (body: unknown) => {
    const rejection = checkBody(open, body);
    return rejection && [rejection.code, rejection.field];
  };

  it('takes objects of the described form there', () => {
    expect(refusal({ count: 1, mine: { word: 'a' }, yours: {} })).toBeUndefined();
    expect(refusal({ mine: { word: 5 } })).toEqual(['field_type_invalid', 'mine.word']);
    expect(refusal({ mine: { other: 5 } })).toEqual(['field_unknown', 'mine.other']);
  });

  it('still refuses a misspelt field', () => {
    expect(refusal({ coun: 1 })).toEqual(['field_unknown', 'coun']);
  });

  it('says so in JSON Schema', () => {
    expect(jsonSchema(open)).toMatchObject({
      properties: { count: { type: 'integer' } },
      additionalProperties: { type: 'object', properties: { word: { type: 'string' } } },
    });
  });
});

describe('JSON Schema', () => {
  it('says what the check does', () => {
    expect(jsonSchema(SAMPLE)).toMatchObject({
      type: 'object',
      additionalProperties: false,
      properties: {
        text: { type: 'string' },
        choice: { type: 'string', enum: ['a', 'b'] },
        count: { type: 'integer' },
        free: { type: 'string' },
        list: { type: 'array', items: { type: 'object', additionalProperties: false } },
        map: { type: 'object', additionalProperties: { type: 'string' } },
      },
    });
  });

  it('keeps descriptions and examples', () => {
    const described: Shape = { type: 'boolean', description: 'why', example: true };
    expect(jsonSchema(described)).toEqual({ type: 'boolean', description: 'why', examples: [true] });
  });
});
