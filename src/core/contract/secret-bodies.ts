import { ROTATION_PHASES } from '../model/rotation-phase.ts';
import { secretAnchor, secretMaterialFields } from './workload/secrets.ts';
import { shape } from '../schema/shape.ts';

export const secretWriteBody = shape({
  type: 'object',
  sensitive: true,
  fields: {
    ...secretMaterialFields,
    anchor: secretAnchor,
  },
});

/** A document of kind Secret, as it stands in a file: what is to be made, never values. */
export const secretDocumentBody = shape({
  type: 'object',
  sensitive: true,
  named: 'SecretDescription',
  fields: {
    kind: {
      type: 'any',
      schema: { type: 'string', enum: ['Secret'] },
      description: 'What the document describes; without it a document in a file is a Deployment.',
      absent: 'Secret, on the route of secrets alone',
      example: 'Secret',
    },
    namespace: {
      type: 'string',
      description: 'One that the configuration grants: deployments, resources.',
      example: 'resources',
    },
    name: { type: 'string', description: 'A DNS label.', example: 'orders-db' },
    values: { type: 'any', schema: { not: {} }, description: 'Refused: a file holds no values.' },
    generate: {
      ...secretMaterialFields.generate,
      description: 'Keys to mint; one that exists is left alone.',
      absent: 'refused: there would be nothing to make',
    },
  },
  nullClears: true,
  required: ['namespace', 'name', 'generate'],
});

const phaseField = {
  type: 'any',
  schema: { type: 'string', enum: ROTATION_PHASES },
  description: 'The next phase in order; or abort, which goes back to the old version from stage or promote.',
} as const;

export const rotateBody = shape({
  type: 'object',
  fields: {
    phase: phaseField,
    secret: { type: 'string', description: 'The entry to rotate; absent: every entry.' },
    ...secretMaterialFields,
  },
});

export const rotateCredentialBody = shape({
  type: 'object',
  fields: {
    phase: phaseField,
    retryHook: {
      type: 'boolean',
      description: 'Run the hook that the phase waits for again, when its last run failed.',
    },
    ...secretMaterialFields,
  },
});

export const hooksBody = shape({
  type: 'object',
  fields: {
    apply: {
      type: 'string',
      description: 'A job that makes the new values valid beside the old ones; runs before promote.',
    },
    revoke: {
      type: 'string',
      description: 'A job that takes the old values away; runs before retire.',
    },
  },
});
