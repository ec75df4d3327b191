import { jsonLength } from '../model/text-bytes.ts';
import { isRecord } from '../model/values.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { type DeploymentField, type DeploymentInput, isJudged } from './rule.ts';

/** Of one field, as JSON; half of what the kernel takes for a single argument, so that what is stored can also be started. */
export const MAX_FIELD_BYTES = 64 * 1024;
/** Of a map or a list: many small entries take more memory than their text. */
export const MAX_ENTRIES = 1024;
/** Of a whole spec, as JSON. */
export const MAX_SPEC_BYTES = 256 * 1024;

/** Every field in which a client can put as much as it likes; `secrets` is counted without the material, which is not stored here. */
const BOUNDED = [
  'command',
  'environment',
  'composedEnvironment',
  'secrets',
  'labels',
  'healthCheck',
  'volumes',
  'placement',
  'dependsOn',
  'ports',
  'networks',
  'access',
] as const satisfies readonly DeploymentField[];

function stored(field: (typeof BOUNDED)[number], { draft }: DeploymentInput): unknown {
  if (field !== 'secrets') return draft[field];
  return draft.secrets?.map(({ values: _values, generate: _generate, ...reference }) => reference);
}

function entriesOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

/** Lists and maps one level down: `placement.constraints`, `healthCheck.command`. */
function mostEntries(field: string, value: unknown): { readonly field: string; readonly entries: number } {
  const own = { field, entries: entriesOf(value) };
  if (field !== 'placement' && field !== 'healthCheck' && field !== 'access') return own;
  const members = Object.entries(isRecord(value) ? value : {}).map(([key, member]) => ({
    field: `${field}.${key}`,
    entries: entriesOf(member),
  }));
  return members.reduce((most, one) => (one.entries > most.entries ? one : most), own);
}

function tooLarge(field: string, bytes: number, most: number): Rejection {
  return reject('field_too_large', {
    field,
    received: `(${bytes} bytes as JSON)`,
    expected: `at most ${most} bytes`,
    why:
      field === 'body'
        ? `All fields together are ${bytes} bytes as JSON and may be ${most}: files and large data belong in the image, in a volume or in a secret.`
        : `${field} is ${bytes} bytes as JSON and may be ${most}: files and large data belong in the image, in a volume or in a secret.`,
  });
}

/** Before every rule that reads the entries one by one, since that is what a large field would make expensive. */
export function sizesRule(input: DeploymentInput): Rejection | undefined {
  let whole = 0;
  for (const field of BOUNDED) {
    const value = stored(field, input);
    if (value === undefined) continue;
    const bytes = jsonLength(value);
    whole += bytes;
    if (!isJudged(input.judged, [field])) continue;
    const most = mostEntries(field, value);
    if (most.entries > MAX_ENTRIES)
      return reject('field_too_large', {
        field: most.field,
        received: `(${most.entries} entries)`,
        expected: `at most ${MAX_ENTRIES} entries`,
        why: `${most.field} has ${most.entries} entries and may have ${MAX_ENTRIES}.`,
      });
    if (bytes > MAX_FIELD_BYTES) return tooLarge(field, bytes, MAX_FIELD_BYTES);
  }
  return whole > MAX_SPEC_BYTES && isJudged(input.judged, BOUNDED)
    ? tooLarge('body', whole, MAX_SPEC_BYTES)
    : undefined;
}
