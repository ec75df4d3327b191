import { graceMs, STOP_SIGNALS } from '../model/stop.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { nearest } from '../schema/nearest.ts';
import type { DeploymentInput } from './rule.ts';

export function stopRule({ draft: { stop } }: DeploymentInput): Rejection | undefined {
  const { signal, grace } = stop ?? {};
  if (signal !== undefined && !STOP_SIGNALS.includes(signal)) {
    const near = nearest(`SIG${signal.slice(0, 32).toUpperCase().replace(/^SIG/, '')}`, STOP_SIGNALS);
    return reject('stop_invalid', {
      field: 'stop.signal',
      received: received(signal),
      expected: `one of: ${STOP_SIGNALS.join(', ')}`,
      why: `No signal of this name ends a container${near === undefined ? '.' : `; did you mean ${near}?`}`,
    });
  }
  if (grace === undefined || graceMs(grace) !== undefined) return undefined;
  return reject('stop_invalid', {
    field: 'stop.grace',
    received: received(grace),
    expected: 'a duration from 1s to 1h such as 30s or 2m',
    why: 'stop.grace is how long the container has to end after the signal; then it is killed.',
  });
}
