import { SelectField, TextField } from '../../components/field.tsx';
import {
  listOrNothing,
  numberOrText,
  recordAt,
  textAt,
  textsAt,
  valueAt,
  withValue,
} from '../../lib/draft.ts';
import { EnteredArea, EnteredField } from '../../components/entered-field.tsx';
import { ListEditor } from '../../components/list-editor.tsx';
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

/** Paths that the form has an input for; a rejection of any other is shown above it. */
export const FORM_PATHS = [
  'name',
  'image',
  'replicas',
  'command',
  'user',
  'readOnlyRootFilesystem',
  'capabilities',
  'environment',
  'composedEnvironment',
  'secrets',
  'healthCheck',
  'resources',
  'placement',
  'nodeId',
  'volumes',
  'ports',
  'ingress',
  'dependsOn',
  'labels',
  'update',
] as const;

function Basics({ part, isNew }: { readonly part: FormPart; readonly isNew: boolean }) {
  const { text, number } = useFields(part);
  return (
    <div className="grid gap-4 p-4 sm:grid-cols-2">
      <TextField
        label="Name"
        {...text('name')}
        disabled={!isNew}
        hint={
          isNew
            ? 'Lower case; also its DNS name on the tenant’s network.'
            : 'The name of a deployment cannot be changed.'
        }
      />
      <EnteredField
        label="Replicas"
        {...number('replicas')}
        inputMode="numeric"
        hint="0 stops it without deleting it."
      />
      <div className="sm:col-span-2">
        <TextField
          mono
          label="Image"
          {...text('image')}
          placeholder="registry.example.com/shop/web:1.4.2"
          hint="A pinned reference, never latest; it must exist already."
        />
      </div>
    </div>
  );
}

function HealthCheck({ part }: { readonly part: FormPart }) {
  const { text, number, set } = useFields(part);
  const command = textsAt(part.draft, 'healthCheck.command');
  const change = (value: string) => {
    const entries = listOrNothing(value, '\n');
    const others = recordAt(part.draft, 'healthCheck');
    set('healthCheck', entries === undefined ? undefined : { ...others, type: 'exec', command: entries });
  };
  const lines = useLines(
    part.draft,
    'healthCheck.command',
    'One line: a shell command. Several lines: one argument each.',
  );
  return (
    <>
      <EnteredArea
        path="healthCheck.command"
        label="Command in the container"
        rows={2}
        shown={command.join('\n')}
        onEnter={change}
        {...lines}
      />
      <div className="grid gap-4 sm:grid-cols-5">
        <TextField label="Interval" {...text('healthCheck.interval')} placeholder="30s" />
        <TextField label="Timeout" {...text('healthCheck.timeout')} placeholder="30s" hint="10s or more" />
        <EnteredField label="Retries" {...number('healthCheck.retries')} placeholder="3" hint="3 or more" />
        <TextField label="Start period" {...text('healthCheck.startPeriod')} placeholder="0s" />
        <TextField
          label="Restart after"
          {...text('healthCheck.restartAfter')}
          placeholder="3 intervals"
          hint="How long it may be unhealthy, or: never"
        />
      </div>
    </>
  );
}

function Network({ part }: { readonly part: FormPart }) {
  const { set } = useFields(part);
  return (
    <>
      <ListEditor
        path="ports"
        label="Ports"
        one="port"
        value={valueAt(part.draft, 'ports')}
        fresh={{}}
        onChange={(value) => set('ports', value)}
      >
        {(path, entry, change) => (
          <>
            <TextField
              path={`${path}.container`}
              label="Container port"
              inputMode="numeric"
              value={textAt(entry, 'container')}
              onChange={(value) => change(withValue(entry, 'container', numberOrText(value)))}
            />
            <TextField
              path={`${path}.host`}
              label="Host port"
              inputMode="numeric"
              placeholder="any free"
              value={textAt(entry, 'host')}
              onChange={(value) => change(withValue(entry, 'host', numberOrText(value)))}
            />
          </>
        )}
      </ListEditor>
      <ListEditor
        path="ingress"
        label="Ingress"
        one="way in"
        value={valueAt(part.draft, 'ingress')}
        fresh={{}}
        onChange={(value) => set('ingress', value)}
      >
        {(path, entry, change) => (
          <>
            <TextField
              path={`${path}.host`}
              label="Ingress host"
              placeholder="shop.example.com"
              value={textAt(entry, 'host')}
              onChange={(value) => change(withValue(entry, 'host', value))}
            />
            <TextField
              path={`${path}.path`}
              label="Path"
              placeholder="all paths"
              value={textAt(entry, 'path')}
              onChange={(value) => change(withValue(entry, 'path', value))}
            />
            <TextField
              path={`${path}.port`}
              label="Ingress port"
              inputMode="numeric"
              placeholder="8080"
              value={textAt(entry, 'port')}
              onChange={(value) => change(withValue(entry, 'port', numberOrText(value)))}
            />
          </>
        )}
      </ListEditor>
    </>
  );
}

function Update({ part }: { readonly part: FormPart }) {
  const { text, number } = useFields(part);
  return (
    <div className="grid gap-4 sm:grid-cols-4">
      <EnteredField label="Extra instances" {...number('update.maxSurge')} placeholder="1" />
      <EnteredField label="Missing instances" {...number('update.maxUnavailable')} placeholder="0" />
      <TextField label="Deadline" {...text('update.progressDeadline')} placeholder="5m" />
      <SelectField
        label="If it fails"
        {...text('update.onFailure')}
        options={[
          ['', 'default'],
          ['rollback', 'roll back'],
          ['leave', 'leave it'],
        ]}
      />
    </div>
  );
}

/** A description by fields. What it has no field for stays as it is. */
export function DeploymentForm({ isNew, ...part }: FormPart & { readonly isNew: boolean }) {
  const { draft } = part;
  return (
    <div className="rounded-lg border bg-surface shadow-card">
      <Basics part={part} isNew={isNew} />
      <CommandSection part={part} />
      <SecretsSection part={part} />
      <Section
        title="Health check"
        note="Decides when an instance counts, and when it is replaced"
        paths={['healthCheck']}
        draft={draft}
      >
        <HealthCheck part={part} />
      </Section>
      <ResourcesSection part={part} />
      <RightsSection part={part} />
      <PlacementSection part={part} />
      <Section title="Ports and ingress" note="How it is reached" paths={['ports', 'ingress']} draft={draft}>
        <Network part={part} />
      </Section>
      <VolumesSection part={part} />
      <Section
        title="Dependencies and labels"
        note="What has to be there first"
        paths={['dependsOn', 'labels']}
        draft={draft}
      >
        <MapField
          part={part}
          path="dependsOn"
          label="Depends on"
          keyLabel="Deployment"
          valueLabel="Gate"
          options={['healthy', 'started']}
        />
        <MapField part={part} path="labels" label="Labels" />
      </Section>
      <Section title="Updates" note="How a new version takes over" paths={['update']} draft={draft}>
        <Update part={part} />
      </Section>
    </div>
  );
}
