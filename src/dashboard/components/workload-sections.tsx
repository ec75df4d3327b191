import { valueAt } from '../lib/draft.ts';
import { MapEditor } from './map-editor.tsx';
import { SecretFields } from './secret-fields.tsx';
import {
  CommandField,
  Confinement,
  type FormPart,
  Placement,
  Resources,
  Section,
  useFields,
  Volumes,
} from './workload-fields.tsx';

interface Part {
  readonly part: FormPart;
}

/** A map of the description. */
export function MapField({
  part,
  path,
  ...more
}: Part & {
  readonly path: string;
  readonly label: string;
  readonly keyLabel?: string;
  readonly valueLabel?: string;
  readonly options?: readonly string[];
  readonly hasLines?: boolean;
}) {
  const { set } = useFields(part);
  return (
    <MapEditor
      path={path}
      value={valueAt(part.draft, path)}
      onChange={(value) => set(path, value)}
      {...more}
    />
  );
}

export function CommandSection({ part }: Part) {
  return (
    <Section
      title="Command and environment"
      note="What it runs, and constants it is given"
      paths={['environment', 'command', 'composedEnvironment']}
      draft={part.draft}
    >
      <CommandField part={part} />
      <MapField part={part} path="environment" label="Environment" hasLines />
      <MapField
        part={part}
        path="composedEnvironment"
        label="Composed from secrets"
        hasLines
        valueLabel="{{secret.db.password}}"
      />
    </Section>
  );
}

export function SecretsSection({ part }: Part) {
  return (
    <Section
      title="Secrets"
      note="References to credentials; their values never come back"
      paths={['secrets']}
      draft={part.draft}
    >
      <SecretFields draft={part.draft} onChange={part.onChange} />
    </Section>
  );
}

export function VolumesSection({ part }: Part) {
  return (
    <Section title="Volumes" note="What outlives its containers" paths={['volumes']} draft={part.draft}>
      <Volumes part={part} />
    </Section>
  );
}

export function ResourcesSection({ part }: Part) {
  return (
    <Section
      title="Resources"
      note="Requests inform placement; limits bound the container"
      paths={['resources']}
      draft={part.draft}
    >
      <Resources part={part} />
    </Section>
  );
}

export function PlacementSection({ part }: Part) {
  return (
    <Section title="Placement" note="Where it may run" paths={['placement', 'nodeId']} draft={part.draft}>
      <Placement part={part} />
    </Section>
  );
}

export function RightsSection({ part }: Part) {
  return (
    <Section
      title="Rights in the container"
      note="What it gives up of what containers may do"
      paths={['user', 'readOnlyRootFilesystem', 'capabilities']}
      draft={part.draft}
    >
      <Confinement part={part} />
    </Section>
  );
}
