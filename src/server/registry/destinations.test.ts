import { describe, expect, it } from 'vitest';
import { createDestinations } from './destinations.ts';

const INSIDE = ['public', 'inside'];
const LITERAL = ['public', 'inside', 'guarded'];

describe('registryUrl', () => {
  const destinations = createDestinations({
    allowPrivate: [
      'localhost',
      '127.0.0.1',
      'registry.lan',
      'http://plain.lan:5000',
      'https://127.0.0.2',
      '[::1]:5000',
    ],
    insecure: ['old.example'],
  });

  it.each([
    ['registry-1.docker.io', 'https://registry-1.docker.io/'],
    ['localhost:5000', 'http://localhost:5000/'],
    ['127.0.0.1:5000', 'http://127.0.0.1:5000/'],
    ['127.1:5000', 'http://127.0.0.1:5000/'],
    ['127.0.0.2:5000', 'https://127.0.0.2:5000/'],
    ['127.0.0.3:5000', 'https://127.0.0.3:5000/'],
    ['[::1]:5000', 'http://[::1]:5000/'],
    ['[::1]:5001', 'https://[::1]:5001/'],
    ['registry.lan:5000', 'https://registry.lan:5000/'],
    ['plain.lan:5000', 'http://plain.lan:5000/'],
    ['plain.lan', 'https://plain.lan/'],
    ['old.example', 'http://old.example/'],
  ])('%s is asked at %s', (registry, url) => {
    expect(destinations.registryUrl(registry)?.href).toBe(url);
  });

  it.each(['1.2.3.4.5', 'a.0x7f', 'user@host', 'a b', ''])('%j is no host', (registry) => {
    expect(destinations.registryUrl(registry)).toBeUndefined();
  });
});

describe('grant', () => {
  const destinations = createDestinations({
    allowPrivate: [
      'localhost',
      '127.0.0.1',
      'registry.lan:5000',
      'http://plain.lan',
      '10.0.0.1:2379',
      '127.0.0.9:*',
    ],
    insecure: ['old.example'],
  });
  const of = (url: string, sentBy?: string) =>
    destinations.grant(new URL(url), sentBy === undefined ? undefined : new URL(sentBy));

  it.each<readonly [string, readonly string[] | undefined]>([
    ['https://registry.example/', ['public']],
    ['http://registry.example/', undefined],
    ['http://old.example/', ['public']],
    ['http://localhost:5000/', INSIDE],
    ['https://localhost:5000/', INSIDE],
    ['http://127.0.0.1:5000/', LITERAL],
    ['http://0x7f.1:5000/', LITERAL],
    ['http://127.0.0.2:5000/', undefined],
    ['https://127.0.0.2:5000/', ['public']],
    ['https://registry.lan:5000/', INSIDE],
    ['https://registry.lan:5001/', ['public']],
    ['http://plain.lan:80/', INSIDE],
    ['http://plain.lan:81/', undefined],
    ['http://localhost:7600/', undefined],
    ['http://127.0.0.9:7600/', LITERAL],
    ['http://127.0.0.9:2379/', undefined],
    ['https://localhost:8080/', ['public']],
    ['https://localhost.:5000/', ['public']],
    ['http://localhost:2379/', undefined],
    ['http://localhost:22/', undefined],
    ['http://localhost:0/', undefined],
    ['https://registry.example:6443/', undefined],
    ['https://10.0.0.1:2379/', LITERAL],
    ['https://user@registry.example/', undefined],
    ['https://:pw@registry.example/', undefined],
    ['file:///etc/passwd', undefined],
    ['gopher://localhost/', undefined],
    ['ftp://localhost/', undefined],
    ['data:,x', undefined],
  ])('%s: %j', (url, wanted) => {
    expect(of(url)).toEqual(wanted);
  });

  it('an answer of a registry opens inside only that registry or a listed host and port', () => {
    const registry = 'http://localhost:5000/';
    expect(of('http://localhost:5000/x', registry)).toEqual(INSIDE);
    expect(of('http://localhost:5001/x', registry)).toBeUndefined();
    expect(of('https://localhost:5001/x', registry)).toEqual(['public']);
    expect(of('http://127.0.0.1:5000/x', registry)).toBeUndefined();
    expect(of('https://registry.lan:5000/x', registry)).toEqual(INSIDE);
    expect(of('http://127.0.0.9:7600/x', registry)).toBeUndefined();
    expect(of('https://cdn.example/x', registry)).toEqual(['public']);
  });
});

describe('entries', () => {
  it.each(['', 'a/b', 'ftp://a', 'a:0', 'a:70000', 'user@a', 'http://', 'a b', '[::1', 'http://a/?x'])(
    '%j stops the start',
    (entry) => {
      expect(() => createDestinations({ allowPrivate: [entry] })).toThrow(/is no host/);
    },
  );
});
