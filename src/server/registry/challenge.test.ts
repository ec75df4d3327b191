import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseChallenges, trustedRealm } from './challenge.ts';

const plain = (header: string) =>
  parseChallenges(header).map(({ scheme, params }) => ({ scheme, ...Object.fromEntries(params) }));

describe('parseChallenges', () => {
  it.each([
    ['Basic realm="x"', [{ scheme: 'basic', realm: 'x' }]],
    [
      'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push"',
      [
        {
          scheme: 'bearer',
          realm: 'https://auth.docker.io/token',
          service: 'registry.docker.io',
          scope: 'repository:a/b:pull,push',
        },
      ],
    ],
    ['bearer REALM = "a" , Service=b', [{ scheme: 'bearer', realm: 'a', service: 'b' }]],
    [
      'Negotiate, Basic realm="x, Bearer realm=\\"y\\""',
      [{ scheme: 'negotiate' }, { scheme: 'basic', realm: 'x, Bearer realm="y"' }],
    ],
    ['Bearer realm="first",realm="second"', [{ scheme: 'bearer', realm: 'first' }]],
    ['Bearer realm="unclosed', [{ scheme: 'bearer', realm: '' }]],
    ['realm="x"', []],
    ['', []],
    ['"', []],
  ])('%s', (header, wanted) => {
    expect(plain(header)).toEqual(wanted);
  });

  it('ends on any text, soon', () => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), (text) => Array.isArray(parseChallenges(text))));
    for (const piece of [' ', ',', '=', '"', '\\', 'a=', 'a="', ' \t='])
      parseChallenges(`Bearer ${piece.repeat(8000)}`);
  }, 2000);
});

describe('trustedRealm', () => {
  const trusts = (registry: string, realm: string) => trustedRealm(realm, new URL(registry)) !== undefined;

  it.each([
    ['https://registry-1.docker.io', 'https://auth.docker.io/token'],
    ['https://ghcr.io', 'https://ghcr.io/token'],
    ['https://registry.gitlab.com', 'https://gitlab.com/jwt/auth'],
    ['https://gitlab.example.com:5050', 'https://gitlab.example.com/jwt/auth'],
    ['https://registry.example.com', 'https://auth.example.com/token'],
    ['https://registry.example.com', 'https://example.com/token'],
    ['https://registry.acme.co.uk', 'https://auth.acme.co.uk/token'],
    ['https://registry.shop.onrender.com', 'https://shop.onrender.com/token'],
    ['http://127.0.0.1:5000', 'http://127.0.0.1:5000/token'],
    ['http://localhost:5000', 'https://localhost:5001/token'],
  ])('%s may name %s', (registry, realm) => {
    expect(trusts(registry, realm)).toBe(true);
  });

  it.each([
    ['https://registry-1.docker.io', 'https://auth.evil.example/token'],
    ['https://registry-1.docker.io', 'http://auth.docker.io/token'],
    ['https://registry.example.com', 'https://example.com.evil.net/token'],
    ['https://registry.example.com', 'https://evilexample.com/token'],
    ['https://registry.example.com', 'https://user:pw@registry.example.com/token'],
    ['https://registry.example.com', 'https://registry.example.com/token#x'],
    ['https://a.co.uk', 'https://b.co.uk/token'],
    ['https://a.azurecr.io', 'https://b.azurecr.io/token'],
    ['https://a.github.io', 'https://b.github.io/token'],
    ['https://a.onrender.com', 'https://b.onrender.com/token'],
    ['https://x.a.onrender.com', 'https://x.b.onrender.com/token'],
    ['https://a.jfrog.io', 'https://b.jfrog.io/token'],
    ['https://10.1.2.3', 'https://10.9.2.3/token'],
    ['https://1.2.3.4', 'https://9.9.3.4/token'],
    ['https://[2606::1]', 'https://[2606::2]/token'],
    ['http://127.0.0.1:5000', 'http://127.0.0.1:5001/token'],
    ['http://localhost:5000', 'http://127.0.0.1:5000/token'],
    ['https://internal', 'https://other/token'],
    ['https://a.example', 'file:///etc/passwd'],
    ['https://a.example', 'gopher://a.example/'],
    ['https://a.example', '//a.example/token'],
    ['https://a.example', '/token'],
    ['https://a.example', ''],
  ])('%s may not name %s', (registry, realm) => {
    expect(trusts(registry, realm)).toBe(false);
  });

  it('accepts what the configuration lists for this registry only', () => {
    const lists = { 'a.example': ['token.other.net'], 'b.example:5000': ['token.third.net:8443'] };
    const trusted = (registry: string, realm: string) => trustedRealm(realm, new URL(registry), lists)?.host;
    expect(trusted('https://a.example', 'https://token.other.net/t')).toBe('token.other.net');
    expect(trusted('https://b.example:5000', 'https://token.third.net:8443/t')).toBe('token.third.net:8443');
    expect(trusted('https://b.example:5000', 'https://token.third.net/t')).toBeUndefined();
    expect(trusted('https://b.example:5000', 'https://token.other.net/t')).toBeUndefined();
    expect(trusted('https://a.example', 'http://token.other.net/t')).toBeUndefined();
  });
});
