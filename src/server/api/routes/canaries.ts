import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { CANARIES } from '../../../core/operations/canaries.ts';
import type { Admission } from '../../writes/admission.ts';
import { canaryNotFound } from '../../reads/canary.ts';
import { canaryView } from '../../reads/canary.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { abortCanary, promoteCanary } from '../../writes/deployments/end-canary.ts';
import { startCanary } from '../../writes/deployments/start-canary.ts';
import { idOf } from '../../store/record-ids.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';

const asCanary = exactly<AnswerOf<typeof CANARIES.read>>();

function read({ store, params }: RequestFor<typeof CANARIES.read>): ReplyTo<typeof CANARIES.read> {
  const nameOrId = params.name;
  const { stored, field } = findDeployment(store, nameOrId);
  if (stored === undefined) return deploymentNotFound(field, nameOrId);
  const { name } = stored.record.spec;
  const canary = store.get('canaries', idOf('canaries', name));
  if (canary === undefined) return canaryNotFound(nameOrId);
  const revision = canary.modRevision;
  return {
    status: 200,
    body: asCanary({ ...canaryView(store, name, canary.record), revision }),
    headers: { etag: `"${revision}"` },
  };
}

export function canaryRoutes(admission: Admission): Route[] {
  return [
    serve(CANARIES.read, read),
    serve(CANARIES.start, (request) =>
      guardedReply(request, (ifMatch) =>
        startCanary(admission, request.caller, request.params.name, request.body, ifMatch),
      ),
    ),
    serve(CANARIES.promote, (request) =>
      guardedReply(request, (ifMatch) =>
        promoteCanary(admission, request.caller, request.params.name, ifMatch),
      ),
    ),
    serve(CANARIES.abort, async ({ caller, params }) =>
      writeReply(await abortCanary(admission, caller, params.name)),
    ),
  ];
}
