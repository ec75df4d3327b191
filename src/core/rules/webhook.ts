import {
  EVENT_KIND,
  EVENT_SUBJECT,
  HOOK_URL,
  webhookBody,
  type WebhookDraft,
} from '../contract/webhook-body.ts';
import { KIND_FORM } from '../model/event-filter.ts';
import { MAX_FILTER_ENTRIES } from '../model/webhook.ts';
import type { SecretPolicy } from '../model/secret-limits.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { draftOf, readBody } from '../schema/shape.ts';
import { isRejection } from '../rejections/reject.ts';
import { isName } from './name.ts';
import type { Rule } from './rule.ts';
import { checkVaultPath } from './secrets/path.ts';

function wrong(field: string, value: unknown, expected: string, why: string): Rejection {
  return reject('webhook_invalid', { field, received: received(value), expected, why });
}

const kindRule: Rule<WebhookDraft> = ({ kind }) =>
  kind === undefined || kind === 'Webhook'
    ? undefined
    : reject('manifest_wrong_kind', {
        field: 'kind',
        received: received(kind),
        expected: 'Webhook, or omit it',
        why: 'This operation takes webhooks.',
      });

const nameRule: Rule<WebhookDraft> = ({ name }) =>
  name !== undefined && isName(name)
    ? undefined
    : wrong(
        'name',
        name,
        'lowercase letters, digits and inner hyphens, starting with a letter; at most 63 characters',
        'The name is required, and is a path segment.',
      );

const URL_FORM = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?(?:\?[^\s#]*)?$/;

const urlRule: Rule<WebhookDraft> = ({ url }) =>
  url !== undefined && url.length <= HOOK_URL.maxLength && URL_FORM.test(url)
    ? undefined
    : wrong(
        'url',
        url,
        'an absolute URL such as https://hooks.example.com/berth, at most 2048 characters',
        'The URL is required, and is called as it is: without a user name, a fragment or white space.',
      );

const FORMS = {
  kinds: KIND_FORM,
  subjects: /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/(?:[A-Za-z0-9][A-Za-z0-9._/-]*|\*))?$/,
} as const;
const LONGEST = { kinds: EVENT_KIND.maxLength, subjects: EVENT_SUBJECT.maxLength } as const;
const EXPECTED = {
  kinds: 'a kind such as node.failed, or a beginning such as deployment.*',
  subjects: 'a name, Kind/name such as Deployment/web, or Kind/*',
} as const;

function filterRule(list: keyof typeof FORMS): Rule<WebhookDraft> {
  return ({ events }) => {
    const entries = events?.[list] ?? [];
    if (entries.length > MAX_FILTER_ENTRIES)
      return wrong(
        `events.${list}`,
        entries.length,
        `at most ${MAX_FILTER_ENTRIES} entries`,
        'Every event is held against each of them.',
      );
    const at = entries.findIndex((entry) => entry.length > LONGEST[list] || !FORMS[list].test(entry));
    return at === -1
      ? undefined
      : wrong(`events.${list}[${at}]`, entries[at], EXPECTED[list], 'No event can be meant by this.');
  };
}

const KEY_FORM = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_KEY = 128;

const keyRule: Rule<WebhookDraft> = ({ signing }) => {
  const key = signing?.key;
  return key === undefined || (key.length <= MAX_KEY && KEY_FORM.test(key))
    ? undefined
    : wrong('signing.key', key, 'the name of a key of the document', 'No document has a key of this name.');
};

/** In the documented order, without I/O. */
export function webhookRules(policy: SecretPolicy): readonly Rule<WebhookDraft>[] {
  return [
    kindRule,
    nameRule,
    urlRule,
    filterRule('kinds'),
    filterRule('subjects'),
    ({ signing }) => checkVaultPath(signing?.vault_path, 'signing.vault_path', policy),
    keyRule,
  ];
}

export function readWebhookShape(body: unknown): WebhookDraft | Rejection {
  const sent = readBody(webhookBody, body);
  return isRejection(sent) ? sent : draftOf(webhookBody, sent);
}
