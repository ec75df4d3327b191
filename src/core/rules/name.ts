import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';

export const MAX_NAME_LENGTH = 63;

/** Linear: reads every character once. */
const NAME = /^[a-z](?:[a-z0-9-]*[a-z0-9])?$/;

/** Of deployments, jobs, networks, volumes: a DNS label that begins with a letter. */
export function isName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && NAME.test(text);
}

/** Characters before length, then the names reserved for the store the control plane connects to. */
export function nameRule(
  name: string | null | undefined,
  reservedNames: readonly string[],
): Rejection | undefined {
  if (name === undefined || name === null || name === '') {
    return reject('name_required', {
      field: 'name',
      received: received(name ?? undefined),
      why: 'A name is required.',
    });
  }
  if (!NAME.test(name)) {
    return reject('deployment_name_invalid', {
      field: 'name',
      received: received(name),
      why: 'The name is used verbatim as container name, DNS alias, router id and storage key, so only lowercase letters, digits and inner hyphens are possible, starting with a letter.',
    });
  }
  if (name.length > MAX_NAME_LENGTH) {
    return reject('deployment_name_too_long', {
      field: 'name',
      received: received(name),
      why: `The name has ${name.length} characters; a DNS label has at most ${MAX_NAME_LENGTH}.`,
    });
  }
  if (reservedNames.includes(name)) {
    return reject('reserved_infrastructure_name', {
      field: 'name',
      received: received(name),
      expected: `any valid name but ${reservedNames.join(', ')}`,
      why: `${name} is reserved for the database that the control plane itself connects to.`,
    });
  }
  return undefined;
}
