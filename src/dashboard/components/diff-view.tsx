import { shownValue } from '../lib/format.ts';
import type { FieldChange } from '../lib/records.ts';

/** Field by field: what was, what is. */
export function DiffView({ changes }: { readonly changes: readonly FieldChange[] }) {
  if (changes.length === 0) return <p className="text-muted">No field differs.</p>;
  return (
    <ul className="flex flex-col gap-2.5 font-mono text-xs">
      {changes.map(({ field, from, to }) => (
        <li key={field}>
          <p className="pb-0.5 font-semibold">{field}</p>
          {from === null ? null : (
            <p className="rounded-t bg-bad-soft px-2 py-1 whitespace-pre-wrap text-bad">
              <span aria-label="was">−</span> {shownValue(from)}
            </p>
          )}
          {to === null ? null : (
            <p className="rounded-b bg-ok-soft px-2 py-1 whitespace-pre-wrap text-ok">
              <span aria-label="is">+</span> {shownValue(to)}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
