import { once } from 'node:events';
import { connect } from 'node:net';
import { idOf } from '../../../src/server/store/record-ids.ts';
import { Transaction } from '../../../src/server/store/transaction.ts';
import type { Json } from '../../support/harness/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { signingKey } from '../../support/harness/cosign.ts';
import { askUnread } from '../../support/harness/unread.ts';
import {
  type Ask,
  type Asked,
  ask,
  type Case,
  DEPLOYMENTS,
  inside,
  plantVolume,
  post,
  put,
  refused,
  type Stage,
  stored,
  withSecret,
} from './case.ts';

const POLICY_KEY = signingKey().pem;

/** A policy of entries that are right but for what is given. */
function imagePolicy(...entries: readonly Json[]): Ask {
  const signatures = entries.map((entry) => ({
    images: 'registry.example.com/acme/*',
    keys: [POLICY_KEY],
    ...entry,
  }));
  return (stage) =>
    ask('PUT', `/api/v1/tenants/${stage.tenant.slug}/image-policy`, { body: { signatures } })(stage);
}

const raw = (text: string | Buffer) => ask('POST', DEPLOYMENTS, { raw: text });

const defaults =
  (body: Json): Ask =>
  (stage) =>
    platform('PUT', `/api/v1/tenants/${stage.tenant.slug}/container-defaults`, body)(stage);

/** As a browser does it: the token once, then the cookie. */
async function signIn(stage: Stage): Promise<{ readonly cookie: string; readonly csrfToken: string }> {
  const answer = await stage.call('POST', '/api/v1/session');
  const [cookie = ''] = (answer.headers['set-cookie']?.[0] ?? '').split(';', 1);
  return { cookie, csrfToken: String(answer.body['csrfToken']) };
}

const OTHER_PLAN = '0b6d8f12-5c3e9a77-e1f04d28';

const HELD_MS = 2000;

/** Eight connections are held open by somebody, and the request needs one more. */
async function overNinthConnection({ plane }: Stage): Promise<Asked> {
  plane.api.close();
  const { hostname, port } = new URL(plane.url);
  for (let count = 0; count < 8; count += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    setTimeout(() => socket.destroy(), HELD_MS);
  }
  return { method: 'GET', path: DEPLOYMENTS };
}

/** Somebody asks for more with the same token than a connection takes by itself, and reads nothing. */
async function besideUnread(stage: Stage): Promise<Asked> {
  const { plane, tenant } = stage;
  const name = await stored(stage, { environment: { TEXT: 'x'.repeat(48 * 1024) } });
  const { record } = plane.store.forTenant(tenant.id).get('deployments', idOf('deployments', name)) ?? {};
  if (record === undefined) throw new Error('the deployment of the case is not stored');
  for (let count = 0; count < 80; count += 16) {
    const transaction = new Transaction(tenant.id);
    for (let at = count; at < count + 16; at += 1) {
      const spec = { ...record.spec, name: `${name}-${at}` };
      transaction.put('deployments', idOf('deployments', spec.name), {
        ...record,
        id: `${record.id}${at}` as never,
        spec,
      });
    }
    await plane.store.commit(transaction);
  }
  const socket = askUnread(plane.url, DEPLOYMENTS, tenant.tokens['tenant-admin']);
  setTimeout(() => socket.destroy(), HELD_MS);
  await eventually(
    async () => /^berth_unread_bytes [1-9]/m.test((await plane.api.send('GET', '/metrics')).text),
    (isHeld) => isHeld,
  );
  return { method: 'GET', path: DEPLOYMENTS };
}

/** A workload of a deployer, with material for a document that somebody else has written. */
function onStoredSecret(entry: Json, path = DEPLOYMENTS): Ask {
  return async (stage) => {
    const vault_path = `resources/${stage.fresh()}`;
    await stage.call('PUT', `/api/v1/secrets/${vault_path}`, { body: { values: { password: 'a' } } });
    return {
      method: 'POST',
      path,
      options: {
        token: stage.tenant.tokens.deployer,
        body: {
          name: stage.fresh(),
          image: stage.image,
          secrets: [{ name: 'DB', vault_path, anchor: 'process', ...entry }],
        },
      },
    };
  };
}

/** Refusals of the request itself, and of the records of the platform. */
export const requestCases: readonly Case[] = [
  ...refused('body_malformed', 'body', {
    'a trailing comma': raw('{"name":"web",}'),
    'no body': ask('POST', DEPLOYMENTS, { raw: '' }),
    'the same key twice': raw('{"name":"a","name":"b"}'),
    'a prototype key': raw('{"__proto__":{"polluted":true}}'),
    'an escaped prototype key': raw('{"environment":{"\\u005f_proto__":"x"}}'),
    'bytes that are no UTF-8': raw(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
    'two documents': raw('{"name":"web"}{"name":"web"}'),
    'YAML with the same key twice': ask('POST', DEPLOYMENTS, { yaml: 'name: a\nname: b\n' }),
    'two YAML documents': ask('POST', DEPLOYMENTS, { yaml: 'name: a\n---\nname: b\n' }),
  }),
  ...refused('body_too_large', 'body', { '1 MiB and a byte': raw(`"${'a'.repeat(1_048_575)}"`) }),
  ...refused('body_too_deep', 'body', {
    '33 levels': raw(`${'['.repeat(33)}${']'.repeat(33)}`),
    '100,000 levels': raw('['.repeat(100_000)),
    '33 levels of YAML': ask('POST', DEPLOYMENTS, { yaml: `${'['.repeat(33)}${']'.repeat(33)}` }),
  }),
  ...refused('content_type_unsupported', 'Content-Type', {
    text: ask('POST', DEPLOYMENTS, { raw: '{}', contentType: 'text/plain' }),
    absent: ask('POST', DEPLOYMENTS, { raw: '{}', contentType: null }),
    'another charset': ask('POST', DEPLOYMENTS, {
      raw: '{}',
      contentType: 'application/json; charset=latin1',
    }),
    'no media type': ask('POST', DEPLOYMENTS, { raw: '{}', contentType: 'garbage' }),
    'YAML where it is not taken': ask('POST', '/api/v1/tokens', { yaml: 'name: ci' }),
  }),
  ...inside('content_type_unsupported', {
    'with its charset': (stage) => ({
      method: 'POST',
      path: DEPLOYMENTS,
      options: {
        raw: JSON.stringify({ name: stage.fresh(), image: stage.image }),
        contentType: 'application/json; charset=UTF-8',
      },
    }),
    YAML: (stage) => ({
      method: 'POST',
      path: DEPLOYMENTS,
      options: { yaml: `name: ${stage.fresh()}\nimage: "${stage.image}"\n` },
    }),
  }),
  ...refused('route_not_found', 'path', {
    singular: ask('GET', '/api/v1/deployment/web'),
    'trailing slash': ask('GET', `${DEPLOYMENTS}/`),
    'another case': ask('GET', '/API/v1/deployments'),
  }),
  ...refused('method_not_allowed', 'method', {
    PATCH: ask('PATCH', `${DEPLOYMENTS}/web`, { body: {} }),
    'DELETE of the list': ask('DELETE', DEPLOYMENTS),
    'DELETE of a public path': ask('DELETE', '/healthz'),
    QUERY: ask('QUERY', DEPLOYMENTS),
  }),
  ...refused('unauthenticated', 'Authorization', {
    'no credential': ask('GET', DEPLOYMENTS, { token: null }),
    'no token': ask('GET', DEPLOYMENTS, { token: 'nonsense' }),
  }),
  ...refused('csrf_token_invalid', 'X-CSRF-Token', {
    'a write with the cookie alone': async (stage) => ({
      method: 'POST',
      path: DEPLOYMENTS,
      options: { token: null, body: {}, headers: { cookie: (await signIn(stage)).cookie } },
    }),
    'a token of another session': async (stage) => {
      const { cookie } = await signIn(stage);
      const other = await signIn(stage);
      const headers = { cookie, 'x-csrf-token': other.csrfToken };
      return { method: 'POST', path: DEPLOYMENTS, options: { token: null, body: {}, headers } };
    },
    'a page of another site': async (stage) => {
      const { cookie, csrfToken } = await signIn(stage);
      const headers = { cookie, 'x-csrf-token': csrfToken, 'sec-fetch-site': 'cross-site' };
      return { method: 'DELETE', path: `${DEPLOYMENTS}/web`, options: { token: null, headers } };
    },
  }),
  ...refused('origin_forbidden', 'Origin', {
    'a page of another site': ask('GET', `${DEPLOYMENTS}/web/exec`, {
      headers: { origin: 'https://elsewhere.example' },
    }),
    'the cookie without an origin': async (stage) => ({
      method: 'GET',
      path: `${DEPLOYMENTS}/web/exec`,
      options: { token: null, headers: { cookie: (await signIn(stage)).cookie } },
    }),
  }),
  ...refused('upgrade_required', 'Upgrade', {
    'a plain GET': ask('GET', `${DEPLOYMENTS}/web/exec`),
  }),
  ...inside('csrf_token_invalid', {
    'a read with the cookie': async (stage) => ({
      method: 'GET',
      path: DEPLOYMENTS,
      options: { token: null, headers: { cookie: (await signIn(stage)).cookie } },
    }),
    'a write with the token of the session': async (stage) => {
      const { cookie, csrfToken } = await signIn(stage);
      const body = { name: stage.fresh(), image: stage.image };
      const headers = { cookie, 'x-csrf-token': csrfToken, 'sec-fetch-site': 'same-origin' };
      return { method: 'POST', path: DEPLOYMENTS, options: { token: null, body, headers, laws: false } };
    },
  }),
  ...refused('tenant_forbidden', 'X-Tenant-ID', {
    'another tenant': async (stage) => {
      const other = await stage.plane.tenant('other');
      return { method: 'GET', path: DEPLOYMENTS, options: { tenant: other.id } };
    },
    'a tenant that does not exist': ask('GET', DEPLOYMENTS, { tenant: 'nobody' }),
  }),
  ...inside('tenant_forbidden', {
    'its own by UUID': (stage) => ({
      method: 'GET',
      path: DEPLOYMENTS,
      options: { tenant: stage.tenant.id },
    }),
    'its own by UUID in upper case': (stage) => ({
      method: 'GET',
      path: DEPLOYMENTS,
      options: { tenant: stage.tenant.id.toUpperCase() },
    }),
    'its own by slug': (stage) => ({
      method: 'GET',
      path: DEPLOYMENTS,
      options: { tenant: stage.tenant.slug },
    }),
  }),
  ...refused('role_forbidden', 'Authorization', {
    'a viewer who writes': (stage) => post({}, { token: stage.tenant.tokens.viewer })(stage),
    'a tenant that makes tenants': ask('POST', '/api/v1/tenants', { body: { slug: 'mine' } }),
    'a viewer who releases a claim, before the missing header': (stage) =>
      ask('DELETE', '/api/v1/nodes/any/claim', { token: stage.tenant.tokens.viewer })(stage),
  }),
  ...refused('role_forbidden', 'secrets[0].values', {
    'a deployer who replaces a value that others read': onStoredSecret({ values: { password: 'b' } }),
    'a deployer who adds to what others read': onStoredSecret({ anchor: 'external', values: { other: 'b' } }),
  }),
  ...refused('role_forbidden', 'secrets[0].generate', {
    'a deployer who mints again what others read': onStoredSecret({ generate: { keys: ['password'] } }),
    'the same for a job': onStoredSecret({ generate: { keys: ['password'] } }, '/api/v1/jobs'),
  }),
  ...inside('role_forbidden', {
    'a deployer who references': (stage) =>
      withSecret({}, {}, { token: stage.tenant.tokens.deployer })(stage),
    'a deployer who brings a document': (stage) =>
      withSecret({ values: { a: 'b' } }, {}, { token: stage.tenant.tokens.deployer })(stage),
    'a deployer who mints a document': (stage) =>
      withSecret({ generate: { keys: ['a'] } }, {}, { token: stage.tenant.tokens.deployer })(stage),
    'a deployer whose keys are kept as stored': onStoredSecret({
      anchor: 'external',
      values: { password: 'b' },
    }),
  }),
  ...refused('role_forbidden', 'role', {
    'a tenant that makes platform administrators': ask('POST', '/api/v1/tokens', {
      body: { name: 'up', role: 'platform-admin' },
    }),
    'a tenant that makes readers of all figures': ask('POST', '/api/v1/tokens', {
      body: { name: 'up', role: 'metrics' },
    }),
  }),
  ...refused('apply_dry_run_only', 'dryRun', {
    'a set without a word of it': ask('POST', '/api/v1/apply', { body: [] }),
    'a set that is to be stored': ask('POST', '/api/v1/apply?dryRun=false', { body: [] }),
  }),
  ...inside('apply_dry_run_only', {
    'a set that is planned': ask('POST', '/api/v1/apply?dryRun=true', { body: [] }),
  }),
  ...refused('document_described_twice', '[1].name', {
    'one with its kind, one without': ask('POST', '/api/v1/apply?dryRun=true', {
      body: [{ name: 'web' }, { kind: 'Deployment', name: 'web' }],
    }),
  }),
  ...inside('document_described_twice', {
    'a job and a deployment of one name': ask('POST', '/api/v1/apply?dryRun=true', {
      body: [{ name: 'web' }, { kind: 'Job', name: 'web' }],
    }),
  }),
  ...refused('field_unknown', 'healthcheck', { 'another case': post({ healthcheck: {} }) }),
  ...refused('field_unknown', 'placement.residency.land', {
    nested: post({ placement: { residency: { land: 'DE' } } }),
  }),
  ...refused('field_unknown', 'secrets[0].value', {
    'in a list': post({ secrets: [{ name: 'A', value: 'x' }] }),
  }),
  ...refused('field_unknown', 'constructor', { 'an inherited name': post({ constructor: {} }) }),
  ...refused('field_type_invalid', 'environment.WORKERS', { number: post({ environment: { WORKERS: 4 } }) }),
  ...refused('field_type_invalid', 'command', { text: post({ command: '/bin/web' }) }),
  ...refused('field_type_invalid', 'body', { list: raw('[]'), null: raw('null'), text: raw('"a"') }),
  ...refused('revision_mismatch', 'If-Match', {
    'an older one': put({}, { replicas: 2 }, { headers: { 'if-match': '"1"' } }),
    'on delete': async (stage) => ({
      method: 'DELETE',
      path: `${DEPLOYMENTS}/${await stored(stage)}`,
      options: { headers: { 'if-match': '"1"' } },
    }),
    'on a copy of a volume': async (stage) => ({
      method: 'DELETE',
      path: `/api/v1/tenants/${stage.tenant.slug}/volumes/${await plantVolume(stage)}/replicas/any`,
      options: { headers: { 'if-match': '"1"' } },
    }),
  }),
  ...refused('plan_outdated', 'plan', {
    'of another plan': async (stage) => ({
      method: 'PUT',
      path: `${DEPLOYMENTS}/${await stored(stage)}?plan=${OTHER_PLAN}`,
      options: { body: { replicas: 3 } },
    }),
    'of what is new': async (stage) => ({
      ...(await post({})(stage)),
      path: `${DEPLOYMENTS}?plan=${OTHER_PLAN}`,
    }),
    'of a deletion': async (stage) => ({
      method: 'DELETE',
      path: `${DEPLOYMENTS}/${await stored(stage)}?plan=${OTHER_PLAN}`,
    }),
    'of a rollback': async (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENTS}/${await stored(stage)}/rollback?plan=${OTHER_PLAN}`,
      options: { body: { version: 1 } },
    }),
    'of a job': ask('POST', `/api/v1/jobs?plan=${OTHER_PLAN}`, {
      body: { name: 'planned-job', image: 'localhost:1/shop/web:1.0.0' },
    }),
  }),
  ...refused('query_parameter_invalid', 'plan', {
    'no id of a plan': ask('POST', `${DEPLOYMENTS}?plan=latest`, { body: {} }),
  }),
  ...refused('header_duplicate', 'x-tenant-id', {
    'two tenants': ask('GET', DEPLOYMENTS, { headers: { 'x-tenant-id': ['a', 'b'] } }),
  }),
  ...refused('header_duplicate', 'if-match', {
    'two revisions': ask('DELETE', `${DEPLOYMENTS}/web`, { headers: { 'if-match': ['"1"', '"2"'] } }),
  }),
  ...refused('header_invalid', 'If-Match', {
    'no revision': put({}, { replicas: 2 }, { headers: { 'if-match': '"abc"' } }),
  }),
  ...refused('header_invalid', 'Idempotency-Key', {
    'a space': post({}, { headers: { 'idempotency-key': 'a b' } }),
    'too long': post({}, { headers: { 'idempotency-key': 'a'.repeat(256) } }),
    empty: post({}, { headers: { 'idempotency-key': '' } }),
  }),
  ...inside('header_invalid', {
    '255 characters': post({}, { headers: { 'idempotency-key': 'a'.repeat(255) } }),
  }),
  ...refused('idempotency_key_conflict', 'Idempotency-Key', {
    'another body': async (stage) => {
      const key = { 'idempotency-key': stage.fresh() };
      await stage.call('POST', DEPLOYMENTS, {
        body: { name: stage.fresh(), image: stage.image },
        headers: key,
      });
      return post({}, { headers: key })(stage);
    },
  }),
  ...refused('query_parameter_unknown', 'dry_run', {
    'a near name': ask('POST', `${DEPLOYMENTS}?dry_run=true`, { body: {} }),
  }),
  ...refused('query_parameter_unknown', 'filter', {
    'on a list': ask('GET', `${DEPLOYMENTS}?filter=a`),
    'on a read': ask('GET', `${DEPLOYMENTS}/web?filter=a`),
    'on a public path': ask('GET', '/healthz?filter=a'),
  }),
  ...refused('query_parameter_unknown', '__proto__', {
    'a prototype key': ask('GET', `${DEPLOYMENTS}?__proto__=a`),
  }),
  ...refused('query_parameter_invalid', 'limit', {
    '1,001': ask('GET', `${DEPLOYMENTS}?limit=1001`),
    '0': ask('GET', `${DEPLOYMENTS}?limit=0`),
    twice: ask('GET', `${DEPLOYMENTS}?limit=1&limit=2`),
    words: ask('GET', `${DEPLOYMENTS}?limit=many`),
  }),
  ...refused('query_parameter_invalid', 'cursor', { 'not ours': ask('GET', `${DEPLOYMENTS}?cursor=%00`) }),
  ...refused('query_parameter_invalid', 'dryRun', {
    'another word': ask('POST', `${DEPLOYMENTS}?dryRun=yes`, { body: {} }),
  }),
  ...refused('query_parameter_invalid', 'since', {
    'no time': ask('GET', '/api/v1/events?since=yesterday'),
    'a year alone': ask('GET', '/api/v1/events?since=2026'),
    'in words': ask('GET', '/api/v1/events?since=31%20Jan%202026'),
    'no time, of the audit': ask('GET', '/api/v1/audit?since=yesterday'),
  }),
  ...refused('query_parameter_invalid', 'action', {
    'no action': ask('GET', '/api/v1/audit?action=Deployment'),
    'a star alone': ask('GET', '/api/v1/audit?action=*'),
    'too long': ask('GET', `/api/v1/audit?action=${'a'.repeat(129)}`),
  }),
  ...inside('query_parameter_invalid', {
    '1,000': ask('GET', `${DEPLOYMENTS}?limit=1000`),
    '1': ask('GET', `${DEPLOYMENTS}?limit=1`),
  }),
  ...refused('internal_error', 'server', {
    'a stored record that cannot be read': async (stage) => {
      const key = `c/${stage.tenant.id}/archives/broken/000000001`;
      await stage.plane.store.kv.commit({ puts: [{ key, value: 'not JSON' }] });
      return { method: 'GET', path: '/api/v1/archives/deployments/broken' };
    },
  }),
  ...refused('memory_low', 'server', { 'a write that adds': post({}) }, 'memory-low'),
  ...refused('store_unavailable', 'store', { 'a write': post({}) }, 'store-closed'),
  ...refused(
    'stream_limit_reached',
    'Authorization',
    {
      events: ask('GET', '/api/v1/events', { headers: { accept: 'text/event-stream' } }),
      logs: ask('GET', `${DEPLOYMENTS}/web/logs`),
      command: ask('POST', `${DEPLOYMENTS}/web/exec`, { body: { command: ['true'] } }),
      'log of a job': ask('GET', '/api/v1/jobs/nightly/logs'),
    },
    'crowded',
  ),
  ...inside('stream_limit_reached', { 'events that are read once': ask('GET', '/api/v1/events') }, 'crowded'),
  ...refused(
    'connection_limit_reached',
    'connection',
    { 'a connection too many': overNinthConnection },
    'crowded',
  ),
  ...refused('answers_unread', 'Authorization', { 'while others wait': besideUnread }, 'impatient'),
  ...refused('rate_limited', 'Authorization', { 'the fourth at once': ask('GET', DEPLOYMENTS) }, 'slow-down'),
];

const platform =
  (method: string, path: string, body?: unknown): Case['ask'] =>
  (stage) => ({
    method,
    path,
    options: { token: stage.plane.adminToken, ...(body === undefined ? {} : { body }) },
  });

const quota =
  (body: Json): Ask =>
  async (stage) =>
    platform(
      'PUT',
      `/api/v1/tenants/${(await stage.plane.tenant(stage.fresh('of'))).slug}/quota`,
      body,
    )(stage);

/** By a tenant of its own that has this quota. */
const atQuota =
  (limits: Json, path: string, fields: Json): Ask =>
  async (stage) => {
    const tenant = await stage.plane.tenant(stage.fresh('full'));
    const set = await platform('PUT', `/api/v1/tenants/${tenant.slug}/quota`, limits)(stage);
    await stage.call(set.method, set.path, set.options);
    const body = { name: stage.fresh(), image: stage.image, ...fields };
    return { method: 'POST', path, options: { body, token: tenant.tokens['tenant-admin'] } };
  };

export const recordCases: readonly Case[] = [
  ...refused('tenant_not_found', 'tenant', {
    read: platform('GET', '/api/v1/tenants/nobody'),
    delete: platform('DELETE', '/api/v1/tenants/nobody'),
    quota: platform('PUT', '/api/v1/tenants/nobody/quota', { containers: 1 }),
    defaults: platform('PUT', '/api/v1/tenants/nobody/container-defaults', {}),
  }),
  ...refused('tenant_not_found', 'X-Tenant-ID', {
    'acting for it': (stage) => ({
      method: 'GET',
      path: DEPLOYMENTS,
      options: { token: stage.plane.adminToken, tenant: 'nobody' },
    }),
  }),
  ...refused('tenant_already_exists', 'slug', {
    'a second time': async (stage) => platform('POST', '/api/v1/tenants', { slug: stage.tenant.slug })(stage),
    platform: platform('POST', '/api/v1/tenants', { slug: 'platform' }),
  }),
  ...refused('tenant_name_invalid', 'slug', {
    absent: platform('POST', '/api/v1/tenants', {}),
    'upper case': platform('POST', '/api/v1/tenants', { slug: 'Shop' }),
    '64 characters': platform('POST', '/api/v1/tenants', { slug: 'a'.repeat(64) }),
  }),
  ...refused('tenant_name_invalid', 'name', {
    empty: platform('POST', '/api/v1/tenants', { slug: 'x', name: '' }),
    '201 characters': platform('POST', '/api/v1/tenants', { slug: 'x', name: '🚢'.repeat(201) }),
  }),
  ...inside('tenant_name_invalid', {
    '63 characters': platform('POST', '/api/v1/tenants', { slug: 'a'.repeat(63) }),
    'a display name of 200': platform('POST', '/api/v1/tenants', {
      slug: 'shipping',
      name: '🚢'.repeat(200),
    }),
  }),
  ...refused('tenant_in_use', 'tenant', {
    'with a deployment': async (stage) => {
      await stored(stage);
      return platform('DELETE', `/api/v1/tenants/${stage.tenant.slug}`)(stage);
    },
    'the platform': platform('DELETE', '/api/v1/tenants/platform'),
  }),
  ...refused('quota_invalid', 'containers', {
    negative: (stage) =>
      platform('PUT', `/api/v1/tenants/${stage.tenant.slug}/quota`, { containers: -1 })(stage),
    text: (stage) =>
      platform('PUT', `/api/v1/tenants/${stage.tenant.slug}/quota`, { containers: '1' })(stage),
    fraction: (stage) =>
      platform('PUT', `/api/v1/tenants/${stage.tenant.slug}/quota`, { containers: 1.5 })(stage),
  }),
  ...refused('container_defaults_invalid', 'memory', {
    'more than the node': defaults({ memory: '150%' }),
    'a number': defaults({ memory: 512 }),
  }),
  ...refused('container_defaults_invalid', 'pids', { 'too few': defaults({ pids: 4 }) }),
  ...refused('container_defaults_invalid', 'cpuWeight', { '0': defaults({ cpuWeight: 0 }) }),
  ...refused('container_defaults_invalid', 'logSize', { 'no unit': defaults({ logSize: '30' }) }),
  ...inside('container_defaults_invalid', {
    all: defaults({ memory: '512Mi', pids: 16, cpuWeight: 10_000, logSize: '1M' }),
    none: defaults({}),
    cleared: defaults({ memory: null }),
  }),
  ...inside('quota_invalid', {
    zero: async (stage) =>
      platform('PUT', `/api/v1/tenants/${(await stage.plane.tenant('other')).slug}/quota`, {
        containers: 0,
        cpu: 0.5,
      })(stage),
  }),
  ...refused('quota_invalid', 'records.deployments', { negative: quota({ records: { deployments: -1 } }) }),
  ...refused('quota_invalid', 'bytes.jobs', { text: quota({ bytes: { jobs: '1Mi' } }) }),
  ...refused('quota_invalid', 'streams', { fraction: quota({ streams: 0.5 }) }),
  ...inside('quota_invalid', {
    'all of it': quota({ records: { jobs: 1 }, bytes: { jobs: 9 }, streams: 0 }),
  }),
  ...refused('quota_exceeded', 'quota.records.deployments', {
    'one deployment too many': atQuota({ records: { deployments: 0 } }, DEPLOYMENTS, {}),
  }),
  ...refused('quota_exceeded', 'quota.bytes.deployments', {
    'more than the bytes': atQuota({ bytes: { deployments: 2000 } }, DEPLOYMENTS, {
      environment: { A: 'x '.repeat(1000) },
    }),
  }),
  ...refused('quota_exceeded', 'quota.records.jobs', {
    'one job too many': atQuota({ records: { jobs: 0 } }, '/api/v1/jobs', { kind: 'Job' }),
  }),
  ...refused('quota_exceeded', 'quota.records.tokens', {
    'one token too many': atQuota({ records: { tokens: 0 } }, '/api/v1/tokens', {
      image: undefined,
      role: 'viewer',
    }),
  }),
  ...refused('quota_exceeded', 'quota.bytes.archives', {
    'no room for its history': atQuota({ bytes: { archives: 10 } }, DEPLOYMENTS, {}),
  }),
  ...inside('quota_exceeded', {
    'the last one': atQuota({ records: { deployments: 1 } }, DEPLOYMENTS, {}),
  }),
  ...refused('image_policy_invalid', 'signatures[0].images', {
    'a wildcard in the middle': imagePolicy({ images: 'registry.example.com/*/web' }),
    'with a tag': imagePolicy({ images: 'registry.example.com/acme/web:1' }),
    'a short name': imagePolicy({ images: 'nginx' }),
    number: imagePolicy({ images: 5 }),
    absent: imagePolicy({ images: undefined }),
  }),
  ...refused('image_policy_invalid', 'signatures[0].keys', {
    none: imagePolicy({ keys: [] }),
    'too many': imagePolicy({ keys: Array.from({ length: 9 }, () => POLICY_KEY) }),
  }),
  ...refused('image_policy_invalid', 'signatures[0].keys[0]', {
    'no key': imagePolicy({ keys: ['hello'] }),
    'cut off': imagePolicy({ keys: [POLICY_KEY.slice(0, 60)] }),
  }),
  ...refused('image_policy_invalid', 'signatures', {
    'too many': imagePolicy(...Array.from({ length: 33 }, () => ({}))),
  }),
  ...inside('image_policy_invalid', {
    'one key for one place': imagePolicy({}),
    'no entries': imagePolicy(),
  }),
  ...refused('token_invalid', 'role', {
    'another word': ask('POST', '/api/v1/tokens', { body: { name: 'ci', role: 'root' } }),
    node: ask('POST', '/api/v1/tokens', { body: { name: 'ci', role: 'node' } }),
  }),
  ...refused('token_invalid', 'ttl', {
    'too long': ask('POST', '/api/v1/tokens', { body: { name: 'ci', role: 'viewer', ttl: '8785h' } }),
    'no duration': ask('POST', '/api/v1/tokens', { body: { name: 'ci', role: 'viewer', ttl: '30' } }),
  }),
  ...refused('token_invalid', 'name', {
    absent: ask('POST', '/api/v1/tokens', { body: { role: 'viewer' } }),
    '101 characters': ask('POST', '/api/v1/tokens', { body: { name: 'a'.repeat(101), role: 'viewer' } }),
  }),
  ...inside('token_invalid', {
    'the longest': ask('POST', '/api/v1/tokens', {
      body: { name: 'a'.repeat(100), role: 'viewer', ttl: '8784h' },
    }),
  }),
  ...refused('token_not_found', 'id', {
    missing: ask('DELETE', '/api/v1/tokens/tokmissing'),
    'of another tenant': async (stage) => {
      const other = await stage.plane.tenant('other');
      const { id } = await stage.plane.mintToken({ tenantId: other.id, role: 'viewer' });
      return { method: 'DELETE', path: `/api/v1/tokens/${id}` };
    },
  }),
  ...refused('backup_not_found', 'id', {
    read: ask('GET', '/api/v1/backups/bak_missing'),
    restore: ask('POST', '/api/v1/backups/bak_missing/restore', { body: {} }),
    delete: ask('DELETE', '/api/v1/backups/bak_missing'),
    'of another tenant': async (stage) => {
      const other = await stage.plane.tenant('other');
      const token = other.tokens['tenant-admin'];
      await stage.call('POST', DEPLOYMENTS, { body: { name: 'kept', image: stage.image }, token });
      const made = await stage.call('POST', '/api/v1/backups', { body: { deploymentName: 'kept' }, token });
      return { method: 'GET', path: `/api/v1/backups/${String(made.body['id'])}` };
    },
  }),
  ...inside('backup_not_found', {
    'its own': async (stage) => {
      const made = await stage.call('POST', '/api/v1/backups', {
        body: { deploymentName: await stored(stage) },
      });
      return { method: 'GET', path: `/api/v1/backups/${String(made.body['id'])}` };
    },
  }),
  ...refused('archive_version_not_found', 'version', {
    read: async (stage) => ({
      method: 'GET',
      path: `/api/v1/archives/deployments/${await stored(stage)}/99`,
    }),
    rollback: async (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENTS}/${await stored(stage)}/rollback`,
      options: { body: { version: 99 } },
    }),
  }),
  ...inside('archive_version_not_found', {
    'the first': async (stage) => ({
      method: 'GET',
      path: `/api/v1/archives/deployments/${await stored(stage)}/1`,
    }),
  }),
  ...refused('backup_invalid', 'format', {
    'another document': ask('POST', '/api/v1/backups/import', { body: {} }),
  }),
];
