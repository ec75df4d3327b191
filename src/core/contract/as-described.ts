import { isRecord } from '../model/values.ts';

/** What a document leaves out was filled in by the control plane: only what it says is compared. */
function isAsDescribed(said: unknown, stored: unknown): boolean {
  if (said === null) return stored === undefined;
  if (typeof said !== 'object') return said === stored;
  if (Array.isArray(said))
    return (
      Array.isArray(stored) &&
      said.length === stored.length &&
      said.every((value, at) => isAsDescribed(value, stored[at]))
    );
  if (!isRecord(stored)) return false;
  return Object.entries(said).every(([key, value]) => isAsDescribed(value, stored[key]));
}

/** Fields of a document that say something else than what is stored. */
export function differingFields(
  document: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
): readonly string[] {
  return Object.keys(document).filter((key) => !isAsDescribed(document[key], stored[key]));
}
