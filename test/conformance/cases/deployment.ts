import { type SigningKey, signingKey, signSimply } from '../../support/harness/cosign.ts';
import { pushImage } from '../../support/harness/registry.ts';
import { ask, type Case, DEPLOYMENTS, inside, post, put, refused, type Stage, stored } from './case.ts';

const LONG = 'a'.repeat(63);
const DIGEST = `sha256:${'0'.repeat(64)}`;
const unknownImage =
  (reference: (host: string) => string) => (stage: Parameters<ReturnType<typeof post>>[0]) =>
    post({ image: reference(stage.registry.host) })(stage);

const KEY = signingKey();

/** Images below `signed` have to be signed by the key. */
async function demandSignatures({ call, tenant, registry }: Stage): Promise<void> {
  const signatures = [`${registry.host}/signed/*`, '127.0.0.1:1/signed/*'].map((images) => ({
    images,
    keys: [KEY.pem],
  }));
  const path = `/api/v1/tenants/${tenant.slug}/image-policy`;
  const answer = await call('PUT', path, { body: { signatures } });
  if (answer.status !== 200) throw new Error(answer.text);
}

/** An image that the policy covers, signed by this key or by none. */
async function demanded(stage: Stage, repository: string, key?: SigningKey): Promise<string> {
  await demandSignatures(stage);
  const { registry } = stage;
  const { digest, reference } = await pushImage(registry, `${repository}:1`, { busybox: false });
  if (key !== undefined) await signSimply(registry, { repository, beside: digest, key });
  return reference;
}

/** What a deployment declares. */
export const deploymentCases: readonly Case[] = [
  ...refused('name_required', 'name', {
    absent: post({ name: undefined }),
    null: post({ name: null }),
    empty: post({ name: '' }),
    'absent in an update by body': ask('PUT', DEPLOYMENTS, { body: { replicas: 1 } }),
  }),
  ...inside('name_required', { 'one letter': post({ name: 'q' }) }),
  ...refused('deployment_name_invalid', 'name', {
    'upper case': post({ name: 'Web' }),
    underscore: post({ name: 'we_b' }),
    'leading digit': post({ name: '1web' }),
    'leading hyphen': post({ name: '-web' }),
    'trailing hyphen': post({ name: 'web-' }),
    dot: post({ name: 'we.b' }),
    slash: post({ name: '../web' }),
    space: post({ name: ' web' }),
    newline: post({ name: 'web\n' }),
    'a letter beyond ASCII': post({ name: 'wéb' }),
    'full-width letters': post({ name: 'ｗｅｂ' }),
    'characters before length': post({ name: 'A'.repeat(64) }),
  }),
  ...inside('deployment_name_invalid', {
    'letter and digit': post({ name: 'a1' }),
    'inner hyphens': post({ name: 'a--b' }),
    'ends in a digit': post({ name: 'web-2' }),
    'a word of the language': post({ name: 'constructor' }),
  }),
  ...refused('deployment_name_too_long', 'name', {
    '64': post({ name: `${LONG}b` }),
    '65': post({ name: `${LONG}bc` }),
    '100,000': post({ name: 'a'.repeat(100_000) }),
  }),
  ...inside('deployment_name_too_long', {
    '63': post({ name: LONG }),
    '62': post({ name: `b${'a'.repeat(61)}` }),
    '63 with a hyphen': post({ name: `c-${'a'.repeat(61)}` }),
  }),
  ...refused('reserved_infrastructure_name', 'name', {
    etcd: post({ name: 'etcd' }),
    'berth-etcd': post({ name: 'berth-etcd' }),
    'in an update by body': ask('PUT', DEPLOYMENTS, { body: { name: 'etcd', replicas: 1 } }),
  }),
  ...inside('reserved_infrastructure_name', {
    'with a suffix': post({ name: 'etcd-1' }),
    'with a prefix': post({ name: 'my-etcd' }),
    'without the hyphen': post({ name: 'berthetcd' }),
  }),
  ...refused('deployment_not_found', 'name', {
    read: ask('GET', `${DEPLOYMENTS}/missing`),
    'the archive of a name that never was': ask('GET', '/api/v1/archives/deployments/never-was'),
    update: ask('PUT', `${DEPLOYMENTS}/missing`, { body: { replicas: 1 } }),
    'update by body': ask('PUT', DEPLOYMENTS, { body: { name: 'missing', replicas: 1 } }),
    delete: ask('DELETE', `${DEPLOYMENTS}/missing`),
    rotation: ask('POST', `${DEPLOYMENTS}/missing/secrets/rotate`, { body: { phase: 'stage' } }),
    'a name that could not exist': ask('GET', `${DEPLOYMENTS}/NOT%20A%20NAME`),
  }),
  ...refused('deployment_not_found', 'deployment_id', {
    read: ask('GET', `${DEPLOYMENTS}/dep_01jd0000000000000000000000`),
    update: ask('PUT', `${DEPLOYMENTS}/dep_01jd0000000000000000000000`, { body: { replicas: 1 } }),
    delete: ask('DELETE', `${DEPLOYMENTS}/dep_01jd0000000000000000000000`),
  }),
  ...inside('deployment_not_found', {
    'read by name': async (stage) => ({ method: 'GET', path: `${DEPLOYMENTS}/${await stored(stage)}` }),
    'read by id': async (stage) => {
      const read = await stage.call('GET', `${DEPLOYMENTS}/${await stored(stage)}`);
      return { method: 'GET', path: `${DEPLOYMENTS}/${String(read.body['id'])}` };
    },
    'update by id': async (stage) => {
      const read = await stage.call('GET', `${DEPLOYMENTS}/${await stored(stage)}`);
      return {
        method: 'PUT',
        path: `${DEPLOYMENTS}/${String(read.body['id'])}`,
        options: { body: { replicas: 0 } },
      };
    },
  }),
  ...refused('manifest_wrong_kind', 'kind', {
    Job: post({ kind: 'Job' }),
    'lower case': post({ kind: 'deployment' }),
    empty: post({ kind: '' }),
    number: post({ kind: 5 }),
    object: post({ kind: { kind: 'Deployment' } }),
    'before unknown fields': post({ kind: 'Job', schedule: '0 3 * * *' }),
    update: put({}, { kind: 'Job' }),
  }),
  ...inside('manifest_wrong_kind', {
    Deployment: post({ kind: 'Deployment' }),
    absent: post({ kind: undefined }),
    null: post({ kind: null }),
  }),
  ...refused('image_required', 'image', {
    absent: post({ image: undefined }),
    null: post({ image: null }),
    empty: post({ image: '' }),
    'no tag': post({ image: 'registry.internal:5000/shop/web' }),
    latest: post({ image: 'registry.internal:5000/shop/web:latest' }),
    'latest of a bare name': post({ image: 'nginx:latest' }),
    'upper case': post({ image: 'registry.internal:5000/Shop/web:1' }),
    'short digest': post({ image: 'registry.internal:5000/shop/web@sha256:abc' }),
    space: post({ image: 'shop/web :1' }),
    URL: post({ image: 'https://registry.internal/shop/web:1' }),
    'cleared by an update': put({}, { image: null }),
    'latest by an update': put({}, { image: 'nginx:latest' }),
  }),
  ...inside('image_required', {
    tag: post({}),
    'a tag that starts like latest': async (stage) => post({ image: stage.image })(stage),
    'tag and digest of an unknown registry': post({ image: `127.0.0.1:1/shop/web:1@${DIGEST}` }),
  }),
  ...refused('image_not_found', 'image', {
    'unknown tag': unknownImage((host) => `${host}/shop/web:0.0.1`),
    'unknown repository': unknownImage((host) => `${host}/shop/none:1.4.2`),
    'unknown digest': unknownImage((host) => `${host}/shop/web@${DIGEST}`),
    'by an update': async (stage) => put({}, { image: `${stage.registry.host}/shop/web:0.0.2` })(stage),
    'also on a dry run': async (stage) => {
      const asked = await post({ image: `${stage.registry.host}/shop/web:0.0.3` })(stage);
      return { ...asked, path: `${DEPLOYMENTS}?dryRun=true` };
    },
  }),
  ...inside('image_not_found', {
    'what was pushed': post({}),
    'an unreachable registry': post({ image: '127.0.0.1:1/shop/web:1' }),
    'an unchanged image': put({ image: '127.0.0.1:1/shop/web:2' }, { replicas: 2 }),
  }),
  ...refused('image_unsigned', 'image', {
    'nobody signed it': async (stage) => post({ image: await demanded(stage, 'signed/none') })(stage),
    'by an update': async (stage) => put({}, { image: await demanded(stage, 'signed/update') })(stage),
  }),
  ...refused('image_signature_invalid', 'image', {
    'by another key': async (stage) =>
      post({ image: await demanded(stage, 'signed/other', signingKey()) })(stage),
  }),
  ...refused('image_signature_unverifiable', 'image', {
    'the registry is away': async (stage) => {
      await demandSignatures(stage);
      return post({ image: '127.0.0.1:1/signed/web:1' })(stage);
    },
  }),
  ...inside('image_unsigned', {
    'signed by the key': async (stage) => post({ image: await demanded(stage, 'signed/good', KEY) })(stage),
    'an image that no entry covers': async (stage) => {
      await demandSignatures(stage);
      return post({})(stage);
    },
  }),
  ...refused(
    'registry_credential_store_unavailable',
    'image',
    {
      'with an image that is not there': unknownImage((host) => `${host}/shop/web:0.0.1`),
      'with a registry that is away': post({ image: '127.0.0.1:1/shop/web:1' }),
      'by an update': put({}, { image: '127.0.0.1:1/shop/web:1' }),
    },
    'sealed',
  ),
  ...refused(
    'registry_credential_store_unavailable',
    'image',
    { 'with Vault away': unknownImage((host) => `${host}/shop/web:0.0.1`) },
    'vault-away',
  ),
  ...inside(
    'registry_credential_store_unavailable',
    { 'a manifest that was seen': post({}), 'an unchanged image': put({}, { replicas: 2 }) },
    'sealed',
  ),
  ...refused('replicas_negative', 'replicas', {
    '-1': post({ replicas: -1 }),
    '-100': post({ replicas: -100 }),
    'the smallest integer': post({ replicas: -Number.MAX_SAFE_INTEGER }),
    'by an update': put({}, { replicas: -1 }),
  }),
  ...inside('replicas_negative', {
    '0': post({ replicas: 0 }),
    '1': post({ replicas: 1 }),
    'minus zero is zero': ask('POST', DEPLOYMENTS, {
      raw: '{"name":"minus-zero","image":"127.0.0.1:1/a:1","replicas":-0}',
    }),
  }),
  ...refused('replicas_out_of_range', 'replicas', {
    '101': post({ replicas: 101 }),
    '1.5': post({ replicas: 1.5 }),
    '-0.5': post({ replicas: -0.5 }),
    text: post({ replicas: '3' }),
    boolean: post({ replicas: true }),
    list: post({ replicas: [1] }),
    object: post({ replicas: {} }),
    '2^53': post({ replicas: 2 ** 53 }),
    '1e400': ask('POST', DEPLOYMENTS, { raw: '{"name":"a-lot","image":"127.0.0.1:1/a:1","replicas":1e400}' }),
    'by an update': put({}, { replicas: 101 }),
  }),
  ...inside('replicas_out_of_range', {
    '100': post({ replicas: 100 }),
    '99': post({ replicas: 99 }),
    'absent is 1': post({ replicas: undefined }),
    'null is 1': put({ replicas: 3 }, { replicas: null }),
  }),
  ...refused('plaintext_credential_in_environment', 'environment.DB_PASSWORD', {
    'by its name': post({ environment: { DB_PASSWORD: 'correct-horse-battery' } }),
    'by an update': put({}, { environment: { DB_PASSWORD: 'correct-horse-battery' } }),
    'beside constants': post({ environment: { LOG_LEVEL: 'info', DB_PASSWORD: '8c2f1e9a77' } }),
  }),
  ...refused('plaintext_credential_in_environment', 'environment.SETTING', {
    'a private key': post({
      environment: {
        SETTING: '-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7vN2\n-----END RSA PRIVATE KEY-----',
      },
    }),
    'a URL with a password': post({ environment: { SETTING: 'postgres://app:Zk3vQ9xLmT@db:5432/app' } }),
    'a web token': post({
      environment: {
        SETTING:
          'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI5ODc2NTQzMjEwIiwiaWF0IjoxNzE2MjM5MDIyfQ.Qx8vZ3kR5tY1uW7pL2mN9bV4cX6zA0sD3fG8hJ1kL5o',
      },
    }),
  }),
  ...inside('plaintext_credential_in_environment', {
    constant: post({ environment: { LOG_LEVEL: 'info' } }),
    'a file': post({ environment: { DB_PASSWORD_FILE: '/run/secrets/db' } }),
    'a URL without a password': post({ environment: { DATABASE_URL: 'postgres://db:5432/app' } }),
    'an empty password': post({ environment: { DB_PASSWORD: '' } }),
    'a lifetime': post({ environment: { TOKEN_TTL: '3600' } }),
  }),
  ...refused('secrets_version_negative', 'secretsVersion', {
    '-1': post({ secretsVersion: -1 }),
    '-5': post({ secretsVersion: -5 }),
    'by an update': put({}, { secretsVersion: -1 }),
  }),
  ...inside('secrets_version_negative', {
    '0': post({ secretsVersion: 0 }),
    'another one is announced': post({ secretsVersion: 7 }),
    'null in an update': put({}, { secretsVersion: null }),
  }),
];
