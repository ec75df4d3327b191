import { CONTAINER_USER } from '../forms.ts';

export const confinement = {
  user: {
    type: 'string',
    form: CONTAINER_USER,
    description: 'Who runs the program: uid, uid:gid, or names that the image knows, as a text.',
    absent: 'the user of the image',
    example: '1000:1000',
    ownCode: 'user_invalid',
  },
  readOnlyRootFilesystem: {
    type: 'boolean',
    description:
      'Nothing of the image can be written; writable are its volumes, and /tmp and /run in memory (64 MiB each).',
    absent: 'false',
    example: true,
  },
  capabilities: {
    type: 'object',
    fields: {
      drop: {
        type: 'list',
        items: { type: 'string' },
        description: 'Capabilities of Linux to give up, such as CHOWN; ALL leaves none. None can be added.',
        absent: 'none is given up',
        example: ['ALL'],
        ownCode: 'capability_unknown',
      },
    },
    description: 'What the container may do as root.',
    absent: 'the nine that every container has',
  },
} as const;
