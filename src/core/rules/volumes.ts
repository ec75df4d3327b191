import { charactersIn } from '../model/characters.ts';
import { nearest } from '../schema/nearest.ts';
import type { VolumeMount } from '../model/deployment.ts';
import { isRecord } from '../model/values.ts';
import { received, redacted } from '../rejections/redaction.ts';
import { isRejection, reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import type { DeploymentInput } from './rule.ts';

const MOUNT_FIELDS = ['volumeId', 'volume', 'mountPath', 'readOnly'];
const VOLUME_ID = /^vol_[a-z0-9]{1,64}$/;

function malformed(index: number, field: string, value: unknown, expected: string, why: string): Rejection {
  return reject('volume_mount_shape', {
    field: field === '' ? `volumes[${index}]` : `volumes[${index}].${field}`,
    received: MOUNT_FIELDS.includes(field) ? received(value) : redacted(value),
    expected,
    why,
  });
}

const MAX_PATH = 4096;
export const MOUNT_PATH_FORM = `an absolute path below /, of at most ${MAX_PATH} characters, without colons and control characters, without empty, . and .. elements, and without a slash at its end`;

export function isMountPath(path: string): boolean {
  if (!path.startsWith('/') || charactersIn(path) > MAX_PATH) return false;
  // Mounts are not decoded by a shape, so half a surrogate pair gets here.
  if (!path.isWellFormed() || /[\u0000-\u001f:]/.test(path)) return false;
  const segments = path.slice(1).split('/');
  return segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

/** Every container has the kernel's own file systems there: an engine refuses the mount, or starts what cannot run. */
const KERNEL_PATH = /^\/(?:(?:proc|sys)(?:\/|$)|dev$)/;

function unresolved(index: number, { volume, volumeId }: Readonly<Record<string, unknown>>): Rejection {
  if (typeof volume !== 'string')
    return malformed(index, 'volume', volume, 'the name of a volume', 'A mount names its volume by a text.');
  if (volumeId !== undefined)
    return malformed(
      index,
      'volume',
      volume,
      'volume or volumeId, or both of the same volume',
      'The name and the id are not of the same volume.',
    );
  return reject('volume_not_found', {
    field: `volumes[${index}].volume`,
    received: received(volume),
    expected: 'the name of a volume of the tenant',
    why: 'The tenant has no volume of this name.',
  });
}

export function isKernelPath(path: string): boolean {
  return KERNEL_PATH.test(path);
}

function readMount(index: number, mount: unknown): Pick<VolumeMount, 'volumeId' | 'mountPath'> | Rejection {
  if (!isRecord(mount)) {
    return malformed(
      index,
      '',
      mount,
      '{"volumeId": "vol_…", "mountPath": "/data", "readOnly": false}',
      'A mount is an object.',
    );
  }
  for (const key of Object.keys(mount)) {
    if (MOUNT_FIELDS.includes(key)) continue;
    // What an unknown field holds is not known either, so it is never echoed.
    const near = nearest(key, MOUNT_FIELDS);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    return malformed(
      index,
      key,
      mount[key],
      `one of: ${MOUNT_FIELDS.join(', ')}`,
      `A mount has no field ${key}${hint}`,
    );
  }
  const { volumeId, mountPath, readOnly } = mount;
  // A name that is a volume's was replaced by its id before.
  if (Object.hasOwn(mount, 'volume')) return unresolved(index, mount);
  if (typeof volumeId !== 'string' || !VOLUME_ID.test(volumeId)) {
    return malformed(
      index,
      'volumeId',
      volumeId,
      'the typed id of a volume: vol_…',
      'A mount names a distributed volume by its typed id, or by its name in volume.',
    );
  }
  if (typeof mountPath !== 'string' || !isMountPath(mountPath)) {
    return malformed(
      index,
      'mountPath',
      mountPath,
      MOUNT_PATH_FORM,
      'The path inside the container must be absolute and plain.',
    );
  }
  if (isKernelPath(mountPath)) {
    return malformed(
      index,
      'mountPath',
      mountPath,
      'a path outside /proc and /sys, and not /dev itself',
      'No engine starts a container with a volume in the place of a file system of the kernel.',
    );
  }
  if (readOnly !== undefined && typeof readOnly !== 'boolean') {
    return malformed(index, 'readOnly', readOnly, 'true or false', 'readOnly is a boolean.');
  }
  return { volumeId, mountPath };
}

export function volumeMountsRule({ draft, limits }: DeploymentInput): Rejection | undefined {
  const { volumes: mounts = [] } = draft;
  if (mounts.length === 0) return undefined;
  if (!limits.volumesEnabled) {
    return reject('volume_binding_unavailable', {
      field: 'volumes',
      received: received(mounts),
      why: 'Volume management is switched off on this control plane (dvm.enabled is false).',
    });
  }
  const paths = new Set<string>();
  const ids = new Set<string>();
  for (const [index, mount] of mounts.entries()) {
    const read = readMount(index, mount);
    if (isRejection(read)) return read;
    const { volumeId, mountPath } = read;
    if (paths.has(mountPath)) {
      return malformed(index, 'mountPath', mountPath, 'a path used once', 'Two mounts have the same path.');
    }
    if (ids.has(volumeId)) {
      return malformed(index, 'volumeId', volumeId, 'each volume once', 'The volume is mounted twice.');
    }
    paths.add(mountPath);
    ids.add(volumeId);
  }
  return undefined;
}
