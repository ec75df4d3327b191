import { shape } from '../../schema/shape.ts';
import { RUN_STATES } from './job.ts';
import { announced, flag, integer, listOf, nullable, optional, text, texts, time } from './field-shapes.ts';

const PHASES = ['stage', 'promote', 'retire'] as const;

const hooks = shape({ type: 'object', fields: { apply: optional(text), revoke: optional(text) } });

const hookRun = shape({
  type: 'object',
  named: 'HookRun',
  description: 'The run of a job that a phase waits for; ask for the phase again.',
  fields: {
    hook: { type: 'string', values: ['apply', 'revoke'] },
    job: text,
    run: { ...text, optional: true, description: 'Absent: another run of the job comes first.' },
    state: { type: 'string', values: [...RUN_STATES, 'Waiting'] },
    message: text,
    swapped: {
      ...flag,
      optional: true,
      description: 'On the way back: the old values are made valid again.',
    },
  },
});

const rotation = shape({
  type: 'object',
  description: 'While it lasts.',
  fields: {
    phase: { type: 'string', values: ['staged', 'promoted', 'retiring'] },
    next: optional(integer),
    previous: optional(integer),
  },
});

export const secretConsumer = shape({
  type: 'object',
  named: 'SecretConsumer',
  fields: {
    deployment: optional(text),
    job: optional(text),
    ingress: {
      ...optional(text),
      description:
        'Present: it is the certificate of this host, which ingress nodes serve and no container is given.',
    },
    webhook: {
      ...optional(text),
      description: 'Present: requests of this webhook are signed with it; no container is given it.',
    },
    secret: text,
    anchor: text,
    secretsVersion: integer,
  },
});

export const referencedSecret = shape({
  type: 'object',
  named: 'ReferencedSecret',
  fields: {
    name: text,
    namespace: text,
    path: text,
    exists: { ...nullable(flag), description: 'Null when nobody may look.' },
    keys: texts,
    version: integer,
    consumers: { ...integer, description: 'How many workloads and webhooks refer to it.' },
    problem: optional(text),
  },
});

export const listedSecret = shape({
  type: 'object',
  named: 'ListedSecret',
  fields: {
    name: text,
    namespace: text,
    path: text,
    exists: {
      ...nullable(flag),
      description: 'False: it is referenced and was never written. Null when nobody may look.',
    },
    keys: texts,
    version: integer,
    consumers: { ...listOf(secretConsumer), description: 'Empty: nothing refers to it.' },
    problem: optional(text),
  },
});

export const secret = shape({
  type: 'object',
  named: 'Secret',
  description: 'Metadata; values can never be read back.',
  fields: {
    path: text,
    namespace: text,
    name: text,
    keys: texts,
    version: integer,
    createdAt: optional(time),
    versions: listOf({ type: 'object', fields: { version: integer, createdAt: time } }),
    consumers: { ...listOf(secretConsumer), description: 'Who refers to it.' },
    nextPhase: { type: 'string', values: PHASES, description: 'Of its rotation.' },
    hooks: optional(hooks),
    hookRuns: optional(listOf(hookRun)),
    current: optional(integer),
    rotation: optional(rotation),
    refused: optional(listOf(integer)),
    revision: optional(integer),
  },
});

export const secretWritten = shape({
  type: 'object',
  named: 'SecretWritten',
  fields: { path: text, keys: texts, version: integer, revision: optional(integer), ...announced },
});

export const secretApplied = shape({
  type: 'object',
  named: 'SecretApplied',
  fields: {
    path: text,
    keys: texts,
    version: integer,
    minted: { ...texts, description: 'Keys that were missing; empty: nothing was changed.' },
    revision: optional(integer),
    ...announced,
  },
});

export const credentialHooked = shape({
  type: 'object',
  named: 'CredentialHooked',
  fields: { path: text, version: integer, hooks, revision: optional(integer), ...announced },
});

export const credentialRotated = shape({
  type: 'object',
  named: 'CredentialRotated',
  fields: {
    path: text,
    phase: { type: 'string', values: [...PHASES, 'abort'] },
    next: { type: 'string', values: PHASES },
    version: { ...integer, description: 'In service: what containers outside the rotation receive.' },
    rotation: optional(rotation),
    hook: optional(hookRun),
    consumers: {
      ...listOf({ type: 'object', fields: { deployment: text, secretsVersion: integer } }),
      description: 'Deployments that were moved.',
    },
    revision: optional(integer),
    ...announced,
  },
});
