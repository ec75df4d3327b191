import { SelectField, TextField } from './field.tsx';
import { type Draft, listOrNothing, textAt, textsAt, valueAt, withValue } from '../lib/draft.ts';
import { EnteredField } from './entered-field.tsx';
import { type Entry, ListEditor } from './list-editor.tsx';

const ANCHORS = [
  ['external', 'external: managed outside, never minted anew'],
  ['process', 'process: recreated with the container'],
] as const;

function anchorOptions(anchor: string): readonly (readonly [string, string])[] {
  return anchor === '' || ANCHORS.some(([value]) => value === anchor)
    ? ANCHORS
    : [...ANCHORS, [anchor, anchor]];
}

/** Keys to mint with the write; the answer tells of them, and the description keeps the reference alone. */
function withGenerated(entry: Entry, text: string): Entry {
  return withValue(entry, 'generate.keys', listOrNothing(text, ','));
}

/** References to secrets. Values are written on the page of secrets, or minted here; they are never shown. */
export function SecretFields({
  draft,
  onChange,
}: {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
}) {
  return (
    <ListEditor
      path="secrets"
      label="Secrets"
      one="secret"
      value={valueAt(draft, 'secrets')}
      fresh={{ anchor: 'external' }}
      onChange={(value) => onChange(withValue(draft, 'secrets', value))}
    >
      {(path, entry, change) => (
        <>
          <TextField
            mono
            path={`${path}.name`}
            label="Name"
            placeholder="DB"
            hint="Delivered as NAME_key"
            value={textAt(entry, 'name')}
            onChange={(value) => change(withValue(entry, 'name', value))}
          />
          <TextField
            mono
            path={`${path}.vault_path`}
            label="Path"
            placeholder="resources/db"
            value={textAt(entry, 'vault_path')}
            onChange={(value) => change(withValue(entry, 'vault_path', value))}
          />
          <SelectField
            path={`${path}.anchor`}
            label="Anchor"
            value={textAt(entry, 'anchor')}
            options={anchorOptions(textAt(entry, 'anchor'))}
            onChange={(value) => change({ ...entry, anchor: value })}
          />
          <EnteredField
            mono
            path={`${path}.generate`}
            label="Mint these keys"
            placeholder="password"
            hint="Only those that do not exist yet, with an external anchor"
            shown={textsAt(entry, 'generate.keys').join(', ')}
            onEnter={(value) => change(withGenerated(entry, value))}
          />
        </>
      )}
    </ListEditor>
  );
}
