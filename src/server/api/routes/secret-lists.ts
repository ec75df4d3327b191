import type {
  listedSecret,
  referencedSecret,
  secretConsumer,
} from '../../../core/contract/answers/secret.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import { SECRETS } from '../../../core/operations/secrets.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { checkResourceName } from '../../../core/rules/secrets/path.ts';
import { type Answer, exactly } from '../../../core/schema/shape.ts';
import type { TenantStore } from '../../store/store.ts';
import { segmentsOf } from '../../store/record-ids.ts';
import type { Admission } from '../../writes/admission.ts';
import { secretFailureRejection } from '../../writes/secrets/credential-facts.ts';
import { consumersOfLabel, consumerViews, secretNamespaces } from '../../writes/secrets/write-secret.ts';
import {
  booleanParameter,
  invalidParameter,
  orderedPageOf,
  pageOf,
  pageReply,
  pageRequest,
} from '../paging.ts';
import type { ReplyTo, RequestFor } from '../route.ts';

const asReferenced = exactly<Answer<typeof referencedSecret>>();
const asListed = exactly<Answer<typeof listedSecret>>();
type Consumer = Answer<typeof secretConsumer>;
const asConsumer = exactly<Consumer>();

interface Described {
  readonly exists: boolean | null;
  readonly keys: readonly string[];
  readonly version: number;
  readonly problem?: string;
}

/** What the store says of these documents, by path; one question for each namespace. */
async function describePaths(
  { secrets }: Admission,
  { tenantId }: TenantStore,
  paths: readonly SecretPath[],
): Promise<((path: SecretPath) => Described) | Rejection> {
  const known = new Map<string, { readonly keys: readonly string[]; readonly version: number }>();
  const denied = new Map<string, string>();
  for (const [namespace, inIt] of Map.groupBy(paths, (path) => path.namespace)) {
    const labels = inIt.map(({ label }) => label);
    const described = await secrets.store.describe(tenantId, namespace, labels);
    if (!described.ok) return secretFailureRejection(described, 'name');
    for (const [label, document] of described.documents)
      known.set(secretPathText({ namespace, label }), document);
    for (const [label, { message }] of described.denied ?? [])
      denied.set(secretPathText({ namespace, label }), message);
  }
  return (path) => {
    const text = secretPathText(path);
    const document = known.get(text);
    const problem = denied.get(text);
    return {
      // The policy hides it: whether it exists is unknown.
      exists: problem === undefined ? document !== undefined : null,
      keys: document?.keys ?? [],
      version: document?.version ?? 0,
      ...(problem === undefined ? {} : { problem }),
    };
  };
}

/** By name, as all lists are; a name may be in two namespaces. */
function pageKey({ namespace, label }: SecretPath): string {
  return `${label}/${namespace}`;
}

/** In the order of pages, each once. */
function inOrder(paths: readonly SecretPath[], keyOf: (path: SecretPath) => string): readonly SecretPath[] {
  const found = new Map(paths.map((path) => [keyOf(path), path]));
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path);
}

export async function listReferenced(
  admission: Admission,
  { store, query }: RequestFor<typeof SECRETS.listReferenced>,
): Promise<ReplyTo<typeof SECRETS.listReferenced>> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  // Of a page by label alone, as they once were.
  if (page.after?.includes('/') === false)
    return invalidParameter('cursor', query.cursor ?? '', 'the cursor of a Link header of this release');
  const { references } = admission.secrets;
  const read = pageOf(page, inOrder(references.referenced(store.tenantId), pageKey), pageKey);
  const described = await describePaths(admission, store, read);
  if (isRejection(described)) return described;
  return pageReply(page, SECRETS.listReferenced.path, query, read, pageKey, (path) =>
    asReferenced({
      name: path.label,
      namespace: path.namespace,
      path: secretPathText(path),
      ...described(path),
      consumers: references.referrers(store.tenantId, path),
    }),
  );
}

/** Workloads by name, then webhooks. */
function consumerId({ deployment, job, ingress = '', webhook, secret }: Consumer): string {
  const name = deployment ?? job ?? webhook;
  return JSON.stringify([webhook !== undefined, name, secret, deployment !== undefined, ingress]);
}

export function listConsumers(
  admission: Admission,
  { store, params: { name }, query }: RequestFor<typeof SECRETS.listConsumers>,
): ReplyTo<typeof SECRETS.listConsumers> {
  const malformed = checkResourceName(name);
  if (malformed) return malformed;
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const all: readonly Consumer[] = consumersOfLabel(admission, store.tenantId, name);
  return pageReply(
    page,
    `/api/v1/secrets/resources/${name}/consumers`,
    query,
    orderedPageOf(page, all, consumerId),
    consumerId,
    asConsumer,
  );
}

/** Every document of the tenant, and what is referenced without being there, by path. */
async function allPaths(
  { secrets, limits }: Admission,
  store: TenantStore,
): Promise<readonly SecretPath[] | Rejection> {
  const found: SecretPath[] = [];
  const namespaces = secretNamespaces(limits.secretPolicy.namespaces);
  for (const namespace of namespaces) {
    const listed = await secrets.store.list(store.tenantId, namespace);
    // A policy may let documents be read and not be listed: those that Berth knows are listed all the same.
    if (!listed.ok && listed.reason !== 'denied') return secretFailureRejection(listed, 'name');
    for (const label of listed.ok ? listed.labels : []) found.push({ namespace, label });
  }
  for (const { id, record } of store.list('credentials')) {
    const [namespace, label] = segmentsOf('credentials', id);
    if (record.current > 0 && namespaces.includes(namespace)) found.push({ namespace, label });
  }
  return inOrder([...found, ...secrets.references.referenced(store.tenantId)], secretPathText);
}

export async function listSecrets(
  admission: Admission,
  { store, query }: RequestFor<typeof SECRETS.list>,
): Promise<ReplyTo<typeof SECRETS.list>> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const unreferenced = booleanParameter(query, 'unreferenced');
  if (isRejection(unreferenced)) return unreferenced;
  const all = await allPaths(admission, store);
  if (isRejection(all)) return all;
  const { secrets } = admission;
  const wanted = unreferenced
    ? all.filter((path) => consumerViews(secrets, store.tenantId, path).length === 0)
    : all;
  const read = pageOf(page, wanted, secretPathText);
  const described = await describePaths(admission, store, read);
  if (isRejection(described)) return described;
  return pageReply(page, SECRETS.list.path, query, read, secretPathText, (path) =>
    asListed({
      name: path.label,
      namespace: path.namespace,
      path: secretPathText(path),
      ...described(path),
      consumers: consumerViews(secrets, store.tenantId, path),
    }),
  );
}
