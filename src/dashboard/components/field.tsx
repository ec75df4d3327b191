import { type ComponentProps, createContext, type ReactNode, use, useId, useMemo } from 'react';
import { type RejectionRecord } from '../../sdk/index.ts';
import { concerns } from '../lib/rejection.ts';
import { RejectionNotice } from './error-notice.tsx';

/** Of the last attempt: what it was refused with, or all that was found. */
export type Refused = RejectionRecord | readonly RejectionRecord[] | undefined;

const NONE: readonly RejectionRecord[] = [];
const RejectionContext = createContext(NONE);

export function allOf(refused: Refused): readonly RejectionRecord[] {
  return refused === undefined ? NONE : [refused].flat();
}

/** The fields inside show the rejections of the last attempt where they belong. */
export function FormRejection({
  rejection,
  children,
}: {
  readonly rejection: Refused;
  readonly children: ReactNode;
}) {
  return <RejectionContext value={allOf(rejection)}>{children}</RejectionContext>;
}

/** The rejection of the last attempt, if one is about this path or something below it. */
export function useRejectionAt(path: string): RejectionRecord | undefined {
  return use(RejectionContext).find(({ field }) => concerns(path, field));
}

/** What was refused, in short, at its input: the reason, the accepted form, and the page about it. */
export function FieldRejection({
  id,
  rejection,
}: {
  readonly id?: string;
  readonly rejection: RejectionRecord;
}) {
  return (
    <span id={id} role="alert" data-code={rejection.code} className="block text-xs text-bad">
      <span className="block font-medium">{rejection.why}</span>
      <span className="block whitespace-pre-wrap">
        Expected: <code className="font-mono">{rejection.expected}</code>
      </span>
      <a href={rejection.doc} target="_blank" rel="noreferrer" className="underline">
        About {rejection.code}
      </a>
    </span>
  );
}

export interface FieldProps {
  /** Path of the field in the record, as rejections name it. */
  readonly path: string;
  readonly label: string;
  readonly hint?: ReactNode;
}

const INPUT =
  'w-full rounded-md border bg-canvas px-3 placeholder:text-faint disabled:opacity-60 aria-invalid:border-bad border-line-strong';

interface Wiring {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby'?: string;
}

/** A label, an input, a hint, and the rejection when there is one. */
export function Field({
  path,
  label,
  hint,
  children,
}: FieldProps & { readonly children: (wiring: Wiring) => ReactNode }) {
  const id = useId();
  const rejection = useRejectionAt(path);
  const wiring = useMemo<Wiring>(() => {
    const described = [hint === undefined ? '' : `${id}-hint`, rejection === undefined ? '' : `${id}-why`];
    const text = described.filter((part) => part !== '').join(' ');
    return {
      id,
      'aria-invalid': rejection !== undefined,
      ...(text === '' ? {} : { 'aria-describedby': text }),
    };
  }, [id, hint, rejection]);
  return (
    <div className="flex min-w-0 flex-col gap-1" data-field={path}>
      <label htmlFor={id} className="text-xs font-medium">
        {label}
      </label>
      {children(wiring)}
      {hint === undefined ? null : (
        <span id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </span>
      )}
      {rejection === undefined ? null : <FieldRejection id={`${id}-why`} rejection={rejection} />}
    </div>
  );
}

export function TextField({
  path,
  label,
  hint,
  mono = false,
  onChange,
  ...rest
}: FieldProps & {
  readonly mono?: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
} & Omit<ComponentProps<'input'>, 'onChange' | 'className' | 'value'>) {
  return (
    <Field path={path} label={label} hint={hint}>
      {(wiring) => (
        <input
          autoComplete="off"
          spellCheck={false}
          {...rest}
          {...wiring}
          onChange={(event) => onChange(event.target.value)}
          className={`h-9 ${INPUT} ${mono ? 'font-mono text-xs' : ''}`}
        />
      )}
    </Field>
  );
}

export function TextAreaField({
  path,
  label,
  hint,
  onChange,
  ...rest
}: FieldProps & { readonly value: string; readonly onChange: (value: string) => void } & Omit<
    ComponentProps<'textarea'>,
    'onChange' | 'className' | 'value'
  >) {
  return (
    <Field path={path} label={label} hint={hint}>
      {(wiring) => (
        <textarea
          spellCheck={false}
          rows={4}
          {...rest}
          {...wiring}
          onChange={(event) => onChange(event.target.value)}
          className={`py-2 font-mono text-xs ${INPUT}`}
        />
      )}
    </Field>
  );
}

export function SelectField({
  path,
  label,
  hint,
  value,
  options,
  onChange,
}: FieldProps & {
  readonly value: string;
  readonly options: readonly (readonly [value: string, title: string])[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <Field path={path} label={label} hint={hint}>
      {(wiring) => (
        <select
          {...wiring}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className={`h-9 ${INPUT}`}
        >
          {options.map(([option, title]) => (
            <option key={option} value={option}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** For a rejection that no field of the form is about. `paths` are those that the form has. */
export function UnclaimedRejection({ paths }: { readonly paths: readonly string[] }) {
  return use(RejectionContext)
    .filter(({ field }) => !paths.some((path) => concerns(path, field)))
    .map((rejection) => <RejectionNotice key={rejection.field} rejection={rejection} />);
}
