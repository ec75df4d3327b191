import { type hooksBody } from '../../../core/contract/secret-bodies.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import type { CredentialHooks, HookName } from '../../../core/model/rotation-hook.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import { UNKNOWN } from '../../../core/secrets/credentials.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { SECRETS } from '../../../core/operations/secrets.ts';
import { credentialId, credentialOf } from '../../secrets/credential-writes.ts';
import type { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { findJob } from '../../reads/job.ts';
import { readsCredential } from '../jobs/job-stored.ts';
import { readSecretMetadata } from './write-secret.ts';

const HOOKS: readonly HookName[] = ['apply', 'revoke'];

/** Each job must exist and read the credential: it receives the values under the name of its own entry. */
function checkJobs(
  caller: Caller,
  path: string,
  hooks: CredentialHooks,
  transaction: Transaction,
): Rejection | undefined {
  for (const hook of HOOKS) {
    const name = hooks[hook];
    if (name === undefined) continue;
    const job = findJob(caller.tenant, name);
    if (job === undefined) {
      return reject('job_not_found', {
        field: hook,
        received: received(name),
        why: 'The tenant has no job of this name.',
      });
    }
    if (!readsCredential(job.record, path)) {
      return reject('rotation_hook_invalid', {
        field: hook,
        received: received(name),
        expected: `a job with a secrets entry whose vault_path is ${path}`,
        why: `${name} does not read ${path}, so its container would not be given the values.`,
      });
    }
    transaction.expect('jobs', job.id, job);
  }
  return undefined;
}

const accepted = acceptedOf<typeof SECRETS.setHooks>();

/** Replaces the hooks of a credential, also during its rotation: a phase that waits for one then waits for the new one. */
export async function setHooks(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
  draft: Draft<typeof hooksBody>,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof SECRETS.setHooks>> {
  const found = await readSecretMetadata(admission, caller, path);
  if (isRejection(found)) return found;
  const { version } = found.body;
  const outdated = revisionRejection(ifMatch, version);
  if (outdated) return outdated;
  const text = secretPathText(path);
  const hooks: CredentialHooks = {
    ...(draft.apply !== undefined && { apply: draft.apply }),
    ...(draft.revoke !== undefined && { revoke: draft.revoke }),
  };
  return commitAttempts(admission, caller, () => {
    const { tenant } = caller;
    const id = credentialId(path);
    const stored = credentialOf(tenant, path);
    const transaction = tenant.transaction().expect('credentials', id, stored);
    const refused = checkJobs(caller, text, hooks, transaction);
    if (refused) return refused;
    const { hooks: before = {}, ...record } = stored?.record ?? UNKNOWN;
    transaction.put('credentials', id, { ...record, ...(Object.keys(hooks).length > 0 && { hooks }) });
    const subject = { kind: 'Secret', name: text } as const;
    const named = HOOKS.flatMap((hook) => (hooks[hook] === undefined ? [] : [`${hook} ${hooks[hook]}`]));
    admission.journal.audit(transaction, tenant.tenantId, caller, 'secret.hooks_changed', subject);
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'secret.hooks_changed',
      subject,
      message: `${text}: ${named.length === 0 ? 'no hooks' : `hooks ${named.join(', ')}`}`,
      details: { hooks },
    });
    const removed = HOOKS.filter((hook) => before[hook] !== undefined && hooks[hook] === undefined);
    return {
      answer: accepted(200, { path: text, version, hooks, alterations: [], warnings: [], removed }),
      transaction,
    };
  });
}
