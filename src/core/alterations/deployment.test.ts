import type { deployment } from '../contract/answers/deployment.ts';
import type { Answer } from '../schema/shape.ts';
import { PLATFORM_CONTAINER_DEFAULTS } from '../model/container-defaults.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deploymentBody } from '../contract/deployment-body.ts';
import { draftOfBody, mergeDraft } from '../contract/deployment-merge.ts';
import { specOfDraft } from '../contract/deployment-spec.ts';
import { deploymentView } from '../contract/deployment-view.ts';
import { fieldDifferences } from '../contract/diff.ts';
import { checkBody } from '../schema/shape.ts';
import type { DeploymentRecord, DeploymentSpec } from '../model/deployment.ts';
import { alterDeployment } from './deployment.ts';

type Body = Readonly<Record<string, unknown>>;

const MINIMAL: Body = { name: 'web', image: 'shop/web:1' };
const COMPLETE: Body = { kind: 'Deployment', ...MINIMAL, replicas: 2, secrets: [], secretsVersion: 0 };

function create(body: Body) {
  return alterDeployment({ draft: draftOfBody(body), body, storedSecretsVersion: 0 });
}

function alterationsOf(body: Body) {
  return create({ ...COMPLETE, ...body }).alterations.map(({ field, from, to }) => [field, from, to]);
}

function recordOf(spec: DeploymentSpec): DeploymentRecord {
  return {
    id: 'dep_1',
    tenantId: 'tenant-1',
    spec,
    specHash: 'hash',
    version: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
  } as DeploymentRecord;
}

function update(stored: DeploymentSpec, body: Body) {
  const storedView: Answer<typeof deployment> = deploymentView({
    record: recordOf(stored),
    revision: 7,
    defaults: PLATFORM_CONTAINER_DEFAULTS,
  });
  return alterDeployment({
    draft: mergeDraft(stored, body),
    body,
    storedSecretsVersion: stored.secretsVersion,
    storedView,
  });
}

describe('what is filled in', () => {
  it('says every default of a minimal body', () => {
    expect(create(MINIMAL).alterations.map(({ field, from, to }) => [field, from, to])).toEqual([
      ['kind', '(absent)', 'Deployment'],
      ['replicas', '(absent)', '1'],
      ['secrets', '(absent)', '[]'],
      ['secretsVersion', '(absent)', '0'],
    ]);
  });

  it('says nothing of a complete body', () => {
    expect(create(COMPLETE).alterations).toEqual([]);
  });

  it.each<readonly [Body, readonly (readonly string[])[]]>([
    [{ replicas: 0 }, []],
    [
      { secrets: [{ name: 'DB', vault_path: 'resources/db' }] },
      [
        ['secrets[0].anchor', '(absent)', 'external'],
        ['secrets[0].rotation', '(absent)', 'restart'],
      ],
    ],
    [
      {
        secrets: [
          { name: 'A', vault_path: 'resources/a', anchor: 'process', rotation: 'restart' },
          { name: 'B', vault_path: 'resources/b', anchor: '' },
        ],
      },
      [['secrets[1].rotation', '(absent)', 'restart']],
    ],
    [{ secretsVersion: 3 }, [['secretsVersion', '3', '0']]],
    [{ secretsVersion: -1 }, []],
    [
      { volumes: [{ volumeId: 'vol_1', mountPath: '/a' }, { readOnly: true }, null, 5, ['x']] },
      [['volumes[0].readOnly', '(absent)', 'false']],
    ],
    [
      { placement: { residency: { country: 'de', blockedCountries: ['RU', 'by'] } } },
      [
        ['placement.residency.country', 'de', 'DE'],
        ['placement.residency.blockedCountries[1]', 'by', 'BY'],
      ],
    ],
    [
      { healthCheck: { type: 'exec', command: ['CMD', 'a', 'b'] } },
      [['healthCheck.command', '["CMD","a","b"]', '["a","b"]']],
    ],
    [
      { healthCheck: { type: 'exec', command: ['CMD-SHELL', 'CMD', 'a'] } },
      [['healthCheck.command', '["CMD-SHELL","CMD","a"]', '["a"]']],
    ],
    [{ healthCheck: { type: 'exec', command: ['a', 'CMD'] } }, []],
    [{ healthCheck: { type: 'exec', command: ['CMD'] } }, []],
  ])('%j', (body, expected) => {
    expect(alterationsOf(body)).toEqual(expected);
  });

  it('leaves a country that is none as it was sent, so that the refusal shows it', () => {
    for (const country of ['xx', 'ß', 'ﬁ', 'ﬆ', 'deu', 'd', '']) {
      const { draft, alterations } = create({ ...COMPLETE, placement: { residency: { country } } });
      expect(draft.placement?.residency?.country, country).toBe(country);
      expect(alterations, country).toEqual([]);
    }
  });
});

describe('volumes by name', () => {
  const named = (body: Body) =>
    alterDeployment({
      draft: draftOfBody({ ...COMPLETE, ...body }),
      body,
      storedSecretsVersion: 0,
      volumeIdOf: (name) => (name === 'pg-data' ? 'vol_1' : undefined),
    });
  const mount = { mountPath: '/data', readOnly: false };
  const secret = { name: 'DB', vault_path: 'resources/db', rotation: 'restart' };

  it('are stored by their id, which is announced; so are anchors', () => {
    const { draft, alterations } = named({
      volumes: [{ ...mount, volume: 'pg-data' }],
      secrets: [{ ...secret, anchor: 'volume(pg-data)' }],
    });
    expect(draft.volumes).toEqual([{ ...mount, volumeId: 'vol_1' }]);
    expect(draft.secrets).toEqual([{ ...secret, anchor: 'volume(vol_1)' }]);
    expect(alterations.map(({ field, from, to }) => [field, from, to])).toEqual([
      ['volumes[0].volume', 'pg-data', 'volumeId: vol_1'],
      ['secrets[0].anchor', 'volume(pg-data)', 'volume(vol_1)'],
    ]);
  });

  it.each([
    [{ ...mount, volume: 'nothing' }],
    [{ ...mount, volume: 'pg-data', volumeId: 'vol_2' }],
    [{ ...mount, volume: 7 }],
  ])('are left for their rule: %j', (given) => {
    expect(named({ volumes: [given] }).draft.volumes).toEqual([given]);
  });

  it('may be given with the id of the same volume', () => {
    const both = { ...mount, volume: 'pg-data', volumeId: 'vol_1' };
    expect(named({ volumes: [both] }).draft.volumes).toEqual([{ ...mount, volumeId: 'vol_1' }]);
  });
});

describe('keys that the server owns', () => {
  it('are ignored on create and said, without their value', () => {
    const [alteration] = create({ ...COMPLETE, id: 'dep_mine' }).alterations;
    expect(alteration).toMatchObject({ field: 'id', to: '(set by the server)' });
    expect(JSON.stringify(alteration)).not.toContain('dep_mine');
  });

  it('are said on update only when they differ', () => {
    const stored = specOfDraft(create(COMPLETE).draft);
    expect(update(stored, { id: 'dep_1', revision: 7, status: { phase: 'Lost' } }).alterations).toEqual([]);
    expect(update(stored, { id: 'dep_2', revision: 6 }).alterations.map(({ field }) => field)).toEqual([
      'id',
      'revision',
    ]);
  });
});

const text = fc.string({ maxLength: 6 });
const texts = fc.array(text, { maxLength: 3 });
const country = fc.constantFrom('DE', 'de', 'Fr', 'ru', 'xx', 'ß', 'deu', '');
const secret = fc.record(
  {
    name: text,
    vault_path: text,
    anchor: fc.constantFrom('external', 'process', 'volume(vol_1)', ''),
    rotation: fc.constant('restart'),
  },
  { requiredKeys: ['name', 'vault_path'] },
);
const mount = fc.oneof(
  fc.record(
    { volumeId: text, mountPath: text, readOnly: fc.boolean() },
    { requiredKeys: ['volumeId', 'mountPath'] },
  ),
  fc.constantFrom(null, 1, 'x', ['y']),
);
const word = fc.oneof(fc.constantFrom('CMD', 'CMD-SHELL', 'NONE', 'true'), text);
const arbitraryBody = fc.record(
  {
    kind: fc.constant('Deployment'),
    name: text,
    image: text,
    replicas: fc.oneof(fc.integer(), text, fc.constant(null)),
    command: texts,
    environment: fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true }),
    secrets: fc.array(secret, { maxLength: 3 }),
    secretsVersion: fc.oneof(fc.integer({ min: -2, max: 4 }), fc.constant(null)),
    healthCheck: fc.record(
      { type: fc.constant('exec'), command: fc.array(word, { maxLength: 4 }) },
      { requiredKeys: [] },
    ),
    volumes: fc.array(mount, { maxLength: 3 }),
    placement: fc.record(
      {
        residency: fc.record(
          { country, region: text, blockedCountries: fc.array(country, { maxLength: 3 }) },
          { requiredKeys: [] },
        ),
        antiAffinity: texts,
      },
      { requiredKeys: [] },
    ),
    nodeId: text,
  },
  { requiredKeys: [] },
);

function explains(announced: readonly string[], path: string): boolean {
  return announced.some(
    (field) => path === field || path.startsWith(`${field}.`) || field.startsWith(`${path}[`),
  );
}

describe('the law: stored = sent + announced alterations', () => {
  it('every difference between what was sent and what is stored is announced, and nothing else is', () => {
    fc.assert(
      fc.property(arbitraryBody, (body) => {
        fc.pre(checkBody(deploymentBody, body) === undefined);
        const { draft, alterations } = create(body);
        const announced = alterations.map(({ field }) => field);
        const differing = fieldDifferences(draftOfBody(body), draft).map(({ field }) => field);
        for (const path of differing) expect(explains(announced, path), path).toBe(true);
        for (const field of announced) {
          expect(
            differing.some((path) => explains([field], path)),
            field,
          ).toBe(true);
        }
      }),
    );
  });

  it('what was sent is not changed in place', () => {
    fc.assert(
      fc.property(arbitraryBody, (body) => {
        const before = structuredClone(body);
        create(body);
        expect(body).toEqual(before);
      }),
    );
  });

  it('a stored deployment sent back, as GET shows it, alters nothing', () => {
    fc.assert(
      fc.property(arbitraryBody, fc.nat({ max: 9 }), (body, secretsVersion) => {
        fc.pre(checkBody(deploymentBody, body) === undefined);
        fc.pre(body.secretsVersion === undefined || (body.secretsVersion ?? 0) >= 0);
        const stored = { ...specOfDraft(create(body).draft), secretsVersion };
        const view = JSON.parse(
          JSON.stringify(
            deploymentView({ record: recordOf(stored), revision: 7, defaults: PLATFORM_CONTAINER_DEFAULTS }),
          ),
        ) as Body;
        const again = update(stored, view);
        expect(again.alterations).toEqual([]);
        expect(specOfDraft(again.draft)).toEqual(stored);
      }),
    );
  });

  it('an update of nothing alters nothing', () => {
    fc.assert(
      fc.property(arbitraryBody, (body) => {
        fc.pre(body.secretsVersion === undefined || (body.secretsVersion ?? 0) >= 0);
        const stored = specOfDraft(create(body).draft);
        expect(update(stored, {})).toEqual({ draft: stored, alterations: [] });
      }),
    );
  });
});
