import { describe, expect, it } from 'vitest';
import { demandsFor, fullPattern } from './image-policy.ts';
import { parseImageReference } from './image-reference.ts';

function isCovered(images: string, image: string): boolean {
  const parsed = parseImageReference(image);
  if (!parsed.ok) throw new Error(image);
  return demandsFor({ signatures: [{ images, keys: [] }] }, parsed.reference).length === 1;
}

describe('a pattern covers', () => {
  it.each([
    ['*', 'nginx:1', true],
    ['registry.example.com/acme/*', 'registry.example.com/acme/web:1', true],
    ['registry.example.com/acme/*', 'registry.example.com/acme/deep/web:1', true],
    ['registry.example.com/acme/*', 'registry.example.com:443/acme/web:1', true],
    ['registry.example.com/acme/*', 'REGISTRY.example.com/acme/web:1', true],
    ['registry.example.com/acme/*', `registry.example.com/acme/web@sha256:${'a'.repeat(64)}`, true],
    ['registry.example.com/*', 'registry.example.com/acme/web:1', true],
    ['docker.io/library/nginx', 'nginx:1', true],
    ['docker.io/library/nginx', 'index.docker.io/nginx:1', true],
    ['registry.example.com/acme/*', 'registry.example.com/acmes/web:1', false],
    ['registry.example.com/acme/*', 'registry.example.com:5000/acme/web:1', false],
    ['registry.example.com/acme/web', 'registry.example.com/acme/web2:1', false],
    ['docker.io/library/*', 'acme/nginx:1', false],
  ])('%s and %s: %s', (images, image, covered) => {
    expect(isCovered(images, image)).toBe(covered);
  });
});

describe('a pattern is spelled', () => {
  it.each([
    ['*', '*'],
    ['registry.example.com/acme/*', 'registry.example.com/acme/*'],
    ['registry.example.com/*', 'registry.example.com/*'],
    ['Registry.example.com:443/acme/*', 'registry.example.com/acme/*'],
    ['nginx', 'docker.io/library/nginx'],
    ['acme/*', 'docker.io/acme/*'],
    ['registry.example.com/*/web', undefined],
    ['registry.example.com/acme*', undefined],
    ['registry.example.com/acme/web:1', undefined],
    [`registry.example.com/acme/web@sha256:${'a'.repeat(64)}`, undefined],
    ['registry.example.com', 'docker.io/library/registry.example.com'],
    ['/*', undefined],
    ['', undefined],
    ['x'.repeat(2000), undefined],
  ])('%s: %s', (images, full) => {
    expect(fullPattern(images)).toBe(full);
  });
});
