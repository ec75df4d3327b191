import { type Permission, rolesThatMay } from '../../core/model/permission.ts';

/** Who may, for those who may not: the smallest role first. */
export function whoMay(permission: Permission): string {
  return `Your role may not: ask somebody who is ${rolesThatMay([permission]).toReversed().join(' or ')}.`;
}
