import { describe, expect, it } from 'vitest';
import { imageRule } from './image.ts';
import { replicasRule } from './replicas.ts';
import { limits } from '../../../test/support/samples/deployment.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('image', () => {
  const refuse = (image: string | undefined) =>
    imageRule({ draft: image === undefined ? {} : { image }, limits });

  it.each([
    'nginx:1.27',
    'localhost:5000/a/b:1',
    `nginx@${DIGEST}`,
    `nginx:latest-alpine`,
    `nginx:1@${DIGEST}`,
  ])('accepts %s', (image) => {
    expect(refuse(image)).toBeUndefined();
  });

  it.each([
    undefined,
    '',
    ' ',
    'nginx',
    'nginx:latest',
    'registry.internal/nginx',
    'NGINX:1',
    'nginx:',
    'nginx@sha256:abc',
    'a b:1',
    '../etc:1',
    'http://registry/nginx:1',
    `${'a'.repeat(1e6)}:1`,
  ])('refuses %j', (image) => {
    expect(refuse(image)).toMatchObject({ code: 'image_required', field: 'image' });
  });
});

describe('replicas', () => {
  const refuse = (replicas: unknown) => replicasRule({ draft: { replicas }, limits })?.code;

  it.each([0, -0, 1, 100])('accepts %d', (replicas) => {
    expect(refuse(replicas)).toBeUndefined();
  });

  it('says of a text that it is one, because it is shown like a number', () => {
    const why = (replicas: unknown) => replicasRule({ draft: { replicas }, limits })?.why;
    expect(why('1')).toContain('not a text');
    expect(why(101)).not.toContain('text');
  });

  it.each<readonly [unknown, string]>([
    [-1, 'replicas_negative'],
    [-(2 ** 53), 'replicas_negative'],
    [Number.NEGATIVE_INFINITY, 'replicas_negative'],
    [101, 'replicas_out_of_range'],
    [2 ** 53 + 1, 'replicas_out_of_range'],
    [0.5, 'replicas_out_of_range'],
    [-0.5, 'replicas_out_of_range'],
    [Number.POSITIVE_INFINITY, 'replicas_out_of_range'],
    ['1', 'replicas_out_of_range'],
    ['-1', 'replicas_out_of_range'],
    [true, 'replicas_out_of_range'],
    [[1], 'replicas_out_of_range'],
    [{}, 'replicas_out_of_range'],
    [undefined, 'replicas_out_of_range'],
  ])('refuses %j with %s', (replicas, code) => {
    expect(refuse(replicas)).toBe(code);
  });

  it('follows the configured maximum', () => {
    const none = { ...limits, maxReplicasPerDeployment: 0 };
    expect(replicasRule({ draft: { replicas: 0 }, limits: none })).toBeUndefined();
    expect(replicasRule({ draft: { replicas: 1 }, limits: none })?.expected).toContain('0 to 0');
  });
});
