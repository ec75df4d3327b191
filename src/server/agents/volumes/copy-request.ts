import type { VolumeCopyHeader } from '../../../core/protocol/agent-protocol.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { TenantStore } from '../../store/store.ts';
import { idOf } from '../../store/record-ids.ts';

export interface CopyRequest {
  readonly volumeId: string;
  readonly target: string;
  readonly epoch: number;
  readonly copy: VolumeCopyHeader;
}

const COPY_PATH = /^\/agent\/v1\/volumes\/([A-Za-z0-9_.-]{1,128})\/copies\/([a-z0-9][a-z0-9.-]{0,62})$/;
const RELAY_PATH = /^\/agent\/v1\/relay\/([A-Za-z0-9_-]{16,64})$/;
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

export type RelayPath =
  | {
      readonly kind: 'copy';
      readonly volumeId: string;
      readonly target: string;
      readonly query: URLSearchParams;
    }
  | { readonly kind: 'relay'; readonly relayId: string };

/** Undefined: not a path of this endpoint. */
export function relayPath(url: string): RelayPath | undefined {
  const [path = '', query = ''] = url.split('?', 2);
  const [, volumeId, target] = COPY_PATH.exec(path) ?? [];
  if (volumeId !== undefined && target !== undefined) {
    return { kind: 'copy', volumeId, target, query: new URLSearchParams(query) };
  }
  const relayId = RELAY_PATH.exec(path)?.[1];
  return relayId === undefined ? undefined : { kind: 'relay', relayId };
}

export function readCopyRequest({
  volumeId,
  target,
  query,
}: Extract<RelayPath, { readonly kind: 'copy' }>): CopyRequest | Rejection {
  const count = (name: string): number | undefined => {
    const text = query.get(name) ?? '';
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  };
  const [epoch, sequence, parent, parentEpoch] = ['epoch', 'sequence', 'parent', 'parentEpoch'].map(count);
  const engine = query.get('engine') ?? '';
  const takenAt = query.get('takenAt') ?? '';
  const malformed = (field: string): Rejection =>
    reject('query_parameter_invalid', {
      field,
      received: '(malformed)',
      expected: 'epoch, sequence, engine, takenAt, and parent with parentEpoch or neither',
      why: `The query parameter ${field} does not describe a copy.`,
    });
  if (epoch === undefined) return malformed('epoch');
  if (sequence === undefined) return malformed('sequence');
  if (!NAME.test(engine)) return malformed('engine');
  if (takenAt.length > 40 || Number.isNaN(Date.parse(takenAt))) return malformed('takenAt');
  if (
    query.has('parent') !== query.has('parentEpoch') ||
    (query.has('parent') && (parent ?? parentEpoch) === undefined)
  )
    return malformed('parent');
  const built = parent === undefined || parentEpoch === undefined ? {} : { parent, parentEpoch };
  return { volumeId, target, epoch, copy: { engine, sequence, takenAt, ...built } };
}

/** Only the primary of record, under the epoch of record, to a node that keeps a copy by record. */
export function copyRejection(
  store: TenantStore,
  sender: string,
  { volumeId, target, epoch }: CopyRequest,
): Rejection | undefined {
  const volume = store.get('volumes', idOf('volumes', volumeId))?.record;
  if (volume === undefined) {
    return reject('volume_not_found', {
      field: 'volumeId',
      received: volumeId,
      why: 'The tenant of this node has no such volume.',
    });
  }
  if (volume.primaryNodeId !== sender || volume.epoch !== epoch) {
    return reject('role_forbidden', {
      field: 'epoch',
      received: String(epoch),
      expected: 'the primary of the volume, under its present epoch',
      why: `Node ${sender} is not the primary of this volume under epoch ${epoch}.`,
    });
  }
  if (!volume.replicas.some(({ nodeId }) => nodeId === target)) {
    return reject('role_forbidden', {
      field: 'node',
      received: target,
      expected: 'a node that keeps a copy of the volume',
      why: `Node ${target} keeps no copy of this volume.`,
    });
  }
  return undefined;
}
