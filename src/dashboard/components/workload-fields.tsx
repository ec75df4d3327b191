import { type ReactNode, useEffect, useId, useState } from 'react';
import { useRecords } from '../app/use-records.ts';
import {
  comesBack,
  type Draft,
  listOrNothing,
  numberOrText,
  textAt,
  textsAt,
  valueAt,
  withValue,
} from '../lib/draft.ts';
import type { Volume } from '../lib/records.ts';
import { EnteredArea, EnteredField } from './entered-field.tsx';
import { SelectField, TextField, useRejectionAt } from './field.tsx';
import { Icon } from './icon.tsx';
import { ListEditor } from './list-editor.tsx';
import { MapEditor } from './map-editor.tsx';

/** What deployments and jobs are both described by, as parts of a form. */
export interface FormPart {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
}

/** A part of the form that opens when it has content or a rejection. */
export function Section({
  title,
  note,
  paths,
  draft,
  children,
}: {
  readonly title: string;
  readonly note: string;
  readonly paths: readonly string[];
  readonly draft: Draft;
  readonly children: ReactNode;
}) {
  const id = useId();
  const [first = '', second = first, third = first] = paths;
  const refused = [useRejectionAt(first), useRejectionAt(second), useRejectionAt(third)].some(
    (one) => one !== undefined,
  );
  const isFilled = paths.some((path) => valueAt(draft, path) !== undefined);
  // Opened by content or a refusal, closed by nobody but the user: it must not close while a field is being emptied.
  const [isOpen, setOpen] = useState(isFilled);
  useEffect(() => {
    if (refused) setOpen(true);
  }, [refused]);
  return (
    <details
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className="group border-t first:border-t-0"
    >
      <summary className="flex cursor-pointer list-none items-center gap-2 px-4 py-3 hover:bg-hover">
        <span className="text-muted transition-transform group-open:rotate-90">
          <Icon name="chevron" className="size-4" />
        </span>
        <span className="min-w-0 flex-1">
          <span id={id} className="block font-medium">
            {title}
          </span>
          <span className="block text-xs text-muted">{note}</span>
        </span>
        {isFilled ? <span className="text-xs text-accent">set</span> : null}
      </summary>
      <div role="group" aria-labelledby={id} className="flex flex-col gap-4 px-4 pt-1 pb-5 sm:pl-10">
        {children}
      </div>
    </details>
  );
}

export function useFields({ draft, onChange }: FormPart) {
  const set = (path: string, value: unknown) => onChange(withValue(draft, path, value));
  return {
    set,
    text: (path: string) => ({
      path,
      value: textAt(draft, path),
      onChange: (value: string) => set(path, value),
    }),
    number: (path: string) => ({
      path,
      shown: textAt(draft, path),
      onEnter: (text: string) => set(path, numberOrText(text)),
    }),
    list: (path: string, separator: string, joined = `${separator} `) => ({
      path,
      shown: textsAt(draft, path).join(joined),
      onEnter: (text: string) => set(path, listOrNothing(text, separator)),
    }),
  };
}

/** Of arguments, one a line. Where they are no such lines they are shown and not edited: typing would make others of them. */
export function useLines(draft: Draft, path: string, hint: string) {
  const [isEdited] = useState(() => comesBack(textsAt(draft, path), '\n'));
  if (isEdited) return { hint };
  return {
    disabled: true,
    hint: 'An argument has several lines, is empty or has spaces around it: change it as YAML.',
  };
}

export function CommandField({ part }: { readonly part: FormPart }) {
  const { list } = useFields(part);
  const lines = useLines(part.draft, 'command', 'One argument per line; empty takes that of the image.');
  return <EnteredArea label="Command" rows={3} {...list('command', '\n', '\n')} {...lines} />;
}

export function Resources({ part }: { readonly part: FormPart }) {
  const { text, number } = useFields(part);
  return (
    <div className="grid gap-4 sm:grid-cols-5">
      <EnteredField
        label="CPU requested"
        {...number('resources.requests.cpu')}
        placeholder="0.5"
        hint="Cores"
      />
      <TextField label="Memory requested" {...text('resources.requests.memory')} placeholder="256Mi" />
      <TextField label="Disk requested" {...text('resources.requests.disk')} placeholder="none" />
      <EnteredField label="CPU limit" {...number('resources.limits.cpu')} placeholder="none" hint="Cores" />
      <TextField label="Memory limit" {...text('resources.limits.memory')} placeholder="none" />
    </div>
  );
}

export function Confinement({ part }: { readonly part: FormPart }) {
  const { text, list, set } = useFields(part);
  const readOnly = valueAt(part.draft, 'readOnlyRootFilesystem');
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <TextField
        label="User"
        {...text('user')}
        placeholder="that of the image"
        hint="uid, uid:gid or a name"
      />
      <SelectField
        path="readOnlyRootFilesystem"
        label="Root file system"
        value={readOnly === true ? 'true' : ''}
        options={[
          ['', 'Read and write'],
          ['true', 'Read only'],
        ]}
        onChange={(value) => set('readOnlyRootFilesystem', value === 'true' ? true : undefined)}
      />
      <EnteredField
        label="Capabilities given up"
        {...list('capabilities.drop', ',')}
        placeholder="none"
        hint="Names such as CHOWN; ALL leaves none."
      />
    </div>
  );
}

export function Placement({ part }: { readonly part: FormPart }) {
  const { text, list, set } = useFields(part);
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField label="Country" {...text('placement.residency.country')} placeholder="DE" />
        <TextField label="Region" {...text('placement.residency.region')} placeholder="eu" />
        <EnteredField
          label="Blocked countries"
          {...list('placement.residency.blockedCountries', ',')}
          placeholder="RU, BY"
        />
        <TextField label="Node" {...text('nodeId')} hint="Empty: the scheduler chooses." />
        <div className="sm:col-span-2">
          <EnteredField
            label="Not on a node with"
            {...list('placement.antiAffinity', ',')}
            hint="Names of deployments; its own spreads its instances."
          />
        </div>
      </div>
      <MapEditor
        path="placement.constraints"
        label="Node labels"
        value={valueAt(part.draft, 'placement.constraints')}
        onChange={(value) => set('placement.constraints', value)}
      />
    </>
  );
}

/** By name; one that is not there stays as it was written. */
function volumeOptions(
  volumes: readonly Volume[],
  chosen: string,
): readonly (readonly [id: string, title: string])[] {
  const known = volumes.map(({ id, name, class: kind }) => [id, `${name} (${kind})`] as const);
  if (chosen === '') return [['', 'choose one'], ...known];
  return known.some(([id]) => id === chosen) ? known : [...known, [chosen, chosen]];
}

export function Volumes({ part }: { readonly part: FormPart }) {
  const { set } = useFields(part);
  const { data: known = [] } = useRecords('volumes', 'GET /api/v1/dvm/volumes');
  return (
    <ListEditor
      path="volumes"
      label="Volumes"
      one="volume"
      value={valueAt(part.draft, 'volumes')}
      fresh={{ readOnly: false }}
      onChange={(value) => set('volumes', value)}
    >
      {(path, entry, change) => (
        <>
          <SelectField
            path={`${path}.volumeId`}
            label="Volume"
            value={textAt(entry, 'volumeId')}
            options={volumeOptions(known, textAt(entry, 'volumeId'))}
            onChange={(value) => change(withValue(entry, 'volumeId', value))}
          />
          <TextField
            mono
            path={`${path}.mountPath`}
            label="Path in the container"
            placeholder="/data"
            value={textAt(entry, 'mountPath')}
            onChange={(value) => change(withValue(entry, 'mountPath', value))}
          />
          <SelectField
            path={`${path}.readOnly`}
            label="Access"
            value={entry['readOnly'] === true ? 'true' : 'false'}
            options={[
              ['false', 'Read and write'],
              ['true', 'Read only'],
            ]}
            onChange={(value) => change({ ...entry, readOnly: value === 'true' })}
          />
        </>
      )}
    </ListEditor>
  );
}
