import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { format, inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { SecretValue } from './secret-value.ts';

const MARKER = 'marker-5f0c6a';

describe('SecretValue', () => {
  const secret = new SecretValue(MARKER);
  const document = { values: new Map([['password', secret]]), list: [secret], nested: { secret } };

  it('gives its text to reveal only', () => {
    expect(secret.reveal()).toBe(MARKER);
    expect(Object.keys(secret)).toEqual([]);
    expect(Object.getOwnPropertyNames(secret)).toEqual([]);
  });

  const ways: readonly [string, () => string][] = [
    // oxlint-disable-next-line typescript/restrict-template-expressions -- the lint is the first line of defence, this is the second
    ['template string', () => `${secret}`],
    ['concatenation', () => 'x' + String(secret)],
    ['String()', () => String(secret)],
    ['join', () => [secret, secret].join(',')],
    ['JSON.stringify', () => JSON.stringify(document)],
    ['JSON.stringify of a map', () => JSON.stringify([...document.values])],
    ['util.inspect', () => inspect(document, { depth: 9, showHidden: true, getters: true })],
    [
      'util.inspect without custom',
      () => inspect(document, { depth: 9, customInspect: false, showHidden: true }),
    ],
    ['util.format', () => format('%s %o %O %j %d', secret, secret, secret, secret, secret)],
    // oxlint-disable-next-line typescript/restrict-template-expressions -- as above
    ['Error message', () => new Error(`cannot use ${secret}`).stack ?? ''],
    ['Error cause', () => inspect(new Error('cannot', { cause: secret }))],
    ['error properties', () => inspect(Object.assign(new Error('cannot'), { secret }))],
    ['structured clone', () => inspect(structuredClone({ secret }), { showHidden: true })],
    // oxlint-disable-next-line typescript/no-misused-spread -- as above
    ['object spread', () => JSON.stringify({ ...secret })],
  ];

  it.each(ways)('is redacted by %s', (_name, way) => {
    const text = way();
    expect(text).not.toContain(MARKER);
    expect(text.length).toBeGreaterThan(0);
  });

  it('is redacted by console.log', () => {
    const written: string[] = [];
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        written.push(chunk.toString());
        done();
      },
    });
    const console = new Console(sink, sink);
    console.log(secret, document, '%s', secret);
    console.dir(document, { depth: 9 });
    console.table([{ secret }]);
    expect(written.join('')).not.toContain(MARKER);
    expect(written.join('')).toContain('[redacted]');
  });
});
