import type { joinToken } from '../../../core/contract/answers/node.ts';
import { type joinTokenBody } from '../../../core/contract/node-bodies.ts';
import { type Answer, type Draft, exactly, type Exactly } from '../../../core/schema/shape.ts';
import { tokenId } from '../../../core/model/ids.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import type { TokenRecord } from '../../../core/model/tenant.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import { nodeNameRule } from '../../../core/rules/node.ts';
import type { JOIN_TOKENS } from '../../../core/operations/join-tokens.ts';
import { hashSecret, mintToken } from '../../access/token.ts';
import type { Stored } from '../../store/collection.ts';
import type { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import type { NodeAdmission } from './node-admission.ts';

const DEFAULT_TTL = '15m';
const MAX_TTL_MS = 24 * 3_600_000;
/** Expired ones are swept when a new one is made, a bounded number at a time. */
const SWEEP = 50;

/** How the agent reaches the control plane, for the line to paste. */
export interface JoinAddress {
  readonly baseUrl: string;
  /** `sha256:<hex>` of the certificate that the agent pins; absent without TLS. */
  readonly caDigest?: string;
}

const asJoinToken = exactly<Answer<typeof joinToken>>();

export function joinTokenView({
  id,
  name: _name,
  nodeName,
  createdAt,
  createdBy,
  expiresAt,
}: TokenRecord): Exactly<Answer<typeof joinToken>> {
  return asJoinToken({
    id,
    ...(nodeName === undefined ? {} : { nodeName }),
    createdAt,
    createdBy,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });
}

/** The token comes through standard input: arguments and variables of a process can be read by others on the machine. */
function joinCommand(
  token: string,
  nodeName: string | undefined,
  { baseUrl, caDigest }: JoinAddress,
): string {
  return [
    `printf %s ${token} | berth agent --server ${baseUrl} --join-file -`,
    ...(nodeName === undefined ? [] : [`--name ${nodeName}`]),
    ...(caDigest === undefined ? [] : [`--ca-digest ${caDigest}`]),
  ].join(' ');
}

export function listJoinTokens(admission: Admission, caller: Caller): Stored<TokenRecord>[] {
  const now = admission.clock.now().getTime();
  return admission.store
    .listGlobal('tokens')
    .filter(({ record }) => record.kind === 'join' && record.tenantId === caller.tenant.tenantId)
    .filter(({ record }) => record.revokedAt === undefined && Date.parse(record.expiresAt ?? '') > now);
}

function sweepExpired(admission: Admission, caller: Caller, transaction: Transaction): void {
  const now = admission.clock.now().getTime();
  const expired = admission.store
    .listGlobal('tokens')
    .filter(({ record }) => record.kind === 'join' && record.tenantId === caller.tenant.tenantId)
    .filter(({ record }) => Date.parse(record.expiresAt ?? '') <= now);
  for (const { id } of expired.slice(0, SWEEP)) transaction.deleteGlobal('tokens', id);
}

const accepted = acceptedOf<typeof JOIN_TOKENS.create>();

export async function createJoinToken(
  { admission, tokenKey }: NodeAdmission,
  caller: Caller,
  body: Draft<typeof joinTokenBody> | undefined,
  address: JoinAddress,
): Promise<Outcome<typeof JOIN_TOKENS.create>> {
  const { nodeName, ttl = DEFAULT_TTL } = body ?? {};
  const misnamed = nodeName === undefined ? undefined : nodeNameRule(nodeName);
  if (misnamed) return misnamed;
  const ttlMs = parseDuration(ttl);
  if (ttlMs === undefined || ttlMs < 1000 || ttlMs > MAX_TTL_MS) {
    return reject('token_invalid', {
      field: 'ttl',
      received: received(ttl),
      expected: 'a duration from 1s to 24h',
      why: 'The lifetime is not a duration in range.',
    });
  }
  // The answer shows the token once, so it is not kept for an Idempotency-Key to replay.
  const { idempotency: _unused, ...withoutReplay } = caller;
  return commitAttempts(admission, withoutReplay, () => {
    const now = admission.clock.now();
    const id = tokenId(admission.ids.next('join').replace('_', ''));
    const { token, secret } = mintToken('join', id);
    const record: TokenRecord = {
      id,
      kind: 'join',
      tenantId: caller.tenant.tenantId,
      role: 'node',
      name: nodeName === undefined ? 'enrol a node' : `enrol ${nodeName}`,
      hash: hashSecret(tokenKey, secret),
      createdAt: now.toISOString(),
      createdBy: caller.principal?.tokenId ?? 'system',
      expiresAt: new Date(now.getTime() + ttlMs).toISOString(),
      ...(nodeName === undefined ? {} : { nodeName }),
    };
    const transaction = caller.tenant
      .transaction()
      .expectGlobal('tokens', id, undefined)
      .putGlobal('tokens', id, record);
    sweepExpired(admission, caller, transaction);
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'join-token.created', {
      kind: 'Token',
      name: id,
    });
    const alterations =
      body?.ttl === undefined
        ? [
            {
              field: 'ttl',
              from: '(absent)',
              to: DEFAULT_TTL,
              why: 'join tokens are short-lived; 15 minutes when nothing is said',
            },
          ]
        : [];
    const command = joinCommand(token, nodeName, address);
    return {
      answer: accepted(201, {
        ...joinTokenView(record),
        token,
        command,
        alterations,
        warnings: [],
        removed: [],
      }),
      transaction,
    };
  });
}
