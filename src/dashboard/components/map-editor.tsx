import { isRecord } from '../../core/model/values.ts';
import { useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { FieldRejection, useRejectionAt } from './field.tsx';

type Pair = readonly [key: string, value: string];

const LOOK =
  'min-w-0 rounded-md border border-line-strong bg-canvas px-2 font-mono text-xs placeholder:text-faint aria-invalid:border-bad';
const INPUT = `h-8 ${LOOK}`;
/** More lines of a value scroll. */
const MOST_LINES = 8;

function Row({
  path,
  pair: [key, value],
  keyLabel,
  valueLabel,
  options,
  hasLines,
  onChange,
  onRemove,
}: {
  readonly path: string;
  readonly pair: Pair;
  readonly keyLabel: string;
  readonly valueLabel: string;
  readonly options: readonly string[] | undefined;
  readonly hasLines: boolean;
  readonly onChange: (pair: Pair) => void;
  readonly onRemove: () => void;
}) {
  const found = useRejectionAt(`${path}.${key}`);
  const rejection = key === '' ? undefined : found;
  const said = {
    'aria-label': `${valueLabel} of ${key}`,
    'aria-invalid': rejection !== undefined,
    placeholder: valueLabel,
    value,
    spellCheck: false,
    autoComplete: 'off',
  };
  return (
    <li className="flex flex-col gap-1" data-field={`${path}.${key}`}>
      <span className="flex items-start gap-2">
        <input
          aria-label={keyLabel}
          placeholder={keyLabel}
          value={key}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange([event.target.value, value])}
          className={`w-2/5 ${INPUT}`}
        />
        {options === undefined && hasLines ? (
          // A field of one line would take the ends of lines out of a value that has several.
          <textarea
            {...said}
            rows={Math.min(MOST_LINES, value.split('\n').length)}
            onChange={(event) => onChange([key, event.target.value])}
            className={`min-h-8 flex-1 resize-none py-1.75 leading-4 ${LOOK}`}
          />
        ) : options === undefined ? (
          <input
            {...said}
            onChange={(event) => onChange([key, event.target.value])}
            className={`flex-1 ${INPUT}`}
          />
        ) : (
          <select
            aria-label={`${valueLabel} of ${key}`}
            value={value}
            onChange={(event) => onChange([key, event.target.value])}
            className={`flex-1 ${INPUT}`}
          >
            {options.map((option) => (
              <option key={option}>{option}</option>
            ))}
          </select>
        )}
        <IconButton icon="trash" label={`Remove ${key === '' ? 'this entry' : key}`} onClick={onRemove} />
      </span>
      {rejection === undefined ? null : <FieldRejection rejection={rejection} />}
    </li>
  );
}

function pairsOf(value: unknown): readonly Pair[] {
  return Object.entries(isRecord(value) ? value : {}).map(([key, entry]) => [key, String(entry)]);
}

/** A map of names to text. Rows are kept apart from the map while they are written: two may have one name for a moment. */
export function MapEditor({
  path,
  label,
  value,
  keyLabel = 'Name',
  valueLabel = 'Value',
  options,
  hasLines = false,
  onChange,
}: {
  readonly path: string;
  readonly label: string;
  readonly value: unknown;
  readonly keyLabel?: string;
  readonly valueLabel?: string;
  readonly options?: readonly string[];
  /** A value may have several lines. */
  readonly hasLines?: boolean;
  readonly onChange: (value: Readonly<Record<string, string>>) => void;
}) {
  const [pairs, setPairs] = useState(() => pairsOf(value));
  const change = (next: readonly Pair[]) => {
    setPairs(next);
    onChange(Object.fromEntries(next.filter(([key]) => key !== '')));
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-2" data-field={path}>
      <legend className="pb-1 text-xs font-medium">{label}</legend>
      <ul className="flex flex-col gap-2">
        {pairs.map((pair, at) => (
          <Row
            key={at}
            path={path}
            pair={pair}
            keyLabel={keyLabel}
            valueLabel={valueLabel}
            options={options}
            hasLines={hasLines}
            onChange={(next) => change(pairs.with(at, next))}
            onRemove={() => change(pairs.toSpliced(at, 1))}
          />
        ))}
      </ul>
      <span>
        <Button small tone="quiet" icon="plus" onClick={() => change([...pairs, ['', options?.[0] ?? '']])}>
          Add to {label.toLowerCase()}
        </Button>
      </span>
    </fieldset>
  );
}
