import type { VolumeDraft } from '../contract/volume-body.ts';
import { isIntegerWithin, isOneOf } from '../model/values.ts';
import {
  SMALLEST_REPLICATED_BYTES,
  type VolumeClass,
  type VolumeRecord,
  type VolumeType,
} from '../model/volume.ts';
import { received } from '../rejections/redaction.ts';
import { isRejection, reject, rejectionIn } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { isName } from './name.ts';
import { isMountPath, MOUNT_PATH_FORM } from './volumes.ts';
import type { Rule } from './rule.ts';

const CLASSES: readonly VolumeClass[] = ['ephemeral', 'replicated', 'object'];
const TYPES: readonly VolumeType[] = ['volume', 'bind', 'tmpfs'];
/** More copies than any tenant has nodes are a mistake. */
export const MAX_COPIES = 100;

const readName = ({ name }: VolumeDraft): string | Rejection =>
  typeof name === 'string' && isName(name)
    ? name
    : reject('volume_name_invalid', {
        field: 'name',
        received: received(name),
        why: 'The name becomes part of paths and of the volume’s name in the container engine.',
      });

const readClass = ({ class: kind }: VolumeDraft): VolumeClass | Rejection =>
  isOneOf(CLASSES, kind)
    ? kind
    : reject('volume_class_unknown', {
        field: 'class',
        received: received(kind),
        why: 'The class decides what happens to the bytes when a node is lost, so it has no default.',
      });

function readType({ class: kind, type }: VolumeDraft): VolumeType | Rejection {
  if (!isOneOf(TYPES, type)) {
    return reject('volume_type_unknown', {
      field: 'type',
      received: received(type),
      why: 'There is no such mount type.',
    });
  }
  if (type === 'volume' || kind === 'ephemeral') return type;
  return reject('volume_type_unknown', {
    field: 'type',
    received: received(type),
    expected: `"volume", or the class ephemeral`,
    why: `A ${type} is on one machine and cannot be of the class ${String(kind)}.`,
  });
}

/** Also after a resize: the record must always be one that could be written. */
export function readVolumeSize(kind: VolumeClass, sizeBytes: unknown): number | Rejection {
  const smallest = kind === 'replicated' ? SMALLEST_REPLICATED_BYTES : 1;
  if (isIntegerWithin(sizeBytes, smallest, Number.MAX_SAFE_INTEGER)) return sizeBytes;
  return reject('volume_size_invalid', {
    field: 'sizeBytes',
    received: received(sizeBytes),
    expected: `an integer number of bytes from ${smallest} to ${Number.MAX_SAFE_INTEGER}`,
    why: sizeProblem(kind, sizeBytes),
  });
}

function sizeProblem(kind: VolumeClass, sizeBytes: unknown): string {
  if (typeof sizeBytes === 'string') return 'The size is a plain number of bytes, not a text.';
  if (typeof sizeBytes === 'number' && sizeBytes > Number.MAX_SAFE_INTEGER)
    return 'No volume may be so large.';
  return kind === 'replicated'
    ? 'A replicated volume is a file system of its own and needs at least 128 MiB.'
    : 'The size is a whole number of bytes above 0.';
}

const hostPathRule: Rule<VolumeDraft> = ({ type, hostPath }) => {
  if (type !== 'bind' && (hostPath === undefined || hostPath === null)) return undefined;
  if (type === 'bind' && typeof hostPath === 'string' && isMountPath(hostPath)) return undefined;
  return reject('volume_host_path_invalid', {
    field: 'hostPath',
    received: received(hostPath),
    ...(type === 'bind' && { expected: MOUNT_PATH_FORM }),
    why:
      type === 'bind'
        ? 'A bind names the directory of the host by an absolute, plain path.'
        : 'Only a volume of the type bind has a host path.',
  });
};

const copiesRule: Rule<VolumeDraft> = ({ class: kind, replicas }) => {
  if (replicas === undefined || (replicas === 0 && kind !== 'replicated')) return undefined;
  if (kind !== 'replicated') {
    return reject('volume_not_replicated', {
      field: 'replicas',
      received: received(replicas),
      expected: 'no replicas, or the class replicated',
      why: `A volume of the class ${String(kind)} has no copies on other nodes.`,
    });
  }
  if (replicas >= 0 && replicas <= MAX_COPIES) return undefined;
  return reject('field_type_invalid', {
    field: 'replicas',
    received: received(replicas),
    expected: `an integer from 0 to ${MAX_COPIES}`,
    why: 'It is the number of copies beside the primary.',
  });
};

export type NewVolume = Pick<VolumeRecord, 'name' | 'class' | 'type' | 'sizeBytes'>;

/** What the rules leave of a draft: in the order of the fields, the first rejection wins. */
/** What `readVolume` reads one after the other. */
export const volumeRules: readonly Rule<VolumeDraft>[] = [
  (draft) => rejectionIn(readName(draft)),
  (draft) => rejectionIn(readClass(draft)),
  (draft) => rejectionIn(readType(draft)),
  (draft) => {
    const kind = readClass(draft);
    return isRejection(kind) ? undefined : rejectionIn(readVolumeSize(kind, draft.sizeBytes));
  },
  copiesRule,
  hostPathRule,
];

export function readVolume(draft: VolumeDraft): NewVolume | Rejection {
  const name = readName(draft);
  if (isRejection(name)) return name;
  const kind = readClass(draft);
  if (isRejection(kind)) return kind;
  const type = readType(draft);
  if (isRejection(type)) return type;
  const sizeBytes = readVolumeSize(kind, draft.sizeBytes);
  if (isRejection(sizeBytes)) return sizeBytes;
  return copiesRule(draft) ?? hostPathRule(draft) ?? { name, class: kind, type, sizeBytes };
}
