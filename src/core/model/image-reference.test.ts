import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { imageReferenceText, parseImageReference } from './image-reference.ts';

const HEX = 'a3'.repeat(32);
const DIGEST = `sha256:${HEX}`;

const accepted: readonly (readonly [string, string])[] = [
  ['nginx:1.27', 'docker.io/library/nginx:1.27'],
  ['bitnami/redis:7.2', 'docker.io/bitnami/redis:7.2'],
  ['docker.io/nginx:1', 'docker.io/library/nginx:1'],
  ['index.docker.io/nginx:1', 'docker.io/library/nginx:1'],
  [`nginx@${DIGEST}`, `docker.io/library/nginx@${DIGEST}`],
  [`nginx:1@${DIGEST}`, `docker.io/library/nginx:1@${DIGEST}`],
  ['registry.internal:5000/shop/web:1.4.2', 'registry.internal:5000/shop/web:1.4.2'],
  ['localhost/web:1', 'localhost/web:1'],
  ['localhost:5000/web:1', 'localhost:5000/web:1'],
  ['localhost:5000', 'docker.io/library/localhost:5000'],
  ['Registry.Example.COM/web:1', 'registry.example.com/web:1'],
  ['[::1]:5000/web:1', '[::1]:5000/web:1'],
  ['[2001:DB8::7]/web:1', '[2001:db8::7]/web:1'],
  ['127.1/web:1', '127.1/web:1'],
  ['0/web:1', 'docker.io/0/web:1'],
  ['a.b/c__d/e-f.g---h:_x', 'a.b/c__d/e-f.g---h:_x'],
  ['xn--bcher-kva.example/web:1', 'xn--bcher-kva.example/web:1'],
  ['nginx:Latest', 'docker.io/library/nginx:Latest'],
  [`a/${'b'.repeat(253)}:1`, `docker.io/a/${'b'.repeat(253)}:1`],
  [`a:${'t'.repeat(128)}`, `docker.io/library/a:${'t'.repeat(128)}`],
];

const unparsable: readonly string[] = [
  '',
  ' ',
  ' nginx:1',
  'nginx:1 ',
  'nginx:1\n',
  'ngi\u0000nx:1',
  'Nginx:1',
  'Shop/web:1',
  'nginx:',
  'nginx@',
  'nginx:-1',
  'nginx:1:2',
  `a:${'t'.repeat(129)}`,
  'nginx@sha256:abc',
  `nginx@sha256:${HEX.toUpperCase()}`,
  `nginx@sha512:${HEX}${HEX}`,
  `nginx@${DIGEST}@${DIGEST}`,
  HEX,
  `${HEX}:1`,
  '/nginx:1',
  'nginx/:1',
  'a//b:1',
  'a/../b:1',
  '-a:1',
  'a-:1',
  'a___b:1',
  'a..b/c:1',
  '.a/c:1',
  'a./c:1',
  '-a.b/c:1',
  'a_b.c/d:1',
  'user:secret@host.example/repo:1',
  'user@host.example/repo:1',
  'https://host.example/repo:1',
  'host.example:0/a:1',
  'host.example:65536/a:1',
  'host.example:05000/a:1',
  'host.example:/a:1',
  'host.example:5000:5000/a:1',
  '[::1/a:1',
  '[]/a:1',
  '[::1]x/a:1',
  '[::1]:x/a:1',
  '[:::]/a:1',
  '[1::2::3]/a:1',
  '[1:2:3:4:5:6:7:8:9]/a:1',
  '[12345::]/a:1',
  '[::ffff:127.0.0.1]/a:1',
  '[fe80::1%25eth0]/a:1',
  'b\u00fccher.example/a:1',
  '\uff11\uff12\uff17.0.0.1/a:1',
  `${'a'.repeat(64)}.example/a:1`,
  `a/${'b'.repeat(254)}:1`,
  'a'.repeat(100_000),
];

describe('parseImageReference', () => {
  it.each(accepted)('%s is %s', (text, full) => {
    const parsed = parseImageReference(text);
    expect(parsed.ok && imageReferenceText(parsed.reference)).toBe(full);
  });

  it.each(unparsable.map((text) => [text.slice(0, 90), text]))('%j is unparsable', (_, text) => {
    expect(parseImageReference(text)).toEqual({ ok: false, problem: 'unparsable' });
  });

  it.each(['nginx', 'registry.internal:5000/shop/web', 'localhost/web'])('%s is unpinned', (text) => {
    expect(parseImageReference(text)).toEqual({ ok: false, problem: 'unpinned' });
  });

  it.each(['nginx:latest', 'a.b:5/c:latest', `nginx:latest@${DIGEST}`])('%s is latest', (text) => {
    expect(parseImageReference(text)).toEqual({ ok: false, problem: 'latest' });
  });

  it('gives the parts', () => {
    expect(parseImageReference(`a.example:5000/shop/web:1.4@${DIGEST}`)).toEqual({
      ok: true,
      reference: { registry: 'a.example:5000', repository: 'shop/web', tag: '1.4', digest: DIGEST },
    });
  });

  it('parses its own full spelling to the same reference', () => {
    const part = fc.stringMatching(/^[a-z0-9]{1,8}(?:(?:\.|_|__|-{1,3})[a-z0-9]{1,8}){0,3}$/);
    const label = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,10}[a-z0-9])?$/);
    const host = fc.tuple(
      fc.array(label, { minLength: 2, maxLength: 4 }),
      fc.option(fc.integer({ min: 1, max: 65_535 })),
    );
    const tag = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}$/).filter((text) => text !== 'latest');
    fc.assert(
      fc.property(
        host,
        fc.array(part, { minLength: 1, maxLength: 4 }),
        tag,
        fc.boolean(),
        (where, path, tag, pinned) => {
          const [labels, port] = where;
          const registry = labels.join('.') + (port === null ? '' : `:${port}`);
          const text = `${registry}/${path.join('/')}:${tag}${pinned ? `@${DIGEST}` : ''}`;
          const parsed = parseImageReference(text);
          if (!parsed.ok) throw new Error(`${text}: ${parsed.problem}`);
          expect(imageReferenceText(parsed.reference)).toBe(text);
          expect(parseImageReference(imageReferenceText(parsed.reference))).toEqual(parsed);
        },
      ),
    );
  });

  it('never throws, and what it accepts is safe in a URL path and a host', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('/', ':', '@', '.', '[', ']', '::', '%2f', '..', 'a', '1', DIGEST),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const parsed = parseImageReference(pieces.join(''));
        if (!parsed.ok) return;
        const { registry, repository, tag } = parsed.reference;
        expect(registry).toMatch(/^(?:[a-z0-9.-]+|\[[a-f0-9:]+\])(?::[0-9]+)?$/);
        expect(repository).toMatch(/^[a-z0-9._-]+(?:\/[a-z0-9._-]+)*$/);
        expect(`/${repository}/`).not.toContain('/../');
        expect(tag ?? 'x').toMatch(/^[\w.-]{1,128}$/);
      }),
      { numRuns: 2000 },
    );
  });

  it('takes time in proportion to a bounded length', () => {
    const hostile = [
      'a'.repeat(5_000_000),
      `${'a-'.repeat(350)}!`,
      `${'a.'.repeat(120)}/${'a__'.repeat(80)}!:1`,
      ':'.repeat(716),
    ];
    for (let round = 0; round < 200; round += 1) {
      for (const text of hostile) expect(parseImageReference(text).ok).toBe(false);
    }
  }, 1000);
});
