import { shape } from '../../schema/shape.ts';
import { event } from './history.ts';
import { announced, flag, integer, optional, revision, text, texts, time } from './field-shapes.ts';

const code = {
  ...integer,
  optional: true,
  description: 'HTTP status of the answer; absent: there was none.',
} as const;

const webhookFields = {
  id: text,
  name: text,
  tenantId: text,
  url: text,
  events: { type: 'object', fields: { kinds: optional(texts), subjects: optional(texts) } },
  signing: { type: 'object', fields: { vault_path: text, key: text } },
  paused: flag,
  createdAt: time,
  updatedAt: time,
  status: {
    type: 'object',
    fields: {
      state: {
        type: 'string',
        values: ['active', 'failing', 'gone', 'paused'],
        description:
          'failing: the oldest event is not taken, and is tried again; gone: the receiver answered 410, and nothing is sent until the webhook is written again.',
      },
      pending: {
        ...integer,
        description: 'Events that wait; of a webhook that is not active, a few seconds old.',
      },
      lastSuccess: { type: 'object', optional: true, fields: { at: time, event: text, code: integer } },
      lastFailure: { type: 'object', optional: true, fields: { at: time, event: text, reason: text, code } },
      attempts: { ...integer, description: 'Of the oldest event, so far.' },
      nextAttemptAt: optional(time),
      deadLetters: { ...integer, description: 'Events that were given up, as many as are kept.' },
      deadLetterBytes: {
        ...integer,
        optional: true,
        description:
          'What they take together, 1 MiB at most; absent: not counted since an upgrade, or none yet.',
      },
      dropped: { ...integer, description: 'Dead letters that had to make room for newer ones.' },
    },
  },
} as const;

export const webhook = shape({ type: 'object', named: 'Webhook', fields: { ...webhookFields, revision } });

export const webhookWritten = shape({
  type: 'object',
  named: 'WebhookWritten',
  fields: { ...webhookFields, revision: { ...revision, optional: true }, ...announced },
});

export const deadLetter = shape({
  type: 'object',
  named: 'DeadLetter',
  fields: { id: text, deadAt: time, reason: text, attempts: integer, code, event },
});

export const redelivery = shape({
  type: 'object',
  named: 'Redelivery',
  fields: { name: text, ordered: { ...integer, description: 'Dead letters that are sent again.' } },
});
