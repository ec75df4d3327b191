import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Admission } from '../../writes/admission.ts';
import { createDeployment } from '../../writes/deployments/create-deployment.ts';
import { deleteDeployment } from '../../writes/deployments/delete-deployment.ts';
import { findDeployment, storedDeploymentView } from '../../reads/deployment.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { parseIfMatch } from '../../writes/if-match.ts';
import { type UpdateOptions, updateDeployment } from '../../writes/deployments/update-deployment.ts';
import { explainDeployment } from '../../placement/explanation.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { writeReply } from '../write-reply.ts';

const asExplanation = exactly<AnswerOf<typeof DEPLOYMENTS.explain>>();

export function updateOptions(
  request: Pick<RequestFor<typeof DEPLOYMENTS.update>, 'query' | 'headers'>,
): UpdateOptions | Rejection {
  const dryRun = booleanParameter(request.query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  const ifMatch = parseIfMatch(request.headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return { dryRun, ...(ifMatch === undefined ? {} : { ifMatch }) };
}

async function update(
  admission: Admission,
  request: Omit<RequestFor<typeof DEPLOYMENTS.update>, 'params'>,
  name: string | undefined,
): Promise<ReplyTo<typeof DEPLOYMENTS.update>> {
  const options = updateOptions(request);
  if (isRejection(options)) return options;
  return writeReply(await updateDeployment(admission, request.caller, name, request.body, options));
}

export function deploymentRoutes(admission: Admission): Route[] {
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
    serve(DEPLOYMENTS.create, async (request) => {
      const dryRun = booleanParameter(request.query, 'dryRun');
      if (isRejection(dryRun)) return dryRun;
      return writeReply(await createDeployment(admission, request.caller, request.body, { dryRun }));
    }),
    serve(DEPLOYMENTS.read, ({ store, params }) => {
      const name = params.name;
      const { stored, field } = findDeployment(store, name);
      if (stored === undefined) return deploymentNotFound(field, name);
      return {
        status: 200,
        body: storedDeploymentView(admission, store, stored),
        headers: { etag: `"${stored.modRevision}"` },
      };
    }),
    serve(DEPLOYMENTS.update, (request) => update(admission, request, request.params.name)),
    serve(DEPLOYMENTS.updateNamed, (request) => update(admission, request, undefined)),
    serve(DEPLOYMENTS.explain, ({ store, params }) => {
      const name = params.name;
      const { stored, field } = findDeployment(store, name);
      if (stored === undefined) return deploymentNotFound(field, name);
      return {
        status: 200,
        body: asExplanation(explainDeployment(admission.clusters, store, stored.record)),
      };
    }),
    serve(DEPLOYMENTS.remove, async (request) => {
      const ifMatch = parseIfMatch(request.headers['if-match']);
      if (isRejection(ifMatch)) return ifMatch;
      return writeReply(await deleteDeployment(admission, request.caller, request.params.name, ifMatch));
    }),
  ];
}
