import { describe, expect, it } from 'vitest';
import { concerns, fieldSteps } from './rejection.ts';

describe('the field of a rejection', () => {
  it.each([
    ['image', ['image']],
    ['healthCheck.timeout', ['healthCheck', 'timeout']],
    ['secrets[0].vault_path', ['secrets', '0', 'vault_path']],
    ['environment.DB_PASSWORD', ['environment', 'DB_PASSWORD']],
  ])('%s is taken apart', (field, steps) => expect(fieldSteps(field)).toEqual(steps));

  it.each([
    ['image', 'image', true],
    ['secrets', 'secrets[0].vault_path', true],
    ['secrets[1]', 'secrets[0].vault_path', false],
    ['name', 'names', false],
    ['healthCheck.timeout', 'healthCheck', false],
  ])('the input %s shows a rejection of %s: %s', (path, field, shown) =>
    expect(concerns(path, field)).toBe(shown),
  );
});
