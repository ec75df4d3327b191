import { EnteredArea, EnteredField } from '../../components/entered-field.tsx';
import { TextField } from '../../components/field.tsx';
import { type FormPart, Section, useFields, useLines } from '../../components/workload-fields.tsx';
import {
  CommandSection,
  MapField,
  PlacementSection,
  ResourcesSection,
  RightsSection,
  SecretsSection,
  VolumesSection,
} from '../../components/workload-sections.tsx';

/** Paths that the form has an input for. */
export const JOB_PATHS = [
  'name',
  'image',
  'schedule',
  'timeout',
  'retries',
  'before',
  'command',
  'user',
  'readOnlyRootFilesystem',
  'capabilities',
  'environment',
  'composedEnvironment',
  'secrets',
  'resources',
  'placement',
  'nodeId',
  'volumes',
  'labels',
] as const;

function Basics({ part, isNew }: { readonly part: FormPart; readonly isNew: boolean }) {
  const { text, number } = useFields(part);
  return (
    <div className="grid gap-4 p-4 sm:grid-cols-2">
      <TextField
        label="Name"
        {...text('name')}
        placeholder="nightly-report"
        disabled={!isNew}
        hint={isNew ? 'Lower case, digits and hyphens.' : 'The name of a job cannot be changed.'}
      />
      <TextField
        mono
        label="Schedule"
        {...text('schedule')}
        placeholder="0 3 * * *"
        hint="Cron, UTC. Empty: it runs once, when it is created."
      />
      <div className="sm:col-span-2">
        <TextField
          mono
          label="Image"
          {...text('image')}
          placeholder="registry.example.com/shop/report:2.1.0"
          hint="A pinned reference, never latest; it must exist already."
        />
      </div>
      <TextField label="Timeout" {...text('timeout')} placeholder="none" hint="Of one attempt, as 30m." />
      <EnteredField
        label="Retries"
        {...number('retries')}
        inputMode="numeric"
        placeholder="0"
        hint="Attempts after the first."
      />
    </div>
  );
}

function Before({ part }: { readonly part: FormPart }) {
  const { text, list } = useFields(part);
  const lines = useLines(
    part.draft,
    'before.command',
    'One argument per line, without a shell; when it fails, so does the run.',
  );
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="Deployment" {...text('before.deployment')} placeholder="none" />
        <TextField label="At most" {...text('before.timeout')} placeholder="10m" />
      </div>
      <EnteredArea
        label="Command in its instance"
        rows={3}
        {...list('before.command', '\n', '\n')}
        {...lines}
      />
    </>
  );
}

/** A job by fields: those of a deployment where they are the same. */
export function JobForm({ isNew, ...part }: FormPart & { readonly isNew: boolean }) {
  const { draft } = part;
  return (
    <div className="rounded-lg border bg-surface shadow-card">
      <Basics part={part} isNew={isNew} />
      <CommandSection part={part} />
      <SecretsSection part={part} />
      <VolumesSection part={part} />
      <Section
        title="Before a run"
        note="A command in a running instance of a deployment: a dump before a backup"
        paths={['before']}
        draft={draft}
      >
        <Before part={part} />
      </Section>
      <ResourcesSection part={part} />
      <PlacementSection part={part} />
      <RightsSection part={part} />
      <Section title="Labels" note="To find it by" paths={['labels']} draft={draft}>
        <MapField part={part} path="labels" label="Labels" />
      </Section>
    </div>
  );
}
