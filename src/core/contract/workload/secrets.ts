import { ANCHOR, SECRET_ENTRY_NAME, SECRET_KEY, SECRET_PATH } from '../forms.ts';
import { SECRET_CHARSETS, SECRET_ENCODINGS } from '../../model/secret-limits.ts';
import { type Draft, shape } from '../../schema/shape.ts';

const randomText = {
  bytes: {
    type: 'integer',
    form: { minimum: 1 },
    description: 'Random bytes of each value: 16 to 1,024. Not together with length.',
    absent: '32',
    example: 24,
    ownCode: 'secret_generate_bytes_out_of_range',
  },
  encoding: {
    type: 'string',
    form: { enum: SECRET_ENCODINGS },
    description: 'How the bytes are written as text.',
    absent: 'base64url',
    example: 'hex',
    ownCode: 'secret_generate_encoding_unknown',
  },
  length: {
    type: 'integer',
    form: { minimum: 1 },
    description:
      'Characters of each value instead of bytes: at most 1,024, and as many as 128 bits of chance need.',
    absent: 'bytes decides',
    example: 32,
    ownCode: 'secret_generate_length_out_of_range',
  },
  charset: {
    type: 'string',
    form: { enum: SECRET_CHARSETS },
    description: 'Which characters are taken; with length.',
    absent: 'alphanumeric',
    example: 'symbols',
    exampleWith: { length: 32 },
    ownCode: 'secret_generate_charset_unknown',
  },
} as const;

const generate = shape({
  type: 'object',
  named: 'SecretGeneration',
  form: { propertyNames: SECRET_KEY },
  fields: {
    keys: {
      type: 'list',
      items: { type: 'string', form: SECRET_KEY, ownCode: 'secret_key_invalid' },
      form: { minItems: 1, uniqueItems: true },
      sensitive: true,
      description: 'Keys that are all made in the same way.',
      absent: 'keys are described by their names',
      example: ['PASSWORD'],
      ownCode: 'secret_generate_keys_required',
    },
    ...randomText,
  },
  others: {
    type: 'object',
    named: 'SecretKeyGeneration',
    description: 'How one key is made, under the name of the key.',
    absent: 'keys are made in the same way',
    example: { alternate: ['app_a', 'app_b'] },
    fields: {
      ...randomText,
      alternate: {
        type: 'list',
        items: { type: 'string', form: { minLength: 1 } },
        form: { minItems: 2, uniqueItems: true },
        sensitive: true,
        description: 'Values that are taken in turn, one at each rotation.',
        absent: 'the value is random',
        example: ['app_a', 'app_b'],
      },
    },
  },
});

export const secretMaterialFields = {
  values: {
    type: 'map',
    items: { type: 'string', form: { minLength: 1 } },
    form: { propertyNames: SECRET_KEY },
    sensitive: true,
    description: 'Write-time only: goes to the secrets store and is never stored with the deployment.',
    absent: 'the values are in the store already',
    example: { PASSWORD: 'example-not-a-real-password' },
  },
  generate: {
    ...generate,
    description: 'Write-time only: keys to mint in the secrets store; one that exists is left alone.',
    absent: 'nothing is minted',
    example: { keys: ['PASSWORD'] },
  },
} as const;

export const secretAnchor = shape({
  type: 'string',
  form: ANCHOR,
  description:
    'What the credential lives with: process (made again with the container), external (another system knows it), or volume(<volume-id>), data that were encrypted with it.',
  absent: 'external, and announced',
  example: 'process',
  ownCode: 'secret_anchor_invalid',
});

export const secretEntry = shape({
  type: 'object',
  named: 'SecretEntryDescription',
  fields: {
    name: {
      type: 'string',
      form: SECRET_ENTRY_NAME,
      description: 'Prefix of the delivered variables: NAME_key. Each once.',
      example: 'DB',
      ownCode: 'secret_name_invalid',
    },
    vault_path: {
      type: 'string',
      form: SECRET_PATH,
      description: "<namespace>/<label> inside the tenant's own secrets mount.",
      example: 'deployments/web',
      ownCode: 'secret_path_shape',
    },
    anchor: secretAnchor,
    rotation: {
      type: 'string',
      form: { enum: ['restart'] },
      description: 'How a new version reaches the containers: they are made again.',
      absent: 'restart, and announced',
      example: 'restart',
      ownCode: 'secret_rotation_unsupported',
    },
    mount_path: {
      type: 'any',
      schema: { not: {} },
      description: 'Refused whatever it holds: values are delivered as variables only.',
    },
    ...secretMaterialFields,
  },
  required: ['name', 'vault_path'],
});

export type SecretEntryDraft = Draft<typeof secretEntry>;
