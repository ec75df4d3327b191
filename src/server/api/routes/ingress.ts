import { exactly } from '../../../core/schema/shape.ts';
import { servedIngress } from '../../../core/model/ingress.ts';
import { fieldText } from '../../../core/model/values.ts';
import { INGRESS } from '../../../core/operations/ingress.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { servingNodes } from '../../agents/ingress/ingress-map.ts';
import type { Admission } from '../../writes/admission.ts';
import type { TenantStore } from '../../store/store.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { asked, unfit } from './agent-answers.ts';

/** The authority is asked three times at least, and has seconds for each answer. */
const DEADLINE_MS = 30_000;
const RETRY_SECONDS = 60;

const asRevoked = exactly<AnswerOf<typeof INGRESS.revoke>>();

type Revoke = typeof INGRESS.revoke;

/** The deployment whose host has a certificate of an authority. */
function issuedFor(store: TenantStore, host: string): string | Rejection {
  const found = store.list('deployments').flatMap(({ record: { spec } }) =>
    servedIngress(spec)
      .filter((entry) => entry.host === host)
      .map(({ tls = 'auto' }) => ({ name: spec.name, tls })),
  );
  const [first] = found;
  if (first === undefined)
    return reject('ingress_host_not_found', {
      field: 'host',
      received: received(host),
      why: 'None of the deployments of this tenant has it in its ingress.',
    });
  const issued = found.find(({ tls }) => tls === 'auto');
  return issued?.name ?? notIssued(host, withoutAuthority(first.tls));
}

function withoutAuthority(tls: 'auto' | 'off' | { readonly vault_path: string }): string {
  return typeof tls === 'object'
    ? `Its certificate is that of the secret ${tls.vault_path}: revoke it where it was issued, then write another one there.`
    : 'It is served without TLS, so there is nothing to revoke.';
}

function notIssued(host: string, why: string): Rejection {
  return reject('ingress_certificate_not_issued', { field: 'host', received: received(host), why });
}

/** Asked for before the node acts on it: whatever becomes of the answer, what may have been revoked is on record. */
async function audit({ journal }: Admission, { store, caller }: RequestFor<Revoke>, deployment: string) {
  const transaction = store.transaction();
  journal.audit(transaction, store.tenantId, caller, 'deployment.certificate_revoked', {
    kind: 'Deployment',
    name: deployment,
  });
  await store.commit(transaction);
}

async function publish(
  { journal }: Admission,
  { store }: RequestFor<Revoke>,
  deployment: string,
  news: { readonly message: string; readonly details: Readonly<Record<string, unknown>> },
): Promise<void> {
  const transaction = store.transaction();
  const subject = { kind: 'Deployment', name: deployment } as const;
  journal.event(transaction, store.tenantId, { kind: 'certificate.revoked', subject, ...news });
  await store.commit(transaction);
}

async function revoke(
  admission: Admission,
  dispatch: Dispatch,
  request: RequestFor<Revoke>,
): Promise<ReplyTo<Revoke>> {
  const { store } = request;
  const { host } = request.params;
  const deployment = issuedFor(store, host);
  if (isRejection(deployment)) return deployment;
  const [node, ...others] = servingNodes(store);
  if (node === undefined)
    return notIssued(
      host,
      'No node of the tenant serves the ingress: start the agent of one with --ingress, on a machine with Caddy.',
    );
  const away = unfit(store, dispatch, node);
  if (away) return away;
  await audit(admission, request, deployment);
  const operation = { kind: 'certificate-revoke', host } as const;
  const answer = await asked(dispatch, store.tenantId, node, operation, DEADLINE_MS);
  if (typeof answer === 'string')
    return {
      ...reject('certificate_not_revoked', {
        field: 'host',
        received: received(host),
        why: `${node}: ${received(answer)}.`,
      }),
      retryAfterSeconds: RETRY_SECONDS,
    };
  // Those that are away look again by themselves, within minutes.
  await Promise.all(others.map((other) => asked(dispatch, store.tenantId, other, operation)));
  const [issuer, notAfter] = ['issuer', 'notAfter'].map((field) => fieldText(answer[0], field));
  const revoked = { host, node, ...(issuer && { issuer }), ...(notAfter && { notAfter }) };
  await publish(admission, request, deployment, {
    message: `the certificate of ${issuer ?? 'the authority'} for ${host} was revoked; ${node} asks for another`,
    details: revoked,
  });
  return { status: 200, body: asRevoked(revoked) };
}

export function ingressRoutes(admission: Admission, dispatch: Dispatch): Route[] {
  return [serve(INGRESS.revoke, (request) => revoke(admission, dispatch, request))];
}
