import { idOf } from '../../../src/server/store/record-ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../../src/core/model/instance.ts';
import type { Json } from '../../support/harness/api-client.ts';
import {
  type Ask,
  type Case,
  DEPLOYMENTS,
  inside,
  post,
  put,
  refused,
  secretWrite,
  type Stage,
  stored,
  withSecret,
} from './case.ts';

const KEYS = ['password'];
const generate = (block: Json) => secretWrite({ generate: { keys: KEYS, ...block } });
const entryGenerate = (block: Json) => withSecret({ generate: { keys: KEYS, ...block } });
const entries = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    name: `S${n}`,
    vault_path: 'resources/many',
    anchor: 'external',
  }));
const values = (map: Json) => secretWrite({ values: map });

function composed(template: (label: string) => string, variable = 'DATABASE_URL'): Ask {
  return (stage) => {
    const label = stage.fresh();
    return post({
      secrets: [{ name: 'DB', vault_path: `resources/${label}`, anchor: 'external' }],
      composedEnvironment: { [variable]: template(label) },
    })(stage);
  };
}

export async function rotatable(stage: Stage): Promise<string> {
  return stored(stage, {
    secrets: [
      {
        name: 'DB',
        vault_path: `resources/${stage.fresh()}`,
        anchor: 'process',
        generate: { keys: ['password'] },
      },
    ],
  });
}

function rotation(phases: readonly string[], body: Json): Ask {
  return async (stage) => {
    const path = `${DEPLOYMENTS}/${await rotatable(stage)}/secrets/rotate`;
    for (const phase of phases) {
      const answer = await stage.call('POST', path, { body: { phase } });
      if (answer.status !== 200)
        throw new Error(`the phase ${phase} of the case was refused: ${answer.text}`);
    }
    return { method: 'POST', path, options: { body } };
  };
}

/** A write of the document of a deployment that rotates it. */
function writtenAfter(phases: readonly string[]): Ask {
  return async (stage) => {
    const path = `/api/v1/secrets/resources/${stage.fresh()}`;
    await stage.call('PUT', path, { body: { values: { password: 'one' } } });
    for (const phase of phases) {
      const answer = await stage.call('POST', `${path}/rotate`, { body: { phase } });
      if (answer.status !== 200)
        throw new Error(`the phase ${phase} of the case was refused: ${answer.text}`);
    }
    return { method: 'PUT', path, options: { body: { values: { password: 'two' } } } };
  };
}

/** An instance that an agent reported with older material. */
function behind(phase: InstanceObservation['phase'], secretsVersion: number | undefined): Ask {
  return async (stage) => {
    const name = await rotatable(stage);
    const path = `${DEPLOYMENTS}/${name}/secrets/rotate`;
    await stage.call('POST', path, { body: { phase: 'stage' } });
    const id = `ins_${name.replaceAll('-', '')}` as InstanceRecord['id'];
    const tenant = stage.plane.store.forTenant(stage.tenant.id);
    const instance: InstanceRecord = {
      id,
      tenantId: stage.tenant.id,
      deployment: name,
      specHash: 'x',
      secretsVersion: secretsVersion ?? 0,
      nodeId: 'node-1' as InstanceRecord['nodeId'],
      wanted: 'run',
      createdAt: new Date(0).toISOString(),
      attempt: 0,
    };
    await tenant.commit(
      tenant
        .transaction()
        .put('instances', idOf('instances', name, id), instance)
        .put('observations', idOf('observations', name, id), {
          id,
          phase,
          ...(secretsVersion === undefined ? {} : { secretsVersion }),
        }),
    );
    return { method: 'POST', path, options: { body: { phase: 'promote' } } };
  };
}

/** A document of kind Secret, as it stands in a file. */
function fileSecret(fields: Json): Ask {
  return (stage) => ({
    method: 'POST',
    path: '/api/v1/secrets',
    options: { body: { kind: 'Secret', namespace: 'resources', name: stage.fresh(), ...fields } },
  });
}

/** Material, templates, rotation. */
export const secretMaterialCases: readonly Case[] = [
  ...refused('secret_values_in_document', 'values', {
    'a value': fileSecret({ values: { password: 'x' } }),
    'beside keys to make': fileSecret({ values: { user: 'x' }, generate: { keys: KEYS } }),
    'no value at all': fileSecret({ values: {}, generate: { keys: KEYS } }),
  }),
  ...inside('secret_values_in_document', {
    'keys to make': fileSecret({ generate: { keys: KEYS } }),
    'a key of its own kind': fileSecret({ generate: { pin: { length: 40 } } }),
    'a file': async (stage) => ({
      method: 'POST',
      path: '/api/v1/secrets',
      options: {
        yaml: `kind: Secret\nnamespace: resources\nname: ${stage.fresh()}\ngenerate: {keys: [password]}\n`,
      },
    }),
  }),
  ...refused('secret_generate_keys_required', 'generate.keys', {
    'a document without keys': fileSecret({ generate: {} }),
    'a document that makes nothing': fileSecret({}),
  }),
  ...refused('manifest_wrong_kind', 'kind', {
    'no secret': fileSecret({ kind: 'Job', generate: { keys: KEYS } }),
  }),
  ...refused('secret_path_namespace', 'namespace', {
    'a document elsewhere': fileSecret({ namespace: 'elsewhere', generate: { keys: KEYS } }),
    'a document without a namespace': fileSecret({ namespace: undefined, generate: { keys: KEYS } }),
  }),
  ...refused('secret_write_empty', 'values', {
    'an empty body': secretWrite({}),
    'no values': values({}),
    'only an anchor': secretWrite({ anchor: 'process' }),
  }),
  ...inside('secret_write_empty', {
    values: values({ a: 'b' }),
    generate: generate({}),
    both: secretWrite({ values: { user: 'app' }, generate: { keys: ['password'] } }),
  }),
  ...refused('secret_key_invalid', 'values.db-password', { hyphen: values({ 'db-password': 'x' }) }),
  ...refused('secret_key_invalid', 'values.1a', { 'leading digit': values({ '1a': 'x' }) }),
  ...refused('secret_key_invalid', 'values', {
    empty: values({ '': 'x' }),
    'a letter beyond ASCII': values({ pässword: 'x' }),
  }),
  ...refused('secret_key_invalid', 'generate.keys[0]', {
    generated: secretWrite({ generate: { keys: ['a.b'] } }),
  }),
  ...refused('secret_key_invalid', 'secrets[0].values.a-b', {
    'in a deployment': withSecret({ values: { 'a-b': 'x' } }),
  }),
  ...refused('secret_key_invalid', 'composedEnvironment.DATABASE-URL', {
    'the variable of a template': composed((label) => `{{secret.${label}.a}}`, 'DATABASE-URL'),
  }),
  ...inside('secret_key_invalid', {
    underscore: values({ _: 'x' }),
    'mixed case': values({ aB_9: 'x' }),
    'words of the language': values({ constructor: 'x', toString: 'y', hasOwnProperty: 'z' }),
  }),
  ...refused('secret_key_provided_and_generated', 'generate.keys[0]', {
    'in a write': secretWrite({ values: { password: 'x' }, generate: { keys: ['password'] } }),
  }),
  ...refused('secret_key_provided_and_generated', 'generate.keys[1]', {
    'the second key': secretWrite({ values: { b: 'x' }, generate: { keys: ['a', 'b'] } }),
  }),
  ...refused('secret_key_provided_and_generated', 'secrets[0].generate.keys[0]', {
    'in a deployment': withSecret({ values: { password: 'x' }, generate: { keys: ['password'] } }),
  }),
  ...inside('secret_key_provided_and_generated', {
    'other keys': secretWrite({ values: { a: 'x' }, generate: { keys: ['b'] } }),
    'another case': secretWrite({ values: { A: 'x' }, generate: { keys: ['a'] } }),
    'an inherited name': secretWrite({ values: { a: 'x' }, generate: { keys: ['toString'] } }),
  }),
  ...refused('secret_value_empty', 'values.password', { write: values({ password: '' }) }),
  ...refused('secret_value_empty', 'values.b', { 'the second': values({ a: 'x', b: '' }) }),
  ...refused('secret_value_empty', 'secrets[0].values.password', {
    'in a deployment': withSecret({ values: { password: '' } }),
  }),
  ...inside('secret_value_empty', { 'one byte': values({ a: 'x' }), 'a space': values({ a: ' ' }) }),
  ...refused('secret_value_too_long', 'values.a', {
    '65,537 bytes': values({ a: 'x'.repeat(65_537) }),
    'fewer characters than bytes': values({ a: 'ä'.repeat(32_769) }),
  }),
  ...refused('secret_value_too_long', 'values', {
    'all together': values(
      Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`k${index}`, 'x'.repeat(65_000)])),
    ),
  }),
  ...refused('secret_value_too_long', 'generate.keys', {
    'all minted together': secretWrite({
      generate: { keys: Array.from({ length: 600 }, (_, index) => `k${index}`), length: 1024 },
    }),
  }),
  ...refused('secret_value_too_long', 'secrets[0].values.a', {
    'in a deployment': withSecret({ values: { a: 'x'.repeat(65_537) } }),
  }),
  ...inside('secret_value_too_long', {
    '65,536 bytes': values({ a: 'x'.repeat(65_536) }),
    '65,535 bytes': values({ a: 'x'.repeat(65_535) }),
    '32,768 characters of two bytes': values({ a: 'ä'.repeat(32_768) }),
  }),
  ...refused('secret_generate_keys_required', 'generate.keys', {
    absent: secretWrite({ generate: {} }),
    empty: secretWrite({ generate: { keys: [] } }),
    'absent beside values': secretWrite({ values: { a: 'b' }, generate: { bytes: 32 } }),
  }),
  ...refused('secret_generate_keys_required', 'secrets[0].generate.keys', {
    'in a deployment': withSecret({ generate: { keys: [] } }),
  }),
  ...inside('secret_generate_keys_required', { one: generate({}) }),
  ...refused('secret_generate_key_duplicate', 'generate.keys[1]', {
    'the same twice': secretWrite({ generate: { keys: ['a', 'a'] } }),
  }),
  ...refused('secret_generate_key_duplicate', 'generate.keys[3]', {
    'far apart': secretWrite({ generate: { keys: ['a', 'b', 'c', 'a'] } }),
  }),
  ...refused('secret_generate_key_duplicate', 'secrets[0].generate.keys[1]', {
    'in a deployment': withSecret({ generate: { keys: ['a', 'a'] } }),
  }),
  ...inside('secret_generate_key_duplicate', {
    'another case': secretWrite({ generate: { keys: ['a', 'A'] } }),
  }),
  ...refused('secret_generate_alternate_invalid', 'generate.user.alternate', {
    'one value': secretWrite({ generate: { user: { alternate: ['shop_a'] }, password: { bytes: 32 } } }),
    'the same twice': secretWrite({ generate: { user: { alternate: ['shop_a', 'shop_a'] } } }),
    'an empty one': secretWrite({ generate: { keys: ['a'], user: { alternate: ['shop_a', ''] } } }),
  }),
  ...refused('secret_generate_alternate_invalid', 'secrets[0].generate.user.alternate', {
    'in a deployment': withSecret({ generate: { user: { alternate: [] } } }),
  }),
  ...inside('secret_generate_alternate_invalid', {
    'two roles': secretWrite({
      generate: { user: { alternate: ['shop_a', 'shop_b'] }, password: { bytes: 32 } },
    }),
    'in a deployment': withSecret({ generate: { user: { alternate: ['shop_a', 'shop_b'] } } }),
  }),
  ...refused('secret_generate_axis_conflict', 'generate', {
    'bytes and length': generate({ bytes: 32, length: 32 }),
    'bytes and charset': generate({ bytes: 32, charset: 'lowercase' }),
    'encoding and length': generate({ encoding: 'hex', length: 32 }),
    'encoding and charset': generate({ encoding: 'hex', charset: 'lowercase' }),
  }),
  ...refused('secret_generate_axis_conflict', 'secrets[0].generate', {
    'in a deployment': entryGenerate({ bytes: 32, length: 32 }),
  }),
  ...inside('secret_generate_axis_conflict', {
    'bytes and encoding': generate({ bytes: 32, encoding: 'hex' }),
    'length and charset': generate({ length: 32, charset: 'symbols' }),
    neither: generate({}),
  }),
  ...refused('secret_generate_below_entropy_floor', 'generate.length', {
    '21 alphanumeric': generate({ length: 21 }),
    '24 lowercase': generate({ length: 24, charset: 'lowercase' }),
    '20 symbols': generate({ length: 20, charset: 'symbols' }),
    '1': generate({ length: 1 }),
  }),
  ...inside('secret_generate_below_entropy_floor', {
    '22 alphanumeric': generate({ length: 22 }),
    '25 lowercase': generate({ length: 25, charset: 'lowercase' }),
    '21 symbols': generate({ length: 21, charset: 'symbols' }),
  }),
  ...refused('secret_generate_bytes_out_of_range', 'generate.bytes', {
    '15': generate({ bytes: 15 }),
    '0': generate({ bytes: 0 }),
    '-1': generate({ bytes: -1 }),
    '769 in base64url': generate({ bytes: 769 }),
    '769 in base64': generate({ bytes: 769, encoding: 'base64' }),
    '513 in hex': generate({ bytes: 513, encoding: 'hex' }),
    '1,025': generate({ bytes: 1025 }),
  }),
  ...inside('secret_generate_bytes_out_of_range', {
    '16': generate({ bytes: 16 }),
    '768 in base64url': generate({ bytes: 768 }),
    '768 in base64': generate({ bytes: 768, encoding: 'base64' }),
    '512 in hex': generate({ bytes: 512, encoding: 'hex' }),
  }),
  ...refused('secret_generate_length_out_of_range', 'generate.length', {
    '0': generate({ length: 0 }),
    '-1': generate({ length: -1 }),
    '1,025': generate({ length: 1025 }),
  }),
  ...inside('secret_generate_length_out_of_range', {
    '1,024': generate({ length: 1024 }),
    '1,023': generate({ length: 1023 }),
    '22': generate({ length: 22 }),
  }),
  ...refused('secret_generate_charset_unknown', 'generate.charset', {
    ascii: generate({ length: 32, charset: 'ascii' }),
    empty: generate({ length: 32, charset: '' }),
    'an inherited name': generate({ length: 32, charset: 'constructor' }),
  }),
  ...inside('secret_generate_charset_unknown', {
    alphanumeric: generate({ length: 32, charset: 'alphanumeric' }),
    lowercase: generate({ length: 32, charset: 'lowercase' }),
    symbols: generate({ length: 32, charset: 'symbols' }),
  }),
  ...refused('secret_generate_encoding_unknown', 'generate.encoding', {
    base32: generate({ encoding: 'base32' }),
    'another case': generate({ encoding: 'HEX' }),
    empty: generate({ encoding: '' }),
  }),
  ...inside('secret_generate_encoding_unknown', {
    base64url: generate({ encoding: 'base64url' }),
    base64: generate({ encoding: 'base64' }),
    hex: generate({ encoding: 'hex' }),
  }),
  ...refused('secret_compose_template_empty', 'composedEnvironment.DATABASE_URL', {
    empty: composed(() => ''),
    'by an update': put({}, { composedEnvironment: { DATABASE_URL: '' } }),
  }),
  ...refused('secret_compose_no_reference', 'composedEnvironment.DATABASE_URL', {
    constant: composed(() => 'postgres://db/app'),
    'single braces': composed((label) => `{secret.${label}.a}`),
    space: composed(() => ' '),
    'closing braces alone': composed(() => 'a}}b'),
  }),
  ...refused('secret_compose_resource_undeclared', 'composedEnvironment.DATABASE_URL', {
    'another resource': composed(() => '{{secret.other.a}}'),
    'the name of the entry': composed(() => '{{secret.db.a}}'),
    'no secrets at all': post({ composedEnvironment: { DATABASE_URL: '{{secret.db.a}}' } }),
    'the second of two': composed((label) => `{{secret.${label}.a}}{{secret.other.a}}`),
  }),
  ...refused('secret_compose_template_malformed', 'composedEnvironment.DATABASE_URL', {
    'no key': composed((label) => `{{secret.${label}}}`),
    'another word': composed((label) => `{{vault.${label}.a}}`),
    'upper-case resource': composed(() => '{{secret.DB.a}}'),
    'spaces inside': composed((label) => `{{ secret.${label}.a }}`),
    'never closed': composed((label) => `{{secret.${label}.a`),
    'a key with a hyphen': composed((label) => `{{secret.${label}.a-b}}`),
    'too many parts': composed((label) => `{{secret.${label}.a.b}}`),
    empty: composed(() => '{{}}'),
  }),
  ...inside('secret_compose_template_malformed', {
    'one placeholder': composed((label) => `{{secret.${label}.a}}`),
    'two placeholders': composed((label) => `x{{secret.${label}.a}}y{{secret.${label}._B9}}z`),
    'JSON around it': composed((label) => `{"a":{"b":"{{secret.${label}.a}}"}}`),
  }),
  ...refused('rotation_transition_invalid', 'phase', {
    'promote first': rotation([], { phase: 'promote' }),
    'retire first': rotation([], { phase: 'retire' }),
    'stage twice': rotation(['stage'], { phase: 'stage' }),
    'retire after stage': rotation(['stage'], { phase: 'retire' }),
    'promote twice': rotation(['stage', 'promote'], { phase: 'promote' }),
    'retire twice': rotation(['stage', 'promote', 'retire'], { phase: 'retire' }),
    'no phase': rotation([], {}),
    'another word': rotation([], { phase: 'finish' }),
    'another type': rotation([], { phase: 1 }),
    'nothing to rotate': async (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENTS}/${await stored(stage)}/secrets/rotate`,
      options: { body: { phase: 'stage' } },
    }),
  }),
  ...inside('rotation_transition_invalid', {
    'stage first': rotation([], { phase: 'stage' }),
    'promote second': rotation(['stage'], { phase: 'promote' }),
    'retire third': rotation(['stage', 'promote'], { phase: 'retire' }),
    'and again': rotation(['stage', 'promote', 'retire'], { phase: 'stage' }),
  }),
  ...refused('rotation_rollout_incomplete', 'phase', {
    'a running instance with older material': behind('running', 0),
    'one that did not report it': behind('running', undefined),
    'a node that is cut off': behind('unknown', 0),
    'one that has exited, and may be started again': behind('exited', 0),
  }),
  ...inside('rotation_rollout_incomplete', {
    'an instance with the current material': behind('running', 1),
  }),
  ...refused('secret_rotation_in_progress', 'name', {
    staged: writtenAfter(['stage']),
    promoted: writtenAfter(['stage', 'promote']),
  }),
  ...refused('secret_rotation_in_progress', 'secrets[0].values', {
    'material of a deployment': async (stage) => {
      const name = await rotatable(stage);
      await stage.call('POST', `${DEPLOYMENTS}/${name}/secrets/rotate`, { body: { phase: 'stage' } });
      const { body } = await stage.call('GET', `${DEPLOYMENTS}/${name}`);
      const [entry] = body['secrets'] as readonly Json[];
      const secrets = [{ ...entry, values: { password: 'two' } }];
      return { method: 'PUT', path: `${DEPLOYMENTS}/${name}`, options: { body: { secrets } } };
    },
  }),
  ...inside('secret_rotation_in_progress', {
    'before it': writtenAfter([]),
    retired: writtenAfter(['stage', 'promote', 'retire']),
    aborted: writtenAfter(['stage', 'abort']),
  }),
  ...refused('secret_not_found', 'name', {
    'metadata of a missing document': (stage) => ({
      method: 'GET',
      path: `/api/v1/secrets/resources/${stage.fresh()}`,
    }),
  }),
  ...refused('secret_not_found', 'secret', {
    'rotation of a missing document': async (stage) => {
      const name = await stored(stage, {
        secrets: [{ name: 'DB', vault_path: `resources/${stage.fresh()}` }],
      });
      return {
        method: 'POST',
        path: `${DEPLOYMENTS}/${name}/secrets/rotate`,
        options: { body: { phase: 'stage' } },
      };
    },
  }),
  ...inside('secret_not_found', {
    'metadata of a written one': async (stage) => {
      const path = `/api/v1/secrets/resources/${stage.fresh()}`;
      await stage.call('PUT', path, { body: { values: { a: 'b' } } });
      return { method: 'GET', path };
    },
  }),
  ...refused('secrets_sealed', 'secrets', { 'a secret write': values({ a: 'b' }) }, 'sealed').map((one) => ({
    ...one,
    field: 'name',
  })),
  ...refused(
    'secrets_sealed',
    'secrets',
    { 'material of a deployment': withSecret({ values: { a: 'b' } }) },
    'sealed',
  ),
  ...refused('secrets_store_forbidden', 'secrets', { 'a secret write': values({ a: 'b' }) }, 'vault-denied'),
  ...refused('secrets_store_unusable', 'name', { 'a secret write': values({ a: 'b' }) }, 'vault-elsewhere'),
  ...refused('secret_entries_too_many', 'secrets', {
    'one more than a container should wait for': post({ secrets: entries(65) }),
  }),
  ...inside('secret_entries_too_many', {
    'as many as a container waits for': post({ secrets: entries(64) }),
  }),
  ...refused('secrets_store_unavailable', 'name', { 'a secret write': values({ a: 'b' }) }, 'vault-away'),
  ...refused(
    'secret_material_would_persist',
    'secrets[0].values',
    { 'a defect in the write path': post({ labels: { defect: 'values' } }) },
    'defect',
  ),
  ...refused(
    'secret_generate_would_persist',
    'secrets[0].generate',
    { 'a defect in the write path': post({ labels: { defect: 'generate' } }) },
    'defect',
  ),
];
