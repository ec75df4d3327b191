import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isName, nameRule } from './name.ts';
import { limits } from '../../../test/support/samples/deployment.ts';

function refuse(name: string | null | undefined) {
  const rejection = nameRule(name, limits.reservedNames);
  return rejection && [rejection.code, rejection.field];
}

describe('a deployment name', () => {
  it.each(['a', 'a1', 'web', 'web-1', 'a--b', 'a'.repeat(63), 'etcd2', 'latest', 'constructor'])(
    'accepts %s',
    (name) => {
      expect(refuse(name)).toBeUndefined();
      expect(isName(name)).toBe(true);
    },
  );

  it.each<readonly [string | null | undefined, string]>([
    [undefined, 'name_required'],
    [null, 'name_required'],
    ['', 'name_required'],
    [' ', 'deployment_name_invalid'],
    ['-a', 'deployment_name_invalid'],
    ['a-', 'deployment_name_invalid'],
    ['1a', 'deployment_name_invalid'],
    ['A', 'deployment_name_invalid'],
    ['a_b', 'deployment_name_invalid'],
    ['a.b', 'deployment_name_invalid'],
    ['a/b', 'deployment_name_invalid'],
    ['..', 'deployment_name_invalid'],
    ['%2e%2e', 'deployment_name_invalid'],
    ['..%2f', 'deployment_name_invalid'],
    ['a\\b', 'deployment_name_invalid'],
    ['a\n', 'deployment_name_invalid'],
    ['a\u0000', 'deployment_name_invalid'],
    ['ä', 'deployment_name_invalid'],
    ['a\u2024b', 'deployment_name_invalid'],
    ['a\uff0fb', 'deployment_name_invalid'],
    [`A${'a'.repeat(63)}`, 'deployment_name_invalid'],
    ['a'.repeat(64), 'deployment_name_too_long'],
    ['etcd', 'reserved_infrastructure_name'],
    ['berth-etcd', 'reserved_infrastructure_name'],
  ])('refuses %j with %s', (name, code) => {
    expect(refuse(name)).toEqual([code, 'name']);
  });

  it('lists the names that are reserved here', () => {
    expect(nameRule('store', ['store', 'other-store'])?.expected).toContain('store, other-store');
  });

  it('fits every place it is used verbatim in: container name, DNS label, path segment, router id', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9A-Z_./-]{0,70}$/), (name) => {
        if (refuse(name) !== undefined) return;
        expect(name).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/);
        expect(name).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
        expect(encodeURIComponent(name)).toBe(name);
      }),
    );
  });

  it('is decided in little time on any text', () => {
    const started = performance.now();
    for (const text of ['a'.repeat(1e6), `${'a-'.repeat(5e5)}!`, '-'.repeat(1e6), `a${'-'.repeat(1e6)}`])
      refuse(text);
    expect(performance.now() - started).toBeLessThan(500);
  });
});
