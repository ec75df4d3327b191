import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Admission } from '../../writes/admission.ts';
import { createDeployment } from '../../writes/deployments/create-deployment.ts';
import { deleteDeployment } from '../../writes/deployments/delete-deployment.ts';
import { deploymentRejections } from '../../writes/deployments/deployment-rejections.ts';
import { isRecord } from '../../../core/model/values.ts';
import { restartDeployment } from '../../writes/deployments/restart-deployment.ts';
import { findDeployment, partsOfView, storedDeploymentView } from '../../reads/deployment.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { parseIfMatch } from '../../writes/if-match.ts';
import { type UpdateOptions, updateDeployment } from '../../writes/deployments/update-deployment.ts';
import { nodeNameRule } from '../../../core/rules/node.ts';
import { explainAccess } from '../../placement/access-explanation.ts';
import { explainDeployment } from '../../placement/explanation.ts';
import { KeptReplies } from '../kept-replies.ts';
import {
  booleanParameter,
  cursorAfter,
  invalidParameter,
  nextPage,
  pageReply,
  pageRequest,
  writeOptions,
} from '../paging.ts';
import { provable, type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { fullReply, guardedReply, writeReply } from '../write-reply.ts';

const asExplanation = exactly<AnswerOf<typeof DEPLOYMENTS.explain>>();

export function updateOptions(request: {
  readonly query: Parameters<typeof writeOptions>[0];
  readonly headers: RequestFor<typeof DEPLOYMENTS.update>['headers'];
}): UpdateOptions | Rejection {
  const options = writeOptions(request.query);
  if (isRejection(options)) return options;
  const ifMatch = parseIfMatch(request.headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return { ...options, ...(ifMatch === undefined ? {} : { ifMatch }) };
}

function nameIn(body: unknown, name: string | undefined): string {
  const named = isRecord(body) ? body['name'] : undefined;
  return name ?? (typeof named === 'string' ? named : '');
}

async function update(
  admission: Admission,
  request: Omit<RequestFor<typeof DEPLOYMENTS.update>, 'params'>,
  name: string | undefined,
): Promise<ReplyTo<typeof DEPLOYMENTS.update>> {
  const options = updateOptions(request);
  if (isRejection(options)) return options;
  const { caller, body } = request;
  return fullReply(
    request,
    () => updateDeployment(admission, caller, name, body, options),
    (first) =>
      deploymentRejections(admission, caller, body, { ...options, first, updates: nameIn(body, name) }),
  );
}

export function deploymentRoutes(admission: Admission): Route[] {
  const replies = new KeptReplies<AnswerOf<typeof DEPLOYMENTS.read>>();
  return [
    serve(DEPLOYMENTS.list, ({ store, query }) => {
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const read = store.list('deployments', { ...page, limit: page.limit + 1 });
      return pageReply(
        page,
        DEPLOYMENTS.list.path,
        query,
        read,
        ({ id }) => id,
        (stored) => storedDeploymentView(admission, store, stored),
      );
    }),
    provable(
      serve(DEPLOYMENTS.create, async (request) => {
        const options = writeOptions(request.query);
        if (isRejection(options)) return options;
        const { caller, body, answering } = request;
        return fullReply(
          request,
          () => createDeployment(admission, answering ? { ...caller, answering } : caller, body, options),
          (first) => deploymentRejections(admission, caller, body, { ...options, first }),
        );
      }),
    ),
    serve(DEPLOYMENTS.read, ({ store, params }) => {
      const name = params.name;
      const { stored, field } = findDeployment(store, name);
      if (stored === undefined) return deploymentNotFound(field, name);
      return replies.of(stored, partsOfView(admission, store, stored), () =>
        storedDeploymentView(admission, store, stored),
      );
    }),
    serve(DEPLOYMENTS.update, (request) => update(admission, request, request.params.name)),
    serve(DEPLOYMENTS.updateNamed, (request) => update(admission, request, undefined)),
    serve(DEPLOYMENTS.restart, (request) =>
      guardedReply(request, (ifMatch) =>
        restartDeployment(admission, request.caller, request.params.name, request.body ?? {}, ifMatch),
      ),
    ),
    serve(DEPLOYMENTS.explain, ({ store, params, query }) => {
      const name = params.name;
      const { from, node } = query;
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const failed = booleanParameter(query, 'failed');
      if (isRejection(failed)) return failed;
      if (node !== undefined && nodeNameRule(node))
        return invalidParameter('node', node, 'the name of a node');
      const { stored, field } = findDeployment(store, name);
      if (stored === undefined) return deploymentNotFound(field, name);
      const access = from === undefined ? undefined : explainAccess(store, stored.record.spec, from);
      if (from !== undefined && access === undefined)
        return reject('access_source_unknown', {
          field: 'from',
          received: received(from),
          why: 'The tenant has no deployment and no job of this name.',
        });
      const asked = { ...page, failed, ...(node !== undefined && { node }) };
      const { upTo, ...explanation } = explainDeployment(admission.clusters, store, stored.record, asked);
      const path = `/api/v1/deployments/${encodeURIComponent(name)}/explain`;
      return {
        status: 200,
        body: asExplanation({
          ...explanation,
          ...(upTo !== undefined && { cursor: cursorAfter(upTo) }),
          ...(access && { access }),
        }),
        ...(upTo !== undefined && { headers: nextPage(path, { ...query }, upTo) }),
      };
    }),
    serve(DEPLOYMENTS.remove, async (request) => {
      const options = updateOptions(request);
      if (isRejection(options)) return options;
      return writeReply(await deleteDeployment(admission, request.caller, request.params.name, options));
    }),
  ];
}
