import { DURATION } from '../contract/forms.ts';
import { operation } from './operation.ts';
import { MEMBER, OWN_LOG_QUERY } from './queries.ts';

/** Longest that metrics are sampled for a report. */
export const LONGEST_SAMPLING = { text: '10m', ms: 600_000 } as const;

export const SYSTEM = {
  logs: operation({
    method: 'GET',
    path: '/api/v1/system/logs',
    summary: 'The log of a control plane itself',
    tag: 'System',
    permission: 'system.debug',
    tenant: 'platform',
    query: { ...OWN_LOG_QUERY, ...MEMBER },
    codes: ['stream_limit_reached'],
    lasts: 'always',
    success: {
      status: 200,
      description:
        'Server-sent events: log (line), gap (how many lines were dropped because they were not read), end (why). Credentials are redacted. Audited.',
      media: ['text/event-stream'],
    },
  }),
  debug: operation({
    method: 'GET',
    path: '/api/v1/system/debug',
    summary: 'What a bug report needs to know of a control plane, without credentials',
    tag: 'System',
    permission: 'system.debug',
    tenant: 'platform',
    query: {
      for: {
        description: `How long metrics are sampled, e.g. 1m; at most ${LONGEST_SAMPLING.text}. Absent: once.`,
        schema: { type: 'string', ...DURATION },
      },
      profile: {
        description:
          'With a CPU profile and a summary of the heap: counts and sizes by class, no contents. The control plane stands still while the heap is read.',
        schema: { type: 'boolean', default: false },
      },
      ...MEMBER,
    },
    codes: ['stream_limit_reached'],
    lasts: 'always',
    success: {
      status: 200,
      description:
        'Server-sent events: file (name, and a part of its text), missing (name, why), end (redactions). One report at a time. Audited.',
      media: ['text/event-stream'],
    },
  }),
};
