import { shape } from './shape.ts';

/** An empty object, or no body at all. */
export const nothing = shape({ type: 'object', fields: {} });

export const backupBody = shape({
  type: 'object',
  fields: { deploymentName: { type: 'string', description: 'Name or typed id of a deployment.' } },
});

export const rollbackBody = shape({
  type: 'object',
  fields: { version: { type: 'integer', description: 'A version of the archive of the deployment.' } },
});

export const execBody = shape({
  type: 'object',
  fields: {
    command: {
      type: 'list',
      items: { type: 'string', sensitive: true },
      sensitive: true,
      description: 'Program and arguments; no shell is put between.',
    },
    instance: { type: 'string', description: 'Id of an instance; absent: one that is running.' },
    timeout: { type: 'string', description: 'After which the command is killed; default 30s, at most 10m.' },
  },
});
