import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import type { SECRETS } from '../../../core/operations/secrets.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { REGISTRY_NAMESPACE } from '../../registry/credentials.ts';
import { credentialOf } from '../../secrets/credential-writes.ts';
import {
  acceptedOf,
  type Admission,
  type Attempt,
  type Caller,
  commitAttempts,
  type Outcome,
} from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { secretFailureRejection } from './credential-facts.ts';
import { awaitDeletions, deletionMoved, DeletionMark } from './secret-deletions.ts';
import { usersOf } from './secret-users.ts';
import { secretNotFound, secretPathRejection } from './write-secret.ts';

const deleted = acceptedOf<typeof SECRETS.remove>();
const MAX_NAMED = 100;

function inUse(path: SecretPath, users: readonly string[]): Rejection {
  const more = users.length > MAX_NAMED ? ` and ${users.length - MAX_NAMED} more` : '';
  return reject('secret_in_use', {
    field: 'name',
    received: received(path.label),
    expected: 'a document that nothing refers to',
    why: `${secretPathText(path)} is needed by ${users.slice(0, MAX_NAMED).join(', ')}${more}.`,
  });
}

interface Gone {
  readonly keys: readonly string[];
  readonly version: number;
}

/** The document with all its versions, unless anybody refers to it; see `secret-deletions.ts` for references at the same moment. */
export async function deleteSecret(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof SECRETS.remove>> {
  const malformed = secretPathRejection(admission.limits.secretPolicy.namespaces, path);
  if (malformed) return malformed;
  // Nothing refers to the credentials of a registry.
  const mark =
    path.namespace === REGISTRY_NAMESPACE ? undefined : new DeletionMark(caller.tenant, path.label);
  const state: { gone?: Gone } = {};
  try {
    return await commitAttempts(admission, caller, () =>
      attemptDelete(admission, caller, { path, ifMatch, mark, state }),
    );
  } finally {
    await mark?.remove();
  }
}

interface Deletion {
  readonly path: SecretPath;
  readonly ifMatch: IfMatch | undefined;
  readonly mark: DeletionMark | undefined;
  /** Of an attempt that removed it from a remote store before its commit failed. */
  readonly state: { gone?: Gone };
}

async function attemptDelete(
  admission: Admission,
  caller: Caller,
  { path, ifMatch, mark, state }: Deletion,
): Promise<Attempt<typeof SECRETS.remove>> {
  const { tenant } = caller;
  const { secrets } = admission;
  const metadata = await secrets.store.metadata(tenant.tenantId, path);
  if (!metadata.ok) return secretFailureRejection(metadata, 'name');
  const found = metadata.exists
    ? { keys: metadata.keys, version: metadata.version }
    : (state.gone ?? left(caller, path));
  if (found === undefined) return secretNotFound(path);
  const outdated = revisionRejection(ifMatch, found.version);
  if (outdated) return outdated;
  const users = usersOf(secrets, tenant, path);
  if (users.length > 0) return inUse(path, users);
  if (mark !== undefined) {
    const moved = await markedOrMoved(caller, path, mark);
    if (moved) return moved;
    const since = usersOf(secrets, tenant, path);
    if (since.length > 0) return inUse(path, since);
  }
  const removal = await secrets.writes.planRemoval(tenant, path);
  if ('ok' in removal) return secretFailureRejection(removal, 'name');
  state.gone = found;
  const transaction = tenant.transaction();
  mark?.include(transaction, path.namespace);
  removal.include(transaction);
  const subject = { kind: 'Secret', name: secretPathText(path) } as const;
  admission.journal.audit(transaction, tenant.tenantId, caller, 'secret.deleted', subject);
  admission.journal.event(transaction, tenant.tenantId, {
    kind: 'secret.deleted',
    subject,
    message: `${subject.name} deleted, with all its versions`,
    details: { ...found },
  });
  const removed = found.keys.map((key) => `keys[${key}]`);
  const body = { path: subject.name, ...found, alterations: [], warnings: [], removed };
  return { answer: deleted(200, body), transaction };
}

/**
 * Of a document that is gone from a remote store while Berth still has its record: the deletion ended half-way, or somebody removed it by other
 * means. What keys it had is not known any more.
 */
function left({ tenant }: Caller, path: SecretPath): Gone | undefined {
  const { current = 0 } = credentialOf(tenant, path)?.record ?? {};
  return current === 0 ? undefined : { keys: [], version: current };
}

async function markedOrMoved(
  { tenant }: Caller,
  { namespace, label }: SecretPath,
  mark: DeletionMark,
): Promise<Rejection | undefined> {
  if (mark.isSet) return undefined;
  const moved = await awaitDeletions(tenant, [label]);
  if (moved) return moved;
  return (await mark.put(namespace)) ? undefined : deletionMoved(label);
}
