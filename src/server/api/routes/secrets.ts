import { type Answer, exactly } from '../../../core/schema/shape.ts';
import type { referencedSecret } from '../../../core/contract/answers/secret.ts';
import { ownerField } from '../../../core/model/owner.ts';
import type { SecretPath } from '../../../core/model/secret-path.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { SECRETS } from '../../../core/operations/secrets.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { checkResourceName } from '../../../core/rules/secrets/path.ts';
import type { Admission } from '../../writes/admission.ts';
import { applySecret, secretRejections } from '../../writes/secrets/apply-secret.ts';
import { setHooks } from '../../writes/secrets/credential-hooks.ts';
import { rotateCredential } from '../../writes/secrets/rotate-credential.ts';
import { rotateSecrets } from '../../writes/secrets/rotate-secrets.ts';
import { readSecretMetadata, writeSecret } from '../../writes/secrets/write-secret.ts';
import { secretFailureRejection } from '../../writes/secrets/credential-facts.ts';
import { booleanParameter, pageOf, pageReply, pageRequest } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { fullReply, guardedReply, versionReply, writeReply } from '../write-reply.ts';

const asReferenced = exactly<Answer<typeof referencedSecret>>();
const asConsumers = exactly<AnswerOf<typeof SECRETS.listConsumers>>();

function pathOf({
  params,
}: {
  readonly params: { readonly namespace: string; readonly name: string };
}): SecretPath {
  return { namespace: params.namespace, label: params.name };
}

async function listReferenced(
  admission: Admission,
  { store, query }: RequestFor<typeof SECRETS.listReferenced>,
): Promise<ReplyTo<typeof SECRETS.listReferenced>> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const { secrets } = admission;
  const read = pageOf(page, secrets.references.paths(store.tenantId), ({ label }) => label);
  const known = new Map<string, { readonly keys: readonly string[]; readonly version: number }>();
  const denied = new Map<string, string>();
  for (const namespace of new Set(read.map((entry) => entry.namespace))) {
    const labels = read.filter((entry) => entry.namespace === namespace).map(({ label }) => label);
    const described = await secrets.store.describe(store.tenantId, namespace, labels);
    if (!described.ok) return secretFailureRejection(described, 'name');
    for (const [label, document] of described.documents) known.set(label, document);
    for (const [label, { message }] of described.denied ?? []) denied.set(label, message);
  }
  const described = read.map(({ label, namespace, consumers }) => {
    const document = known.get(label);
    const path = `${namespace}/${label}`;
    const problem = denied.get(label);
    return {
      name: label,
      namespace,
      path,
      // The policy hides it: whether it exists is unknown.
      exists: problem === undefined ? document !== undefined : null,
      keys: document?.keys ?? [],
      version: document?.version ?? 0,
      consumers,
      ...(problem === undefined ? {} : { problem }),
    };
  });
  return pageReply(
    page,
    SECRETS.listReferenced.path,
    query,
    described,
    ({ name }) => name,
    (entry) => asReferenced(entry),
  );
}

export function secretRoutes(admission: Admission): Route[] {
  return [
    serve(SECRETS.listReferenced, (request) => listReferenced(admission, request)),
    serve(SECRETS.listConsumers, ({ store, params }) => {
      const name = params.name;
      return (
        checkResourceName(name) ?? {
          status: 200,
          body: asConsumers(
            admission.secrets.references
              .consumers(store.tenantId, name)
              .map(({ owner, ...consumer }) => ({ ...ownerField(owner), ...consumer })),
          ),
        }
      );
    }),
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
