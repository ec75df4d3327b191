import { describe, expect, it } from 'vitest';
import type { SecretBearingDraft } from '../../contract/secret-draft.ts';
import { checkCollisions } from './collision.ts';
import { checkComposed } from './compose.ts';

const secrets = [{ name: 'DB', vault_path: 'resources/db' }];
const refuse = (template: string, variable = 'URL') => {
  const rejection = checkComposed({ secrets, composedEnvironment: { [variable]: template } });
  return rejection && [rejection.code, rejection.field];
};

describe('composed templates', () => {
  it.each([
    '{{secret.db.password}}',
    'postgres://app:{{secret.db.password}}@db:5432/app',
    '{{secret.db.a}}{{secret.db.b}}',
    '{"a":{"b":"{{secret.db.c}}"}}',
    '}} {{secret.db._a1}} {',
    '{{secret.db.a}}}',
  ])('accepts %s', (template) => expect(refuse(template)).toBeUndefined());

  it.each([
    ['', 'secret_compose_template_empty'],
    ['{{', 'secret_compose_template_malformed'],
    ['{{secret.db}}', 'secret_compose_template_malformed'],
    ['{{secret.db.a.b}}', 'secret_compose_template_malformed'],
    ['{{secret.DB.a}}', 'secret_compose_template_malformed'],
    ['{{secret.db.1a}}', 'secret_compose_template_malformed'],
    ['{{ secret.db.a }}', 'secret_compose_template_malformed'],
    ['{{Secret.db.a}}', 'secret_compose_template_malformed'],
    ['{{secret..a}}', 'secret_compose_template_malformed'],
    ['{{secret.db.a}', 'secret_compose_template_malformed'],
    ['{{{secret.db.a}}}', 'secret_compose_template_malformed'],
    ['{{secret.db.a}} {{x}}', 'secret_compose_template_malformed'],
    ['{{secret.{{secret.db.a}}.b}}', 'secret_compose_template_malformed'],
    ['constant', 'secret_compose_no_reference'],
    [' ', 'secret_compose_no_reference'],
    ['{secret.db.a}', 'secret_compose_no_reference'],
    ['{{secret.cache.a}}', 'secret_compose_resource_undeclared'],
    ['{{secret.db.a}}{{secret.cache.a}}', 'secret_compose_resource_undeclared'],
  ])('refuses %j with %s', (template, code) =>
    expect(refuse(template)).toEqual([code, 'composedEnvironment.URL']),
  );

  it('refuses what is no variable', () => {
    expect(refuse('{{secret.db.a}}', 'A-B')).toEqual(['secret_key_invalid', 'composedEnvironment.A-B']);
    expect(refuse('{{secret.db.a}}', 'A=B')).toEqual(['secret_key_invalid', 'composedEnvironment']);
  });
});

describe('collisions', () => {
  const collide = (draft: SecretBearingDraft, known?: ReadonlyMap<string, readonly string[]>) => {
    const rejection = checkCollisions(draft, known);
    return rejection && [rejection.code, rejection.field, rejection.received];
  };
  const two = [
    { name: 'A', vault_path: 'resources/one' },
    { name: 'A_B', vault_path: 'resources/two' },
  ];

  it('A + B_C and A_B + C, from sent and from stored keys', () => {
    const known = new Map([
      ['resources/one', ['B_C']],
      ['resources/two', ['C']],
    ]);
    const refused = ['secret_environment_collision', 'secrets[1].name', 'A_B'];
    expect(collide({ secrets: two }, known)).toEqual(refused);
    expect(collide({ secrets: two })).toBeUndefined();
    const [one, other] = two;
    expect(
      collide({
        secrets: [
          { ...one, values: { B_C: 'x' } },
          { ...other, generate: { keys: ['C'] } },
        ],
      }),
    ).toEqual(refused);
    expect(collide({ secrets: [{ ...one, values: { B_C: 'x' } }] }, known)).toBeUndefined();
  });

  it('with environment and composedEnvironment', () => {
    const entry = { name: 'DB', vault_path: 'resources/db', values: { password: 'x' } };
    expect(collide({ secrets: [entry], environment: { DB_password: 'y' } })?.[1]).toBe('secrets[0].name');
    expect(
      collide({ secrets: [entry], composedEnvironment: { DB_password: '{{secret.db.password}}' } })?.[1],
    ).toBe('composedEnvironment.DB_password');
    expect(collide({ environment: { URL: 'a' }, composedEnvironment: { URL: 'b' } })?.[1]).toBe(
      'composedEnvironment.URL',
    );
    expect(collide({ secrets: [entry], environment: { DB_PASSWORD: 'y' } })).toBeUndefined();
  });
});
