import type { StreamEnd, StreamOperation } from '../../core/contract/agent-protocol.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import type { StreamItem } from '../dispatch/streams.ts';

/** What control planes of one store say to each other, beside what they read in it. */
export const PEER_METHOD = 'POST';
export const PEER_STREAM_PATH = '/internal/v1/streams';
export const PEER_QUESTION_PATH = '/internal/v1/questions';

export interface PeerStreamRequest {
  readonly tenantId: TenantId;
  readonly node: string;
  readonly operation: StreamOperation;
}

/** A line of the answer. */
export type PeerStreamLine =
  | { readonly item: StreamItem }
  | { readonly end: Omit<StreamEnd, 'type' | 'streamId'> };

export type PeerQuestion =
  /** Does the store answer you? */
  | { readonly kind: 'store' }
  | { readonly kind: 'usage'; readonly tenantId: TenantId; readonly nodes: readonly string[] }
  /** How old are the copies that the primaries on this node told you of? */
  | { readonly kind: 'copies'; readonly tenantId: TenantId; readonly node: NodeName }
  | { readonly kind: 'scaling'; readonly tenantId: TenantId; readonly deployment: string };
