import { afterAll, describe, expect, it } from 'vitest';
import type { VolumeId } from '../../src/core/model/ids.ts';
import { CATALOGUE, isRejectionCode, type RejectionCode } from '../../src/core/rejections/catalogue.ts';
import { parseExample } from '../../src/core/rejections/example.ts';
import type { Answer, Json } from '../support/harness/api-client.ts';
import { AREAS } from './cases/areas.ts';
import { type Asked, type Case, DEPLOYMENTS, plantNode, plantVolume, type Stage } from './cases/case.ts';
import { PENDING } from './pending.ts';
import { Stages } from './stages.ts';

/** The page of a code shows a request that is refused: it is sent here, and refused with that code. */

const stages = new Stages();
afterAll(() => stages.close());

const WEB = '/api/v1/deployments/web';
/** Of these pages the example is no request that a client could send here. */
const NO_REQUEST: readonly RejectionCode[] = [...Object.values(PENDING).flat(), 'internal_error'];

/**
 * Refused for what is stored or what the control plane is like at that moment, as examples with a remark behind their request line are
 * too: the first case of the code that asks the same route brings that about, and is asked in its place.
 */
const BY_CASE: ReadonlySet<string> = new Set(
  `secret_material_would_persist secret_generate_would_persist volume_binding_unavailable csrf_token_invalid header_duplicate
  idempotency_key_conflict job_node_not_found dvm_recommendation_stale_measurement`.split(/\s+/),
);
/** Parameters of a recommendation: the case knows one, and the example's are sent to it. */
const ITS_PARAMETERS = 'dvm_recommendation_';
/** What behind the request line is not about the credential. */
const REMARK = /^.+? {3,}(?!with a token of the role )\S/;

const IN_TENANT_WITHOUT_NODES: ReadonlySet<string> = new Set([
  'node_candidates_unresolvable',
  'job_node_candidates_unresolvable',
  'network_node_candidates_unresolvable',
]);
/** Names that the shop has already: a fragment of a new deployment is sent under another. */
const TAKEN: readonly unknown[] = ['web', 'pg', 'nightly-report', 'backend'];

/** What is there when a reader tries the examples: their names are those of one little shop. */
async function openShop(stage: Stage): Promise<void> {
  for (const node of ['berlin-1', 'berlin-2']) await plantNode(stage, node);
  const volumes = {
    example: {},
    replicated: {},
    ephemeral: { class: 'ephemeral' },
    tmpfs: { class: 'ephemeral', type: 'tmpfs' },
    object: { class: 'object' },
  } as const;
  for (const [name, fields] of Object.entries(volumes))
    await plantVolume(stage, {
      id: `vol_01jd${name}` as VolumeId,
      primaryNodeId: 'berlin-1' as never,
      ...fields,
    });
  const pg = {
    name: 'pg',
    volumes: [{ volumeId: 'vol_01jdexample', mountPath: '/var/lib/postgresql' }],
    secrets: [{ name: 'PG', vault_path: 'deployments/pg', anchor: 'volume(vol_01jdexample)' }],
  };
  const made: readonly (readonly [string, Json])[] = [
    [DEPLOYMENTS, { name: 'web', image: stage.image, ingress: [{ host: 'shop.example.com', port: 8080 }] }],
    [DEPLOYMENTS, { ...pg, image: stage.image }],
    ['/api/v1/jobs', { kind: 'Job', name: 'nightly-report', image: stage.image }],
    ['/api/v1/networks', { name: 'backend', nodeId: 'berlin-1' }],
    [
      '/api/v1/webhooks',
      {
        name: 'alerts',
        url: 'https://hooks.example.com/berth',
        signing: { vault_path: 'resources/hooks' },
        paused: true,
      },
    ],
    ['/api/v1/dvm/volumes', { name: 'pg-data', class: 'ephemeral', type: 'volume', sizeBytes: 2 ** 20 }],
  ];
  await stage.call('PUT', '/api/v1/secrets/resources/database', {
    body: { generate: { keys: ['password'] } },
  });
  const bank = await stages.stage('default', 'bank');
  await plantNode(bank, 'node-1');
  const names = stage.plane.store.forTenant(bank.tenant.id);
  await names.commit(names.transaction().putGlobal('node-names', 'node-1', { tenantId: bank.tenant.id }));
  await names.commit(names.transaction().putGlobal('node-names', 'berlin-1', { tenantId: stage.tenant.id }));
  for (const [path, body] of made) {
    const answer = await stage.call('POST', path, { body });
    if (answer.status !== 201) throw new Error(`the shop could not be opened: ${answer.text}`);
  }
}

let shop: Promise<Stage> | undefined;
function openedShop(): Promise<Stage> {
  shop ??= stages.stage('default', 'shop').then(async (stage) => {
    await openShop(stage);
    return stage;
  });
  return shop;
}

/** Where a body without a request line goes; a fragment of a deployment is completed by what every deployment has. */
function bareRequest(code: RejectionCode, body: Json, stage: Stage): Asked {
  const send = (method: string, path: string, sent: Json = body): Asked => ({
    method,
    path,
    options: { body: sent },
  });
  const has = (key: string): boolean => Object.hasOwn(body, key);
  if (code.startsWith('anchored_secret')) return send('PUT', '/api/v1/deployments/pg');
  if ((has('generate') || has('values')) && !has('secrets'))
    return send('PUT', '/api/v1/secrets/resources/example');
  if (body['kind'] === 'Job')
    return send('POST', '/api/v1/jobs', { image: stage.image, ...body, name: stage.fresh('example') });
  if (has('nodeName')) return send('POST', '/api/v1/nodes');
  if (has('class')) return send('POST', '/api/v1/dvm/volumes');
  if (has('slug'))
    return { ...send('POST', '/api/v1/tenants'), options: { body, token: stage.plane.adminToken } };
  if (has('containers'))
    return { ...send('PUT', '/api/v1/tenants/shop/quota'), options: { body, token: stage.plane.adminToken } };
  if (has('pids'))
    return {
      ...send('PUT', '/api/v1/tenants/shop/container-defaults'),
      options: { body, token: stage.plane.adminToken },
    };
  if (has('minReplicas')) return send('PUT', `${WEB}/scaling-policy`);
  if (code.startsWith('network_'))
    return send(
      'POST',
      '/api/v1/networks',
      TAKEN.includes(body['name']) ? { ...body, name: stage.fresh('example') } : body,
    );
  if (code.startsWith('canary_')) return send('POST', `${WEB}/canary`);
  const free = { name: stage.fresh('example') };
  const name = code === 'name_required' ? {} : free;
  return send('POST', DEPLOYMENTS, {
    ...name,
    image: stage.image,
    ...body,
    ...(TAKEN.includes(body['name']) && code !== 'depends_on_cycle' ? free : {}),
  });
}

interface Written {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Json;
}

/** An example with a request line; the remark behind it is for people. */
function writtenRequest(text: string): Written | undefined {
  const { head, body } = parseExample(text);
  const [, method, path] = /^([A-Z]+) (\/\S*)/.exec(head[0] ?? '') ?? [];
  if (method === undefined || path === undefined) return undefined;
  const headers = head.slice(1).map((line) => {
    const [name = '', value = ''] = line.replace(/ {3,}.*$/, '').split(/:(.*)/s);
    return [name, value.trim()] as const;
  });
  return {
    method,
    path,
    headers: Object.fromEntries(headers),
    ...(body === undefined ? {} : { body: body as Json }),
  };
}

/** Placeholders in angle brackets stand for what would fill a page. */
function filled(value: unknown): unknown {
  if (typeof value === 'string') return /^<[\d,]+ bytes of text>$/.test(value) ? 'x'.repeat(100_000) : value;
  if (Array.isArray(value)) {
    const count = /^<(\d+) entries>$/.exec(String(value[0]))?.[1];
    if (count === undefined) return value.map(filled);
    return Array.from({ length: Number(count) }, (_, at) => ({
      name: `S${at}`,
      vault_path: `resources/s${at}`,
    }));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one)]));
}

/** Ids and names of a path are the case's own. */
function sameRoute(written: string, asked: string): boolean {
  const steps = (path: string): string[] => path.replace(/\?.*$/, '').split('/');
  const [one, other] = [steps(written), steps(asked)];
  return one.length === other.length && one.every((step, at) => at > 3 || step === other[at]);
}

interface Found {
  readonly one: Case;
  readonly stage: Stage;
  readonly asked: Asked;
}

async function caseOf(code: RejectionCode, written: Written | undefined): Promise<Found | undefined> {
  for (const [area, cases] of Object.entries(AREAS)) {
    for (const one of cases.filter((each) => each.code === code && each.field !== undefined)) {
      const stage = await stages.stage(one.setting, area);
      const asked = await one.ask(stage);
      if (written === undefined || (asked.method === written.method && sameRoute(written.path, asked.path)))
        return { one, stage, asked };
    }
  }
  return undefined;
}

async function byCase(code: RejectionCode, text: string): Promise<Answer> {
  const found = await caseOf(code, writtenRequest(text));
  if (found === undefined) throw new Error(`no case of ${code} asks the route of its example: ${text}`);
  const { one, stage, asked } = found;
  const { body } = parseExample(text);
  const options =
    code.startsWith(ITS_PARAMETERS) && body !== undefined && !BY_CASE.has(code)
      ? { ...asked.options, body: body as Json }
      : asked.options;
  let answer = await stage.call(asked.method, asked.path, options);
  // A limit is reached by asking until it is.
  for (let more = 0; one.setting === 'slow-down' && answer.status !== 429 && more < 10; more += 1)
    answer = await stage.call(asked.method, asked.path, options);
  return answer;
}

/** Who sends it, where the example says so or the route is the platform's. */
function credentials({ plane, tenant }: Stage, text: string): { readonly token?: string | null } {
  const role = /with a token of the role (\S+)/.exec(text)?.[1];
  if (role !== undefined) return { token: tenant.tokens[role as keyof typeof tenant.tokens] };
  return /\/api\/v1\/tenants(?:\/\w+)?(?:\s|$)/.test(text) ? { token: plane.adminToken } : {};
}

async function direct(code: RejectionCode, text: string): Promise<Answer> {
  const opened = await openedShop();
  const stage = IN_TENANT_WITHOUT_NODES.has(code) ? await stages.stage('default', 'empty') : opened;
  const real = text.replaceAll('registry.internal:5000', stage.image.replace(/\/.*$/, ''));
  const written = writtenRequest(code === 'image_not_found' ? real : text);
  if (written === undefined) {
    const body = filled(parseExample(code === 'image_not_found' ? real : text).body) as Json;
    const { method, path, options } = bareRequest(code, body, stage);
    return stage.call(method, path, options);
  }
  const { method, path, headers, body } = written;
  return stage.call(method, path, {
    headers,
    ...credentials(stage, text),
    ...(code === 'unauthenticated' ? { token: null } : {}),
    ...(body === undefined ? {} : { body: filled(body) as Json }),
  });
}

const codes = Object.keys(CATALOGUE)
  .filter(isRejectionCode)
  .filter((code) => !NO_REQUEST.includes(code));

function isStateful(code: RejectionCode, text: string): boolean {
  return (
    BY_CASE.has(code) ||
    REMARK.test(text.split('\n', 1)[0] ?? '') ||
    'parameters' in (Object(parseExample(text).body) as object)
  );
}

describe('the example on the page of', () => {
  it.each(codes)('%s', async (code) => {
    const { failing } = CATALOGUE[code];
    const answer = await (isStateful(code, failing) ? byCase(code, failing) : direct(code, failing));
    expect(answer.body['code'], `${failing}\n${answer.text}`).toBe(code);
  });
});
