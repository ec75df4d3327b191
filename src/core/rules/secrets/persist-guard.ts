import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { redacted } from '../../rejections/redaction.ts';

/**
 * The last look before a spec is stored: write-time fields must have been stripped. The stored type has no place for them,
 * so a refusal here means a defect of the server (500), and nothing is stored.
 */
export function checkNothingPersists(secrets: readonly unknown[]): Rejection | undefined {
  for (const [index, entry] of secrets.entries()) {
    if (typeof entry !== 'object' || entry === null) continue;
    if ('values' in entry && entry.values !== undefined) {
      return reject('secret_material_would_persist', {
        field: `secrets[${index}].values`,
        received: redacted(entry.values),
        why: 'Material reached the point where the spec is stored. This is a defect of the control plane; nothing was stored.',
      });
    }
    if ('generate' in entry && entry.generate !== undefined) {
      return reject('secret_generate_would_persist', {
        field: `secrets[${index}].generate`,
        received: redacted(entry.generate),
        why: 'A generate block reached the point where the spec is stored. This is a defect of the control plane; nothing was stored.',
      });
    }
  }
  return undefined;
}
