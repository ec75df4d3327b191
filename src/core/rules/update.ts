import { parseDuration } from '../model/quantity.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { type DeploymentInput, invalid } from './rule.ts';

export function updateRule({ draft }: DeploymentInput): Rejection | undefined {
  const { update } = draft;
  if (update === undefined) return undefined;
  const { maxSurge, maxUnavailable, progressDeadline, onFailure } = update;
  if (maxSurge !== undefined && (maxSurge < 0 || maxSurge > 100)) {
    return invalid(
      'update_invalid',
      'update.maxSurge',
      maxSurge,
      '0 to 100',
      'maxSurge counts instances above the wanted number.',
    );
  }
  if (maxUnavailable !== undefined && (maxUnavailable < 0 || maxUnavailable > 100)) {
    return invalid(
      'update_invalid',
      'update.maxUnavailable',
      maxUnavailable,
      '0 to 100',
      'maxUnavailable counts instances that may be missing.',
    );
  }
  if ((maxSurge ?? 1) === 0 && (maxUnavailable ?? 0) === 0) {
    return invalid(
      'update_invalid',
      'update.maxSurge',
      maxSurge,
      'at least 1, or maxUnavailable at least 1',
      'With both at 0 an update can never make a step.',
    );
  }
  const deadline = progressDeadline === undefined ? undefined : parseDuration(progressDeadline);
  if (
    progressDeadline !== undefined &&
    (deadline === undefined || deadline < 1000 || deadline > 24 * 3_600_000)
  ) {
    return invalid(
      'update_invalid',
      'update.progressDeadline',
      progressDeadline,
      'a duration from 1s to 24h, e.g. 5m',
      'The deadline is not a duration in range.',
    );
  }
  if (onFailure !== undefined && onFailure !== 'rollback' && onFailure !== 'leave') {
    return invalid(
      'update_invalid',
      'update.onFailure',
      onFailure,
      'rollback or leave',
      'onFailure says what happens to a rollout past its deadline.',
    );
  }
  return undefined;
}
