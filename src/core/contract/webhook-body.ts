import type { Alteration } from '../model/announcement.ts';
import { MAX_FILTER_ENTRIES, MAX_REDELIVERED, type WebhookSpec } from '../model/webhook.ts';
import { received } from '../rejections/redaction.ts';
import { type Draft, draftOf, inOrder, type Sent, shape } from '../schema/shape.ts';
import { NAME, SECRET_KEY, SECRET_PATH } from './forms.ts';

const ownCode = 'webhook_invalid';

/** `node.failed`, `deployment.*`. */
export const EVENT_KIND = {
  pattern: '^[a-z][a-z0-9_-]*([.][a-z][a-z0-9_-]*)*([.][*])?$',
  maxLength: 128,
} as const;

/** `web`, `Deployment/web`, `Node/*`. */
export const EVENT_SUBJECT = {
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*(/([A-Za-z0-9][A-Za-z0-9._/-]*|[*]))?$',
  maxLength: 256,
} as const;

export const HOOK_URL = {
  pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?([?][^\\s#]*)?$',
  maxLength: 2048,
} as const;

const MANY = { maxItems: MAX_FILTER_ENTRIES } as const;

export const webhookBody = shape({
  type: 'object',
  fields: {
    kind: { type: 'any', schema: { type: 'string', enum: ['Webhook'] } },
    name: { type: 'string', form: NAME, description: 'Unique in the tenant.', example: 'alerts', ownCode },
    url: {
      type: 'string',
      form: HOOK_URL,
      description:
        'Where each event is sent to as an HTTP POST. HTTPS, and a public address, unless the platform lists the host.',
      example: 'https://hooks.example.com/berth',
      ownCode,
    },
    events: {
      type: 'object',
      description: 'Which events; absent: all. An event is sent when both lists let it through.',
      fields: {
        kinds: {
          type: 'list',
          items: { type: 'string', form: EVENT_KIND },
          form: MANY,
          ownCode,
          description: 'Kinds of events, such as node.failed, or deployment.* for all that begin alike.',
        },
        subjects: {
          type: 'list',
          items: { type: 'string', form: EVENT_SUBJECT },
          form: MANY,
          ownCode,
          description: 'What they are about: a name, Kind/name, or Kind/* for all of a kind.',
        },
      },
    },
    signing: {
      type: 'object',
      description: 'The key that requests are signed with (HMAC-SHA256), by reference.',
      fields: {
        vault_path: {
          type: 'string',
          form: SECRET_PATH,
          description: 'The secret document.',
          example: 'resources/hooks',
        },
        key: { type: 'string', form: SECRET_KEY, description: 'Which key of it; default: key.', ownCode },
      },
      required: ['vault_path'],
    },
    paused: { type: 'boolean', description: 'Send nothing for now; events are held. Default: false.' },
  },
  ignored: [
    'id',
    'tenantId',
    'revision',
    'createdAt',
    'updatedAt',
    'status',
    'alterations',
    'warnings',
    'removed',
  ],
  nullClears: true,
  required: ['name', 'url', 'signing'],
  named: 'WebhookDescription',
});

/** Of an update: what is not sent stays as it is. */
export const webhookChange = shape({ ...webhookBody, required: [], named: 'WebhookChange' });

export type WebhookDraft = Draft<typeof webhookBody>;
export type SentWebhook = Sent<typeof webhookBody>;

/** Each field that is sent replaces the stored one whole, `null` clears it, the rest stays. */
export function mergeWebhookDraft(stored: WebhookSpec, body: SentWebhook): WebhookDraft {
  return draftOf(webhookBody, { ...stored, ...body });
}

/** What the rules accepted, with every default announced. */
export function webhookSpec(draft: WebhookDraft): {
  readonly spec: WebhookSpec;
  readonly alterations: readonly Alteration[];
} {
  const { name = '', url = '', events, signing, paused } = draft;
  const alterations: Alteration[] = [];
  const filled = <T>(field: string, value: T | undefined, otherwise: T, why: string): T => {
    if (value !== undefined) return value;
    alterations.push({ field, from: '(absent)', to: received(otherwise), why });
    return otherwise;
  };
  const spec = {
    name,
    url,
    events: inOrder(
      webhookBody.fields.events,
      filled<NonNullable<typeof events>>('events', events, {}, 'every event of the tenant'),
    ),
    signing: {
      vault_path: signing?.vault_path ?? '',
      key: filled('signing.key', signing?.key, 'key', 'the key of the document that is used'),
    },
    paused: filled('paused', paused, false, 'sent from now on'),
  };
  return { spec: specOfDraft(spec), alterations };
}

function specOfDraft(
  spec: Omit<WebhookSpec, 'events'> & { readonly events: WebhookDraft['events'] },
): WebhookSpec {
  const { kinds, subjects } = spec.events ?? {};
  return {
    ...spec,
    events: { ...(kinds !== undefined && { kinds }), ...(subjects !== undefined && { subjects }) },
  };
}

/** What a replaced filter lost. */
export function removedFilters(before: WebhookSpec, after: WebhookSpec): readonly string[] {
  return (['kinds', 'subjects'] as const).flatMap((list) =>
    (before.events[list] ?? [])
      .filter((entry) => !(after.events[list] ?? []).includes(entry))
      .map((entry) => `events.${list}[${entry}]`),
  );
}

export const redeliverBody = shape({
  type: 'object',
  fields: {
    events: {
      type: 'list',
      items: { type: 'string' },
      form: { maxItems: MAX_REDELIVERED },
      description: 'Ids of events that are dead letters; absent: all of them.',
    },
  },
});
