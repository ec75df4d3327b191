import { isRecord } from '../../core/model/values.ts';
import { type ReactNode, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { FieldRejection, useRejectionAt } from './field.tsx';

export type Entry = Readonly<Record<string, unknown>>;

/** A rejection of the list itself, not of a field of one of its entries. */
function ListRejection({ path }: { readonly path: string }) {
  const rejection = useRejectionAt(path);
  return rejection === undefined || rejection.field !== path ? null : (
    <FieldRejection rejection={rejection} />
  );
}

/** A list of records, each with the fields that `children` draws for its path. */
export function ListEditor({
  path,
  label,
  one,
  value,
  fresh,
  onChange,
  children,
}: {
  readonly path: string;
  readonly label: string;
  /** What one entry is called. */
  readonly one: string;
  readonly value: unknown;
  readonly fresh: Entry;
  readonly onChange: (entries: readonly unknown[]) => void;
  readonly children: (entryPath: string, entry: Entry, change: (entry: Entry) => void) => ReactNode;
}) {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  // Entries have no names of their own; their fields must not change places when one before them goes.
  const [ids, setIds] = useState(() => entries.map((_, at) => at));
  const add = () => {
    setIds([...ids, Math.max(-1, ...ids) + 1]);
    onChange([...entries, fresh]);
  };
  const remove = (at: number) => {
    setIds(ids.toSpliced(at, 1));
    onChange(entries.toSpliced(at, 1));
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-3" data-field={path}>
      <legend className="sr-only">{label}</legend>
      {entries.map((entry, at) => (
        <div key={ids[at] ?? at} className="flex items-start gap-2 rounded-md border bg-sunken/50 p-3">
          <div className="grid min-w-0 flex-1 gap-3 sm:grid-cols-2">
            {children(`${path}[${at}]`, isRecord(entry) ? entry : {}, (next) =>
              onChange(entries.with(at, next)),
            )}
          </div>
          <IconButton icon="trash" label={`Remove ${one} ${at + 1}`} onClick={() => remove(at)} />
        </div>
      ))}
      <ListRejection path={path} />
      <span>
        <Button small tone="quiet" icon="plus" onClick={add}>
          Add {one}
        </Button>
      </span>
    </fieldset>
  );
}
