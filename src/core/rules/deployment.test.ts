import fc, { type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DeploymentDraft, deploymentBody } from '../contract/deployment-body.ts';
import { draftOfBody } from '../contract/deployment-merge.ts';
import { checkBody, type Shape } from '../schema/shape.ts';
import { CATALOGUE } from '../rejections/catalogue.ts';
import { deploymentRules } from './deployment.ts';
import { firstRejection } from './rule.ts';
import { limits, sampleDraft } from '../../../test/support/samples/deployment.ts';

function refuse(draft: DeploymentDraft) {
  return firstRejection(deploymentRules, { draft, limits });
}

/** One violation per step of the documented order; `command` stands with what the container runs. */
const VIOLATIONS: readonly (readonly [string, DeploymentDraft])[] = [
  ['deployment_name_invalid', { name: 'Web' }],
  ['image_required', { image: 'nginx' }],
  ['replicas_negative', { replicas: -1 }],
  ['command_invalid', { command: [] }],
  ['user_invalid', { user: '' }],
  ['capability_unknown', { capabilities: { drop: ['NONE'] } }],
  ['healthcheck_type_unsupported', { healthCheck: { type: 'http' } }],
  ['plaintext_credential_in_environment', { environment: { DB_PASSWORD: 'hunter2-Zq81xPw0' } }],
  ['secret_name_invalid', { secrets: [{ name: '' }] }],
  ['secret_compose_template_empty', { composedEnvironment: { A: '' } }],
  ['secrets_version_negative', { secretsVersion: -1 }],
  ['volume_mount_shape', { volumes: [null] }],
  ['placement_invalid', { placement: { residency: {} } }],
  ['resources_invalid', { resources: { requests: { cpu: 0 } } }],
  ['depends_on_invalid', { dependsOn: { db: 'ready' } }],
  ['ports_invalid', { ports: [{}] }],
  ['ingress_invalid', { ingress: {} }],
  ['update_invalid', { update: { maxSurge: -1 } }],
];

describe('the order of the rules', () => {
  it('accepts the sample', () => {
    expect(refuse(sampleDraft)).toBeUndefined();
  });

  it.each(VIOLATIONS)('%s alone', (code, violation) => {
    expect(refuse({ ...sampleDraft, ...violation })?.code).toBe(code);
  });

  it('of two violations the earlier wins', () => {
    for (const [first, [code, violation]] of VIOLATIONS.entries()) {
      for (const [, later] of VIOLATIONS.slice(first + 1)) {
        expect(refuse({ ...sampleDraft, ...later, ...violation })?.code).toBe(code);
      }
    }
  });

  it('secretsVersion is counted from 0', () => {
    expect(refuse({ ...sampleDraft, secretsVersion: 0 })).toBeUndefined();
    expect(refuse({ ...sampleDraft, secretsVersion: -1 })?.field).toBe('secretsVersion');
  });
});

const HOSTILE = [
  '',
  '..',
  '/',
  'constructor',
  'toString',
  '{{',
  '{{secret.',
  'volume(',
  'CMD',
  'exec',
  'a',
  'A',
];
const text = fc.oneof(
  fc.constantFrom(...HOSTILE, 'vol_1', 'volume(vol_1)', 'resources/db', 'healthy', '10s', '1Gi', 'DE'),
  fc.string({ maxLength: 12 }),
);
const anything = fc.oneof(
  text,
  fc.integer(),
  fc.double(),
  fc.constantFrom(
    null,
    true,
    [],
    {},
    [null],
    { volumeId: 'vol_1', mountPath: '/a' },
    { volumeId: ['vol_1'] },
  ),
);

/** Every body that the shape accepts can come out of it, so that the rules meet whatever the decoder lets through. */
function arbitraryOf(shape: Shape): Arbitrary<unknown> {
  switch (shape.type) {
    case 'any':
      return anything;
    case 'string':
      return shape.values === undefined ? text : fc.constantFrom(...shape.values);
    case 'integer':
      return fc.oneof(fc.integer({ min: -2, max: 5 }), fc.maxSafeInteger());
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'list':
      return fc.array(arbitraryOf(shape.items), { maxLength: 3 });
    case 'map':
      return fc.dictionary(text, arbitraryOf(shape.items), { maxKeys: 3, noNullPrototype: true });
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(shape.fields).map(([key, field]) => [key, arbitraryOf(field)])),
        { requiredKeys: [] },
      );
  }
}

type Body = Readonly<Record<string, unknown>>;
const arbitraryBody = arbitraryOf(deploymentBody) as Arbitrary<Body>;

function checkRecord(draft: DeploymentDraft) {
  const rejection = refuse(draft);
  if (rejection === undefined) return;
  expect(Object.hasOwn(CATALOGUE, rejection.code)).toBe(true);
  for (const part of [rejection.field, rejection.received, rejection.expected, rejection.why])
    expect(part).toBeTypeOf('string');
  expect(rejection.field.split(/[.[]/)[0]).toBeOneOf(Object.keys(deploymentBody.fields));
  expect(rejection.received.length).toBeLessThanOrEqual(256);
}

describe('any draft that the shape accepts', () => {
  it('is answered, never a fault', () => {
    fc.assert(
      fc.property(arbitraryBody, (body) => {
        expect(checkBody(deploymentBody, body)).toBeUndefined();
        checkRecord(draftOfBody(body));
      }),
      { numRuns: 300 },
    );
  });

  it('is answered by every rule also when the rules before accept', () => {
    fc.assert(
      fc.property(arbitraryBody, (body) => {
        for (const [field, value] of Object.entries(draftOfBody(body)))
          checkRecord({ ...sampleDraft, [field]: value });
        const { volumes, secrets } = body as DeploymentDraft;
        checkRecord({ ...sampleDraft, volumes: volumes ?? [], secrets: secrets ?? [] });
      }),
      { numRuns: 300 },
    );
  });

  it('never has a value of environment or composedEnvironment echoed', () => {
    const marker = 'MARKER-9f31c7-Qx';
    const value = fc
      .tuple(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }))
      .map(([before, after]) => `${before}${marker}${after}`);
    const key = fc.oneof(
      fc.constantFrom('DB_PASSWORD', 'API_TOKEN', 'A', '', '1'),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.dictionary(key, value, { noNullPrototype: true }), (values) => {
        const drafts: readonly DeploymentDraft[] = [{ environment: values }, { composedEnvironment: values }];
        for (const draft of drafts) {
          expect(JSON.stringify(refuse({ ...sampleDraft, ...draft })) ?? '').not.toContain(marker);
        }
      }),
    );
  });
});
