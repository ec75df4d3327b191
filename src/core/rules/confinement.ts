import { nearest } from '../schema/nearest.ts';
import { CAPABILITY_NAMES, capabilityName, EVERY_CAPABILITY, isContainerUser } from '../model/confinement.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import type { DeploymentInput } from './rule.ts';

export function userRule({ draft: { user } }: DeploymentInput): Rejection | undefined {
  if (user === undefined || isContainerUser(user)) return undefined;
  return reject('user_invalid', {
    field: 'user',
    received: received(user),
    why: 'A user is a number or a name, with a group after a colon if one is needed.',
  });
}

export function capabilitiesRule({ draft }: DeploymentInput): Rejection | undefined {
  const drop = draft.capabilities?.drop;
  if (drop === undefined) return undefined;
  const seen = new Set<string>();
  for (const [index, sent] of drop.entries()) {
    const field = `capabilities.drop[${index}]`;
    const name = capabilityName(sent);
    if (name === undefined) {
      const near = nearest(sent.slice(0, 64), [...CAPABILITY_NAMES, EVERY_CAPABILITY]);
      return reject('capability_unknown', {
        field,
        received: received(sent),
        ...(near === undefined ? {} : { expected: `${near}, or another capability of Linux, or ALL` }),
        why:
          near === undefined
            ? 'Linux has no capability of this name.'
            : `Linux has no capability of this name; did you mean ${near}?`,
      });
    }
    if (seen.has(name)) {
      return reject('capability_unknown', {
        field,
        received: received(sent),
        expected: 'each capability once',
        why: 'The list names this capability twice.',
      });
    }
    seen.add(name);
  }
  return undefined;
}
