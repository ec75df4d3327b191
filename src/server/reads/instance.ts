import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';

export function instanceNotFound(id: string): Rejection {
  return reject('instance_not_found', {
    field: 'instance',
    received: received(id),
    why: 'The deployment has no instance of this id.',
  });
}
