import type { IncomingMessage } from 'node:http';
import type { TenantId } from '../../../core/model/ids.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import { redacted } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { type AccessDependencies, authenticate } from '../../access/authenticate.ts';
import { matchesHash, parseToken } from '../../access/token.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import { PROOF_HEADER, RELAY_PROOF_FEATURE, relayText } from '../../../core/protocol/agent-protocol.ts';
import { signatureFits } from './handshake.ts';
import { headerCount } from './upgrade-refusal.ts';

export interface AdmittedNode {
  readonly tenantId: TenantId;
  readonly tokenId: string;
  readonly node: NodeRecord;
  /** It came with the secret that is to take the place of the other. */
  readonly usesNext: boolean;
}

/** Whose agent dials: the holder of the token that its node's record names. */
export function admitNode(
  { access, store }: { readonly access: AccessDependencies; readonly store: Store },
  request: IncomingMessage,
): AdmittedNode | Rejection {
  // A browser always says where it comes from, an agent never does: a page cannot ride on anything here.
  if (request.headers.origin !== undefined) {
    return reject('role_forbidden', {
      field: 'Origin',
      received: '(present)',
      why: 'Sessions are for agents, not for browsers.',
    });
  }
  if (headerCount(request, 'authorization') > 1) {
    return reject('header_duplicate', {
      field: 'authorization',
      received: '(sent twice)',
      why: 'The header authorization was sent more than once.',
    });
  }
  const principal = authenticate(access, request.headers.authorization);
  if (isRejection(principal)) return principal;
  if (principal.kind !== 'node')
    return reject('role_forbidden', {
      field: 'Authorization',
      received: principal.role,
      why: 'Only the token of an enrolled node opens a session.',
    });
  const { nodeName = '', nextHash } = store.getGlobal('tokens', principal.tokenId)?.record ?? {};
  const node = store.forTenant(principal.tenantId).get('nodes', idOf('nodes', nodeName))?.record;
  if (node === undefined || node.tokenId !== principal.tokenId) {
    return reject('unauthenticated', {
      field: 'Authorization',
      received: redacted(request.headers.authorization),
      why: 'The node of this token no longer exists.',
    });
  }
  const secret = parseToken(request.headers.authorization?.split(' ').at(-1) ?? '')?.secret ?? '';
  const usesNext = nextHash !== undefined && matchesHash(access.tokenKey, secret, nextHash);
  return { tenantId: principal.tenantId, tokenId: principal.tokenId, node, usesNext };
}

/** As a session asks for: the token alone is not the node. Agents of the first release do not sign; theirs has to do. */
export function admitProvenNode(
  dependencies: Parameters<typeof admitNode>[0],
  request: IncomingMessage,
): AdmittedNode | Rejection {
  const admitted = admitNode(dependencies, request);
  if (isRejection(admitted) || admitted.node.features?.includes(RELAY_PROOF_FEATURE) !== true)
    return admitted;
  const { publicKey, sessionEpoch, name } = admitted.node;
  const proof = request.headers[PROOF_HEADER];
  const text = relayText(request.url ?? '', sessionEpoch, name);
  if (typeof proof === 'string' && signatureFits(publicKey, text, proof)) return admitted;
  return reject('unauthenticated', {
    field: PROOF_HEADER,
    received: redacted(proof),
    expected: "a signature by the node's key over this path and the epoch of its newest session",
    why: `The request does not prove the key of ${name}.`,
  });
}
