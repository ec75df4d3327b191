import {
  DEFAULT_KIND,
  DOCUMENT_KINDS,
  type Document,
  inDocumentOrder,
  kindOf,
} from '../../../core/contract/document-order.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { isName } from '../../../core/rules/name.ts';
import type { Permission } from '../../../core/model/permission.ts';
import { SupposedStore } from '../../store/supposed.ts';
import type { Admission, Caller } from '../admission.ts';
import { type Effect, plannedKinds, type SetAdmission } from './planned-kinds.ts';
import { askingOnce } from './registry-answers.ts';

/** Each costs a walk of the rules and a question to a registry. */
export const MAX_DOCUMENTS = 256;

export interface SetRequest {
  readonly documents: readonly Document[];
  /** Every rejection of a document, not only its first. */
  readonly all: boolean;
  /** Why the caller may not write what needs this permission. */
  readonly forbidden: (permission: Permission) => Rejection | undefined;
}

export interface Planned {
  readonly index: number;
  readonly kind: string;
  readonly name: string;
  readonly effect: Effect | readonly Rejection[];
}

/** What stands in the way of judging the set at all. */
function setRejection(documents: readonly Document[]): Rejection | undefined {
  if (documents.length > MAX_DOCUMENTS)
    return reject('body_too_large', {
      field: 'body',
      received: `${documents.length} documents`,
      expected: `at most ${MAX_DOCUMENTS} documents`,
      why: `The set has more than ${MAX_DOCUMENTS} documents; send it in parts.`,
    });
  const seen = new Map<string, number>();
  for (const [index, document] of documents.entries()) {
    const { name } = document;
    const key = `${kindOf(document) ?? ''}/${String(name)}`;
    const before = typeof name === 'string' ? seen.get(key) : undefined;
    if (before !== undefined)
      return reject('document_described_twice', {
        field: `[${index}].name`,
        received: received(name),
        why: `The document at ${before} describes the same record.`,
      });
    seen.set(key, index);
  }
  return undefined;
}

function wrongKind({ kind }: Document): Rejection {
  return reject('manifest_wrong_kind', {
    field: 'kind',
    received: received(kind),
    expected: `one of: ${DOCUMENT_KINDS.join(', ')}; absent: ${DEFAULT_KIND}`,
    why: 'Documents of this kind cannot be in a set.',
  });
}

/** In the order of writing, each judged by a store that holds what those before it would have made. Nothing is stored. */
export async function planSet(
  { networks, volumes }: SetAdmission,
  caller: Caller,
  { documents, all, forbidden }: SetRequest,
): Promise<readonly Planned[] | Rejection> {
  const refused = setRejection(documents);
  if (refused) return refused;
  const admission: Admission = {
    ...networks.admission,
    imageCheck: askingOnce(networks.admission.imageCheck),
    secrets: { ...networks.admission.secrets, supposed: new Map() },
  };
  const kinds = plannedKinds({ networks: { ...networks, admission }, volumes: { ...volumes, admission } });
  const { idempotency: _notStored, ...actor } = caller;
  const supposing: Caller = {
    ...actor,
    tenant: new SupposedStore(admission.store, caller.tenant.tenantId),
    supposed: [],
  };
  const names = documents.flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
  const options = { dryRun: true, alongside: names };
  const planned: Planned[] = [];
  for (const { document, index } of inDocumentOrder(
    documents.map((one, at) => ({ document: one, index: at })),
  )) {
    const kind = kindOf(document);
    const { name } = document;
    const said = {
      index,
      kind: kind ?? '',
      name: typeof name === 'string' && isName(name) ? name : '',
    };
    if (kind === undefined) {
      planned.push({ ...said, effect: [wrongKind(document)] });
      continue;
    }
    const { permission, plan, every } = kinds[kind];
    const effect = forbidden(permission) ?? (await plan(supposing, document, options));
    if (!isRejection(effect)) planned.push({ ...said, effect });
    else if (!all || effect.code === 'role_forbidden') planned.push({ ...said, effect: [effect] });
    else planned.push({ ...said, effect: await every(supposing, document, effect, options) });
  }
  return planned;
}
