import { expect, it } from 'vitest';
import { seenAfter } from './image-answer.ts';

it('remembers every digest that a moving tag had, the newest first, each once and within a bound', () => {
  const image = 'registry.example/shop/web:main';
  const [a, b] = ['sha256:a', 'sha256:b'];
  const seen = [a, b, a].reduce(
    (known, digest, at) => seenAfter(known, image, digest, at + 1),
    seenAfter(undefined, image, undefined, 0),
  );
  expect(seen).toEqual([
    { image, digest: a, version: 3 },
    { image, digest: b, version: 2 },
  ]);
  const many = Array.from({ length: 20 }, (_, at) => `sha256:${at}`);
  const kept = many.reduce((known, digest, at) => seenAfter(known, image, digest, at), seen);
  expect([kept.length, kept[0]?.digest]).toEqual([8, 'sha256:19']);
});
