import { DURATION } from './forms.ts';
import { INSTANCE_SIGNALS } from '../model/stop.ts';
import { shape } from '../schema/shape.ts';

/** An empty object, or no body at all. */
export const nothing = shape({ type: 'object', fields: {} });

export const backupBody = shape({
  type: 'object',
  fields: {
    deploymentName: {
      type: 'string',
      form: { minLength: 1 },
      description: 'Name or typed id of a deployment.',
    },
  },
  required: ['deploymentName'],
});

export const rollbackBody = shape({
  type: 'object',
  fields: {
    version: {
      type: 'integer',
      form: { minimum: 1 },
      description: 'A version of the archive of the deployment.',
    },
  },
  required: ['version'],
});

export const restartBody = shape({
  type: 'object',
  fields: {
    instance: { type: 'string', description: 'Id of an instance, for this one alone; absent: all of them.' },
  },
});

export const signalBody = shape({
  type: 'object',
  fields: {
    signal: {
      type: 'string',
      form: { enum: INSTANCE_SIGNALS },
      description: 'Sent to the first process of the container.',
    },
  },
  required: ['signal'],
});

export const execBody = shape({
  type: 'object',
  fields: {
    command: {
      type: 'list',
      items: { type: 'string', sensitive: true },
      form: { minItems: 1, maxItems: 1000 },
      sensitive: true,
      description: 'Program and arguments; no shell is put between.',
    },
    instance: { type: 'string', description: 'Id of an instance; absent: one that is running.' },
    timeout: {
      type: 'string',
      form: DURATION,
      description: 'After which the command is killed; default 30s, at most 10m.',
    },
  },
  required: ['command'],
});
