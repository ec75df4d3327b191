import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { codesOfKind, DOCUMENT_PAGES, documentReference } from '../../../scripts/reference/documents.ts';
import { type Field, fieldsOf } from '../../../scripts/reference/field-walk.ts';
import { deploymentBody } from '../../../src/core/contract/deployment-body.ts';
import { draftOfBody } from '../../../src/core/contract/deployment-merge.ts';
import { networkBody } from '../../../src/core/contract/network-body.ts';
import { secretDocumentBody } from '../../../src/core/contract/secret-bodies.ts';
import { volumeBody } from '../../../src/core/contract/volume-body.ts';
import { DEFAULT_SECRET_POLICY } from '../../../src/core/model/secret-limits.ts';
import type { Rejection } from '../../../src/core/rejections/rejection.ts';
import { deploymentRules } from '../../../src/core/rules/deployment.ts';
import { networkRules } from '../../../src/core/rules/network.ts';
import { firstRejection } from '../../../src/core/rules/rule.ts';
import { secretDocumentRules } from '../../../src/core/rules/secrets/document.ts';
import { volumeRules } from '../../../src/core/rules/volume-record.ts';
import { checkBody, draftOf, jsonSchema } from '../../../src/core/schema/shape.ts';

type Body = Readonly<Record<string, unknown>>;

const LIMITS = {
  maxReplicasPerDeployment: 100,
  reservedNames: ['etcd'],
  secretPolicy: DEFAULT_SECRET_POLICY,
  regions: [{ name: 'eu', countries: ['DE', 'FR'] }],
  volumesEnabled: true,
};

/** What an example leaves out, and the rules that judge the whole. */
const KINDS: Readonly<
  Record<string, { readonly rest: Body; readonly judge: (body: Body) => Rejection | undefined }>
> = {
  Deployment: {
    rest: { name: 'web', image: 'registry.internal:5000/shop/web:1.4.2', replicas: 1 },
    judge: (body) =>
      checkBody(deploymentBody, body) ??
      firstRejection(deploymentRules, { draft: draftOfBody(body), limits: LIMITS }),
  },
  Network: {
    rest: { name: 'backend' },
    judge: (body) => checkBody(networkBody, body) ?? firstRejection(networkRules, draftOf(networkBody, body)),
  },
  Volume: {
    rest: { name: 'pg-data', class: 'replicated', type: 'volume', sizeBytes: 2 ** 30 },
    judge: (body) => checkBody(volumeBody, body) ?? firstRejection(volumeRules, draftOf(volumeBody, body)),
  },
  Secret: {
    rest: { namespace: 'resources', name: 'orders-db', generate: { keys: ['PASSWORD'] } },
    judge: (body) =>
      checkBody(secretDocumentBody, body) ??
      firstRejection(secretDocumentRules, {
        draft: draftOf(secretDocumentBody, body),
        policy: DEFAULT_SECRET_POLICY,
      }),
  },
};

const isRefusedAlways = ({ shape }: Field): boolean =>
  shape.type === 'any' && shape.schema['not'] !== undefined;

describe.each(DOCUMENT_PAGES.map((page) => [page.kind, page] as const))('%s', (kind, page) => {
  const fields = fieldsOf(page.shape);

  it.each(fields.map((field) => [field.path, field] as const))('explains %s', (_path, field) => {
    const { shape, required, example } = field;
    expect(shape.description ?? '').toMatch(/[.]$/);
    if (isRefusedAlways(field)) return;
    // What has to be said in one of two ways says so itself.
    expect(required || shape.absent !== undefined || /required|Instead/.test(shape.description ?? '')).toBe(
      true,
    );
    expect(shape.type === 'object' || example !== undefined).toBe(true);
  });

  const { rest, judge } = KINDS[kind] ?? {};
  if (judge !== undefined) {
    const fits = new Ajv2020({ strict: false, validateFormats: false }).compile(jsonSchema(page.shape));
    const shown = fields.flatMap(({ path, example }) =>
      // A name becomes an id before the rules are asked.
      example === undefined || path === 'volumes[].volume' ? [] : [[path, example] as const],
    );
    it.each(shown)('accepts the example of %s', (_path, example) => {
      const body = { ...rest, ...example };
      expect(judge(body)).toBeUndefined();
      expect(fits(body) || fits.errors).toBe(true);
    });
  }

  it('names every code of its operations', () => {
    // What a job shares with a deployment is on that page.
    const text = DOCUMENT_PAGES.slice(0, page.like === undefined ? 0 : 1)
      .concat(page)
      .map(documentReference)
      .join('\n');
    for (const code of codesOfKind(page)) expect(text).toContain(`(rejections.md#${code})`);
  });
});
