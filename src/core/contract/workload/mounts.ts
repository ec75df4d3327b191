import { NAME, PLAIN_PATH, VOLUME_ID } from '../forms.ts';
import { shape } from '../../schema/shape.ts';

export const configFile = shape({
  type: 'object',
  named: 'ConfigFileDescription',
  fields: {
    path: {
      type: 'string',
      form: PLAIN_PATH,
      description: 'Absolute; in no volume and no other file.',
      example: '/etc/nginx/conf.d/site.conf',
      ownCode: 'file_invalid',
    },
    content: {
      type: 'string',
      sensitive: true,
      description: 'As text.',
      absent: 'base64 has it',
      example: 'server { listen 8080; }',
      ownCode: 'file_invalid',
    },
    base64: {
      type: 'string',
      sensitive: true,
      description: 'As bytes.',
      absent: 'content has it',
      example: 'c2VydmVyIHt9',
      exampleWith: { content: undefined },
      ownCode: 'file_invalid',
    },
    mode: {
      type: 'string',
      form: { pattern: '^0?[0-7]{3}$' },
      description: 'Octal, in quotation marks.',
      absent: '0444',
      example: '0555',
      ownCode: 'file_invalid',
    },
  },
  required: ['path'],
  example: { path: '/etc/nginx/conf.d/site.conf', content: 'server { listen 8080; }' },
});

export const volumeMount = shape({
  type: 'any',
  schema: {
    type: 'object',
    properties: {
      volumeId: {
        type: 'string',
        ...VOLUME_ID,
        description: 'Id of the volume; required where it is not named by volume.',
        examples: ['vol_01m7gzptv2km35zj7x023917tw'],
      },
      volume: {
        type: 'string',
        ...NAME,
        description: 'Instead of its id: the name; stored as volumeId.',
        examples: ['orders'],
      },
      mountPath: {
        type: 'string',
        ...PLAIN_PATH,
        description: 'Where the container sees it: absolute and plain, each once.',
        examples: ['/var/lib/orders'],
      },
      readOnly: {
        type: 'boolean',
        default: false,
        description:
          'The container cannot write to it. A volume that is written to has one instance at a time.',
        examples: [true],
      },
    },
    required: ['mountPath'],
    anyOf: [{ required: ['volumeId'] }, { required: ['volume'] }],
    additionalProperties: false,
  },
  description: 'A volume of the tenant and where the container sees it.',
  example: { volumeId: 'vol_01m7gzptv2km35zj7x023917tw', mountPath: '/var/lib/orders' },
});

/** What a workload gives up of what containers may do by default. */
