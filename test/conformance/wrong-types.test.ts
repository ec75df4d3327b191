import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RejectionCode } from '../../src/core/rejections/catalogue.ts';
import type { Json } from '../support/harness/api-client.ts';
import {
  type ControlPlane,
  startControlPlane,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.close());

interface Row {
  readonly field: string;
  readonly code: RejectionCode;
  /** The value around the field, at the path of its route's body. */
  readonly body: (wrong: unknown) => Json;
  /** What is of the right type, and so is not sent. */
  readonly fits?: readonly unknown[];
}

const WRONG: readonly unknown[] = [5, true, 'text', [], [5], {}, { a: 5 }];
const TEXT: readonly unknown[] = ['text'];
const BLOCK: readonly unknown[] = [{}, { a: 5 }];
const SECRET = { name: 'DB', vault_path: 'resources/db', anchor: 'external' };

function inSecret(field: string, code: RejectionCode): Row {
  return {
    field: `secrets[0].${field}`,
    code,
    body: (wrong) => ({ secrets: [{ ...SECRET, [field]: wrong }] }),
    fits: TEXT,
  };
}

function inGenerate(field: string, code: RejectionCode, fits: readonly unknown[] = []): readonly Row[] {
  const generate = (wrong: unknown) => ({ generate: { keys: ['a'], [field]: wrong } });
  return [
    {
      field: `secrets[0].generate.${field}`,
      code,
      body: (wrong) => ({ secrets: [{ ...SECRET, ...generate(wrong) }] }),
      fits,
    },
  ];
}

const check = (field: string) => (wrong: unknown) => ({
  healthCheck: { type: 'exec', command: ['/bin/check'], [field]: wrong },
});
const residency = (field: string) => (wrong: unknown) => ({ placement: { residency: { [field]: wrong } } });

/** Fields of a deployment with a code of their own: a wrong type is one more way of not being the accepted form. */
const DEPLOYMENT: readonly Row[] = [
  { field: 'kind', code: 'manifest_wrong_kind', body: (kind) => ({ kind }) },
  { field: 'name', code: 'deployment_name_invalid', body: (name) => ({ name }), fits: TEXT },
  { field: 'image', code: 'image_required', body: (image) => ({ image }) },
  { field: 'replicas', code: 'replicas_out_of_range', body: (replicas) => ({ replicas }), fits: [5] },
  {
    field: 'secretsVersion',
    code: 'secrets_version_negative',
    body: (secretsVersion) => ({ secretsVersion }),
    fits: [5],
  },
  { field: 'user', code: 'user_invalid', body: (user) => ({ user }), fits: TEXT },
  {
    field: 'capabilities.drop',
    code: 'capability_unknown',
    body: (drop) => ({ capabilities: { drop } }),
    fits: [[]],
  },
  { field: 'nodeId', code: 'node_not_a_placement_candidate', body: (nodeId) => ({ nodeId }), fits: TEXT },
  { field: 'healthCheck.type', code: 'healthcheck_type_unsupported', body: check('type') },
  { field: 'healthCheck.command', code: 'healthcheck_command_missing', body: check('command') },
  {
    field: 'healthCheck.retries',
    code: 'healthcheck_retries_below_floor',
    body: check('retries'),
    fits: [5],
  },
  { field: 'healthCheck.timeout', code: 'healthcheck_duration_invalid', body: check('timeout') },
  { field: 'healthCheck.interval', code: 'healthcheck_duration_invalid', body: check('interval') },
  inSecret('name', 'secret_name_invalid'),
  inSecret('vault_path', 'secret_path_shape'),
  inSecret('anchor', 'secret_anchor_invalid'),
  inSecret('rotation', 'secret_rotation_unsupported'),
  {
    field: 'secrets[0].mount_path',
    code: 'secret_mount_path_unsupported',
    body: (mount_path) => ({ secrets: [{ ...SECRET, mount_path }] }),
  },
  ...inGenerate('keys', 'secret_generate_keys_required', [[5]]),
  ...inGenerate('bytes', 'secret_generate_bytes_out_of_range'),
  ...inGenerate('encoding', 'secret_generate_encoding_unknown'),
  ...inGenerate('length', 'secret_generate_length_out_of_range', [5]),
  ...inGenerate('charset', 'secret_generate_charset_unknown'),
  {
    field: 'secrets[0].generate.keys[0]',
    code: 'secret_key_invalid',
    body: (key) => ({ secrets: [{ ...SECRET, generate: { keys: [key] } }] }),
    fits: TEXT,
  },
  {
    field: 'composedEnvironment.URL',
    code: 'secret_compose_template_malformed',
    body: (URL) => ({ composedEnvironment: { URL } }),
    fits: TEXT,
  },
  { field: 'placement.residency.country', code: 'residency_country_invalid', body: residency('country') },
  { field: 'placement.residency.region', code: 'residency_region_undeclared', body: residency('region') },
  { field: 'dependsOn', code: 'depends_on_invalid', body: (dependsOn) => ({ dependsOn }), fits: BLOCK },
];

interface Area {
  readonly method: string;
  readonly path: string;
  readonly base: Json;
  readonly rows: readonly Row[];
  /** Nothing of the body is echoed. */
  readonly redacted?: true;
}

const AREAS: Readonly<Record<string, Area>> = {
  'a deployment': {
    method: 'POST',
    path: '/api/v1/deployments',
    base: { name: 'web', image: UNREACHABLE_IMAGE },
    rows: DEPLOYMENT,
  },
  'a job': {
    method: 'POST',
    path: '/api/v1/jobs',
    base: { name: 'web', image: UNREACHABLE_IMAGE },
    rows: [
      { field: 'kind', code: 'job_invalid', body: (kind) => ({ kind }) },
      { field: 'nodeId', code: 'job_node_not_found', body: (nodeId) => ({ nodeId }), fits: TEXT },
      { field: 'image', code: 'image_required', body: (image) => ({ image }) },
    ],
  },
  'a secret write': {
    method: 'PUT',
    path: '/api/v1/secrets/resources/db',
    base: { values: { a: 'b' } },
    redacted: true,
    rows: [
      { field: 'anchor', code: 'secret_anchor_invalid', body: (anchor) => ({ anchor }), fits: TEXT },
      {
        field: 'generate.bytes',
        code: 'secret_generate_bytes_out_of_range',
        body: (bytes) => ({ generate: { keys: ['c'], bytes } }),
      },
      {
        field: 'generate.keys',
        code: 'secret_generate_keys_required',
        body: (keys) => ({ generate: { keys } }),
        fits: [[5]],
      },
    ],
  },
  'a network': {
    method: 'POST',
    path: '/api/v1/networks',
    base: { name: 'backend' },
    rows: [
      { field: 'name', code: 'network_name_invalid', body: (name) => ({ name }), fits: TEXT },
      { field: 'driver', code: 'network_driver_unsupported', body: (driver) => ({ driver }) },
      { field: 'nodeId', code: 'network_node_not_a_candidate', body: (nodeId) => ({ nodeId }), fits: TEXT },
    ],
  },
  'a rotation': {
    method: 'POST',
    path: '/api/v1/deployments/holder/secrets/rotate',
    base: {},
    rows: [{ field: 'phase', code: 'rotation_transition_invalid', body: (phase) => ({ phase }) }],
  },
  'a node': {
    method: 'POST',
    path: '/api/v1/nodes',
    base: {},
    rows: [{ field: 'nodeName', code: 'node_name_invalid', body: (nodeName) => ({ nodeName }), fits: TEXT }],
  },
  'a scaling policy': {
    method: 'PUT',
    path: '/api/v1/deployments/holder/scaling-policy',
    base: { minReplicas: 1, maxReplicas: 2, targetCpuPercent: 50 },
    rows: ['minReplicas', 'maxReplicas', 'targetCpuPercent', 'cooldown'].map((field) => ({
      field,
      code: 'scaling_policy_invalid' as const,
      body: (wrong: unknown) => ({ [field]: wrong }),
      fits: field === 'cooldown' ? [] : [5],
    })),
  },
};

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

describe.each(Object.entries(AREAS))(
  'a value of a wrong type in %s',
  (_what, { method, path, base, rows, redacted }) => {
    beforeAll(async () => {
      const { tokens } = await plane.tenant('shop');
      const holder = { name: 'holder', image: UNREACHABLE_IMAGE, secrets: [SECRET] };
      await plane.api.post('/api/v1/deployments', holder, { token: tokens['tenant-admin'] });
    });

    it.each(rows.map((row) => [row.field, row.code, row] as const))(
      'at %s is %s',
      async (field, code, row) => {
        const { tokens } = await plane.tenant('shop');
        const wrong = WRONG.filter((value) => !(row.fits ?? []).some((fits) => text(fits) === text(value)));
        for (const value of wrong) {
          const body = { ...base, ...row.body(value) };
          const answer = await plane.api.call(method, path, { body, token: tokens['tenant-admin'] });
          expect([answer.body['code'], answer.body['field']], `${text(value)}: ${answer.text}`).toEqual([
            code,
            field,
          ]);
          const shown = String(answer.body['received']);
          if (redacted || shown.startsWith('(redacted')) expect(shown, answer.text).toMatch(/^\(redacted, /);
          else expect([text(value), text((value as unknown[])[0])], answer.text).toContain(shown);
        }
      },
    );
  },
);
