import { describe, expect, it } from 'vitest';
import { received, redacted } from './redaction.ts';

describe('received', () => {
  it.each([
    ['web', 'web'],
    ['', ''],
    [3, '3'],
    [-1.5, '-1.5'],
    [JSON.parse('1e400'), 'Infinity'],
    [JSON.parse('-1e400'), '-Infinity'],
    [true, 'true'],
    [null, 'null'],
    [undefined, '(absent)'],
    [['a', 1], '["a",1]'],
    [{ a: { b: null } }, '{"a":{"b":null}}'],
  ])('writes %j as %s', (value, text) => {
    expect(received(value)).toBe(text);
  });

  it('leaves 256 characters whole and cuts the 257th', () => {
    expect(received('x'.repeat(256))).toBe('x'.repeat(256));
    const cut = received('x'.repeat(257));
    expect(cut).toBe(`${'x'.repeat(255)}…`);
    expect(cut.length).toBe(256);
  });

  it('cuts the JSON text of structures too', () => {
    const cut = received({ list: Array.from({ length: 1000 }, (_, index) => index) });
    expect(cut.length).toBe(256);
    expect(cut).toMatch(/^\{"list":\[0,1,2,.*…$/);
  });

  it('does not cut a character in half', () => {
    const cut = received(`${'x'.repeat(254)}😀😀`);
    expect(cut).toBe(`${'x'.repeat(254)}…`);
    expect(cut.isWellFormed()).toBe(true);
  });
});

describe('redacted', () => {
  const marker = 'marker-not-a-real-secret';

  it.each([
    [marker, 'string', 24],
    ['', 'string', 0],
    ['é', 'string', 2],
    ['€', 'string', 3],
    ['😀', 'string', 4],
    ['aé€😀', 'string', 10],
    [12345, 'number', 5],
    [false, 'boolean', 5],
    [null, 'null', 4],
    [['é'], 'array', 6],
    [{ password: marker }, 'object', 39],
  ])('tells of %j only type and bytes', (value, type, bytes) => {
    expect(redacted(value)).toBe(`(redacted, ${type}, ${bytes} bytes)`);
  });

  it('counts the same bytes as an encoder does', () => {
    for (const text of ['plain', 'zß水𝄞', '\u0000\u007f\u0080\u07ff\u0800\uffff', '👩‍👩‍👧']) {
      expect(redacted(text)).toBe(`(redacted, string, ${new TextEncoder().encode(text).length} bytes)`);
    }
  });

  it('says that a value is absent', () => {
    expect(redacted(undefined)).toBe('(absent)');
  });

  it('never contains the value, whatever holds it', () => {
    for (const value of [marker, [marker], { [marker]: 1 }, { a: [{ b: marker }] }, marker.repeat(500)]) {
      expect(redacted(value)).not.toContain(marker);
      expect(redacted(value)).toMatch(/^\(redacted, (string|array|object), \d+ bytes\)$/);
    }
  });
});
