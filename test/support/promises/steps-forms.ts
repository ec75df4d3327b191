import { CONTROL_PLANE_NODE } from './plane.ts';
import { someTenant } from './steps-deployments.ts';
import type { World } from './world.ts';

type Body = Readonly<Record<string, unknown>>;

const shell = (line: string): Body => ({ healthCheck: { type: 'exec', command: [line] } });
const entry = (part: Body): Body => ({
  secrets: [{ name: 'DB', vault_path: 'deployments/db', anchor: 'external', ...part }],
});
const VOLUME_ID = 'vol_000000000001';
const mount = (...paths: readonly string[]): Body => ({
  volumes: paths.map((mountPath) => ({ volumeId: VOLUME_ID, mountPath })),
});

/** What can never be meant, with the code that says so. */
export const FORMS: readonly (readonly [Body, string])[] = [
  [shell('echo ready'), 'healthcheck_type_inert'],
  [shell('# pg_isready'), 'healthcheck_type_inert'],
  [shell('true || pg_isready'), 'healthcheck_type_inert'],
  [shell('pg_isready || true'), 'healthcheck_type_inert'],
  [shell('pg_isready; exit 0'), 'healthcheck_type_inert'],
  [shell('pg_isready | cat'), 'healthcheck_type_inert'],
  [shell('pg_isready | tee /tmp/log'), 'healthcheck_type_inert'],
  [{ healthCheck: { type: 'http', path: '/' } }, 'healthcheck_type_unsupported'],
  [{ nodeId: CONTROL_PLANE_NODE }, 'node_not_a_placement_candidate'],
  [mount('/'), 'volume_mount_shape'],
  [mount('/proc'), 'volume_mount_shape'],
  [mount('/sys/'), 'volume_mount_shape'],
  [mount('/dev'), 'volume_mount_shape'],
  [mount('/data', '/data/'), 'volume_mount_shape'],
  [entry({ rotation: 5 }), 'secret_rotation_unsupported'],
  [entry({ anchor: 5 }), 'secret_anchor_invalid'],
  [{ environment: { DB_PASSWORD: 'c0rrect-h0rse-battery' } }, 'plaintext_credential_in_environment'],
  [{ command: ['serve', '--password=c0rrect-h0rse-battery'] }, 'plaintext_credential_in_environment'],
  [
    { ...entry({}), composedEnvironment: { URL: 'pg://admin:c0rrect-h0rse-battery@db/{{secret.db.user}}' } },
    'plaintext_credential_in_environment',
  ],
];

export const FORM_STEPS: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'a form that cannot be meant': async (world) => {
    const tenant = someTenant(world);
    const [part, code] = world.dice.pick(FORMS);
    const body = {
      kind: 'Deployment',
      name: 'forms',
      image: 'registry.test/shop/web:1.0',
      replicas: 1,
      ...part,
    };
    const answer = await world.request(tenant, 'POST', '/api/v1/deployments', body);
    world.laws.expect(
      'forms',
      answer.body['code'] === code,
      () => `${JSON.stringify(part)} → ${answer.status} ${String(answer.body['code'])} and not ${code}`,
    );
    if (answer.status >= 300) return;
    await world.settle();
    await world.request(tenant, 'DELETE', '/api/v1/deployments/forms');
  },
};
