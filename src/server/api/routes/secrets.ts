import type { SecretPath } from '../../../core/model/secret-path.ts';
import { SECRETS } from '../../../core/operations/secrets.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../writes/admission.ts';
import { applySecret, secretRejections } from '../../writes/secrets/apply-secret.ts';
import { setHooks } from '../../writes/secrets/credential-hooks.ts';
import { deleteSecret } from '../../writes/secrets/delete-secret.ts';
import { rotateCredential } from '../../writes/secrets/rotate-credential.ts';
import { rotateSecrets } from '../../writes/secrets/rotate-secrets.ts';
import { readSecretMetadata, writeSecret } from '../../writes/secrets/write-secret.ts';
import { booleanParameter } from '../paging.ts';
import { type Route, serve } from '../route.ts';
import { listConsumers, listReferenced, listSecrets } from './secret-lists.ts';
import { fullReply, guardedReply, versionReply, writeReply } from '../write-reply.ts';

function pathOf({
  params,
}: {
  readonly params: { readonly namespace: string; readonly name: string };
}): SecretPath {
  return { namespace: params.namespace, label: params.name };
}

export function secretRoutes(admission: Admission): Route[] {
  return [
    serve(SECRETS.list, (request) => listSecrets(admission, request)),
    serve(SECRETS.listReferenced, (request) => listReferenced(admission, request)),
    serve(SECRETS.listConsumers, (request) => listConsumers(admission, request)),
    serve(SECRETS.apply, async (request) => {
      const { caller, body, query } = request;
      const dryRun = booleanParameter(query, 'dryRun');
      if (isRejection(dryRun)) return dryRun;
      return fullReply(
        request,
        () => applySecret(admission, caller, body, { dryRun }),
        (first) => secretRejections(admission, body, first),
      );
    }),
    serve(SECRETS.write, (request) =>
      guardedReply(
        request,
        (ifMatch) => writeSecret(admission, request.caller, pathOf(request), request.body, ifMatch),
        versionReply,
      ),
    ),
    serve(SECRETS.read, async (request) =>
      versionReply(await readSecretMetadata(admission, request.caller, pathOf(request))),
    ),
    serve(SECRETS.remove, (request) =>
      guardedReply(request, (ifMatch) => deleteSecret(admission, request.caller, pathOf(request), ifMatch)),
    ),
    serve(SECRETS.rotate, async (request) =>
      writeReply(await rotateCredential(admission, request.caller, pathOf(request), request.body)),
    ),
    serve(SECRETS.setHooks, (request) =>
      guardedReply(
        request,
        (ifMatch) => setHooks(admission, request.caller, pathOf(request), request.body, ifMatch),
        versionReply,
      ),
    ),
    serve(SECRETS.rotateDeployment, async ({ caller, params, body }) =>
      writeReply(await rotateSecrets(admission, caller, params.name, body)),
    ),
  ];
}
