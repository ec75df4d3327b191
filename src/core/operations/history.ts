import { archive, archiveDifference, auditLine, event } from '../contract/answers/history.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { EVENT_KIND } from '../contract/webhook-body.ts';
import { LIST_QUERY } from './queries.ts';
import { operation } from './operation.ts';

const version = { type: 'integer', minimum: 1, maximum: 999_999_999 } as const;

export const EVENTS = {
  list: operation({
    method: 'GET',
    path: '/api/v1/events',
    summary: 'Published events, oldest first; live with Accept: text/event-stream',
    tag: 'Events',
    permission: 'read',
    tenant: 'credential',
    query: {
      ...LIST_QUERY,
      kind: {
        description: 'Only events of this kind, or with deployment.* of all that begin alike.',
        schema: { type: 'string' },
      },
      subject: {
        description:
          'Only events about this name, Kind/name, or Kind/* for all of a kind; Instance/id finds those of its deployment that name it, too.',
        schema: { type: 'string' },
      },
      since: {
        description: 'Only events at or after this time.',
        schema: { type: 'string', format: 'date-time' },
      },
    },
    codes: [],
    lasts: 'as-events',
    success: {
      status: 200,
      description: 'Events.',
      answer: listOf(event),
      media: ['text/event-stream'],
    },
  }),
};

export const ARCHIVES = {
  list: operation({
    method: 'GET',
    path: '/api/v1/archives/deployments/{name}',
    summary: 'Versioned configuration history of a deployment, kept after its deletion',
    tag: 'Archives',
    permission: 'read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: ['deployment_not_found'],
    success: {
      status: 200,
      description: 'Versions, oldest first.',
      answer: listOf(archive),
    },
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/archives/deployments/{name}/{version}',
    summary: 'One version of a deployment, also after its deletion',
    tag: 'Archives',
    permission: 'read',
    tenant: 'credential',
    codes: ['archive_version_not_found'],
    success: {
      status: 200,
      description: 'The version.',
      answer: archive,
    },
  }),
  compare: operation({
    method: 'GET',
    path: '/api/v1/archives/deployments/{name}/diff',
    summary: 'What differs between two versions, field by field',
    tag: 'Archives',
    permission: 'read',
    tenant: 'credential',
    query: {
      from: { description: 'The older version.', schema: version, required: true },
      to: { description: 'The newer version.', schema: version, required: true },
    },
    codes: ['archive_version_not_found'],
    success: {
      status: 200,
      description: 'Differences; absent is null, lists are compared whole.',
      answer: archiveDifference,
    },
  }),
};

export const AUDIT = {
  list: operation({
    method: 'GET',
    path: '/api/v1/audit',
    summary: 'Who did what to which record, oldest first',
    tag: 'Audit',
    permission: 'audit.read',
    tenant: 'credential',
    query: {
      ...LIST_QUERY,
      since: {
        description: 'Only what was done at or after this time.',
        schema: { type: 'string', format: 'date-time' },
      },
      actor: {
        description:
          'Only what was done with the token of this id, or by system: by the control plane itself.',
        schema: { type: 'string' },
      },
      action: {
        description:
          'Only this action, such as deployment.created, or with deployment.* all that begin alike.',
        schema: { type: 'string', ...EVENT_KIND },
      },
      subject: {
        description: 'Only what was done to this name, Kind/name, or Kind/* for all of a kind.',
        schema: { type: 'string' },
      },
    },
    codes: [],
    success: {
      status: 200,
      description: 'Audit records.',
      answer: listOf(auditLine),
    },
  }),
};
