import type { Json } from '../../support/harness/api-client.ts';
import { type Ask, type Case, inside, refused, type Stage } from './case.ts';

const WEBHOOKS = '/api/v1/webhooks';
const HOOK = {
  url: 'https://hooks.example.com/berth',
  signing: { vault_path: 'resources/hooks' },
  paused: true,
};

/** POST of a webhook that is valid but for the given fields. */
const create =
  (fields: Json): Ask =>
  (stage) => ({
    method: 'POST',
    path: WEBHOOKS,
    options: { body: { name: stage.fresh(), ...HOOK, ...fields } },
  });

async function stored(stage: Stage): Promise<string> {
  const name = stage.fresh();
  const answer = await stage.call('POST', WEBHOOKS, { body: { name, ...HOOK } });
  if (answer.status !== 201) throw new Error(`the webhook of the case was refused: ${answer.text}`);
  return name;
}

const update =
  (fields: Json): Ask =>
  async (stage) => ({ method: 'PUT', path: `${WEBHOOKS}/${await stored(stage)}`, options: { body: fields } });

const ask =
  (method: string, path: string, body?: Json): Ask =>
  () => ({ method, path: `${WEBHOOKS}/${path}`, options: body === undefined ? {} : { body } });

export const webhookCases: readonly Case[] = [
  ...refused('webhook_invalid', 'name', {
    'no name': create({ name: '' }),
    capitals: create({ name: 'Alerts' }),
  }),
  ...refused('webhook_invalid', 'url', {
    'no URL': create({ url: 'hooks.example.com' }),
    'another scheme': create({ url: 'ftp://hooks.example.com/' }),
    'a user name': create({ url: 'https://me@hooks.example.com/' }),
    'plain HTTP': create({ url: 'http://hooks.example.com/' }),
    'a private address': create({ url: 'https://10.0.0.1/' }),
    'the metadata service': create({ url: 'https://169.254.169.254/latest' }),
    'this machine': create({ url: 'https://127.0.0.1/' }),
    'a port of a data store': create({ url: 'https://hooks.example.com:2379/' }),
    'of an update': update({ url: 'https://[::1]/' }),
  }),
  ...inside('webhook_invalid', {
    'a port and a query': create({ url: 'https://hooks.example.com:8443/berth?team=shop' }),
    filters: create({ events: { kinds: ['node.failed', 'deployment.*'], subjects: ['Node/*', 'web'] } }),
    'an update of the filter': update({ events: { kinds: ['job.*'] } }),
  }),
  ...refused('webhook_invalid', 'events.kinds[1]', {
    'a kind with a blank': create({ events: { kinds: ['node.failed', 'node failed'] } }),
  }),
  ...refused('webhook_invalid', 'events.subjects[0]', {
    'a beginning of a name': create({ events: { subjects: ['Deployment/web*'] } }),
  }),
  ...refused('webhook_invalid', 'events.kinds', {
    '65 kinds': create({ events: { kinds: Array.from({ length: 65 }, (_, at) => `k${at}`) } }),
  }),
  ...refused('webhook_invalid', 'signing.key', {
    'no key': create({ signing: { vault_path: 'resources/hooks', key: '-' } }),
  }),
  ...refused('secret_vault_path_required', 'signing.vault_path', {
    'of a webhook': create({ signing: {} }),
  }),
  ...refused('manifest_wrong_kind', 'kind', { 'of a webhook': create({ kind: 'Job' }) }),
  ...refused('name_mismatch', 'name', { 'of a webhook': update({ name: 'another' }) }),
  ...refused('webhook_already_exists', 'name', {
    'the same name': async (stage) => create({ name: await stored(stage) })(stage),
  }),
  ...refused('webhook_not_found', 'name', {
    read: ask('GET', 'gone'),
    update: ask('PUT', 'gone', { paused: true }),
    delete: ask('DELETE', 'gone'),
    'dead letters': ask('GET', 'gone/dead-letters'),
    redeliver: ask('POST', 'gone/redeliver', {}),
  }),
  ...refused('webhook_dead_letter_not_found', 'events[0]', {
    'no such event': async (stage) => ({
      method: 'POST',
      path: `${WEBHOOKS}/${await stored(stage)}/redeliver`,
      options: { body: { events: ['evt_unknown'] } },
    }),
  }),
  ...inside('webhook_dead_letter_not_found', {
    'all, of which there are none': async (stage) => ({
      method: 'POST',
      path: `${WEBHOOKS}/${await stored(stage)}/redeliver`,
      options: { body: {} },
    }),
  }),
];
