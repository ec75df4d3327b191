import { WEBHOOKS } from '../../../core/operations/webhooks.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { deadLetterView, findWebhook, storedWebhookView, webhookNotFound } from '../../reads/webhook.ts';
import { prefixOf } from '../../store/record-ids.ts';
import type { Admission } from '../../writes/admission.ts';
import { parseIfMatch } from '../../writes/if-match.ts';
import { deleteWebhook, redeliver } from '../../writes/webhooks/webhook-orders.ts';
import { createWebhook, updateWebhook, webhookRejections } from '../../writes/webhooks/write-webhook.ts';
import { booleanParameter, pageReply, pageRequest, readPage } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { fullReply, guardedReply, plainReply } from '../write-reply.ts';

function list({ store, query }: RequestFor<typeof WEBHOOKS.list>): ReplyTo<typeof WEBHOOKS.list> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  return pageReply(
    page,
    WEBHOOKS.list.path,
    query,
    store.list('webhooks', { ...page, limit: page.limit + 1 }),
    ({ id }) => id,
    (stored) => storedWebhookView(store, stored),
  );
}

function read({ store, params }: RequestFor<typeof WEBHOOKS.read>): ReplyTo<typeof WEBHOOKS.read> {
  const stored = findWebhook(store, params.name);
  if (stored === undefined) return webhookNotFound(params.name);
  return {
    status: 200,
    body: storedWebhookView(store, stored),
    headers: { etag: `"${stored.modRevision}"` },
  };
}

async function create(
  admission: Admission,
  request: RequestFor<typeof WEBHOOKS.create>,
): Promise<ReplyTo<typeof WEBHOOKS.create>> {
  const { caller, body, query } = request;
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  return fullReply(
    request,
    () => createWebhook(admission, caller, body, { dryRun }),
    (first) => webhookRejections(admission, caller, body, first),
  );
}

async function update(
  admission: Admission,
  request: RequestFor<typeof WEBHOOKS.update>,
): Promise<ReplyTo<typeof WEBHOOKS.update>> {
  const { caller, body, query, params, headers } = request;
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  const ifMatch = parseIfMatch(headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return fullReply(
    request,
    () => updateWebhook(admission, caller, params.name, body, { dryRun, ifMatch }),
    (first) => webhookRejections(admission, caller, body, first, params.name),
  );
}

async function deadLetters({
  store,
  params,
  query,
}: RequestFor<typeof WEBHOOKS.deadLetters>): Promise<ReplyTo<typeof WEBHOOKS.deadLetters>> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const { name } = params;
  const stored = findWebhook(store, name);
  if (stored === undefined) return webhookNotFound(name);
  const under = `${prefixOf('webhook-dead-letters', name, stored.record.id)}/`;
  const entries = await readPage(page, (options) => store.rangeCold('webhook-dead-letters', under, options));
  return pageReply(
    page,
    `/api/v1/webhooks/${encodeURIComponent(name)}/dead-letters`,
    query,
    entries,
    ({ id }) => id,
    ({ record }) => deadLetterView(record),
  );
}

export function webhookRoutes(admission: Admission): Route[] {
  return [
    serve(WEBHOOKS.list, list),
    serve(WEBHOOKS.read, read),
    serve(WEBHOOKS.create, (request) => create(admission, request)),
    serve(WEBHOOKS.update, (request) => update(admission, request)),
    serve(WEBHOOKS.deadLetters, deadLetters),
    serve(WEBHOOKS.redeliver, async ({ caller, params, body }) =>
      plainReply(await redeliver(admission, caller, params.name, body?.events)),
    ),
    serve(WEBHOOKS.remove, (request) =>
      guardedReply(request, (ifMatch) =>
        deleteWebhook(admission, request.caller, request.params.name, ifMatch),
      ),
    ),
  ];
}
