import { useState } from 'react';
import { useApi, useSession } from '../../app/session.tsx';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Icon } from '../../components/icon.tsx';
import { Panel } from '../../components/page.tsx';
import { useToast } from '../../components/toast.tsx';
import type { Deployment, DeploymentWritten, Instance } from '../../lib/records.ts';
import { deploymentPath, useDeploymentWritten } from './deployment-queries.ts';
import type { RotationPhase } from '../../../core/model/deployment.ts';
import {
  ABORT_MEANING,
  type CredentialState,
  PHASE_VERB,
  ROTATION_STEPS,
  type RotationStep,
} from './rotation-steps.ts';

const TONES: Readonly<Record<CredentialState, Tone>> = {
  'in use': 'ok',
  valid: 'info',
  'not yet': 'none',
  'may be revoked': 'none',
};

function Credential({
  title,
  prefix,
  state,
  variable,
}: { readonly title: string; readonly prefix: string } & RotationStep['old']) {
  return (
    <div className="flex flex-col gap-0.5">
      <span className="flex items-center justify-between gap-2">
        <span className="text-xs text-muted">{title}</span>
        <Badge tone={TONES[state]}>{state}</Badge>
      </span>
      <code className="font-mono text-2xs text-muted">
        {variable === undefined ? 'not delivered' : variable.replace('NAME', prefix)}
      </code>
    </div>
  );
}

function Step({
  step,
  at,
  now,
  prefix,
}: {
  readonly step: RotationStep;
  readonly at: number;
  readonly now: number;
  readonly prefix: string;
}) {
  const isNow = at === now;
  return (
    <li
      aria-current={isNow ? 'step' : undefined}
      data-phase={step.phase ?? 'steady'}
      className={`flex flex-col gap-3 rounded-lg border p-3.5 ${isNow ? 'border-accent bg-accent-soft/40' : 'bg-surface'}`}
    >
      <div className="flex items-center gap-2">
        <span
          className={`grid size-6 place-items-center rounded-full text-xs font-semibold ${isNow ? 'bg-accent text-on-accent' : 'bg-sunken text-muted'}`}
        >
          {at < now ? <Icon name="check" className="size-3.5" /> : at + 1}
        </span>
        <h3 className="font-medium">{step.title}</h3>
      </div>
      <p className="text-xs text-muted">{step.meaning}</p>
      <div className="mt-auto flex flex-col gap-2 border-t pt-2.5">
        <Credential title="Old" prefix={prefix} {...step.old} />
        <Credential title="New" prefix={prefix} {...step.fresh} />
      </div>
    </li>
  );
}

/** How many instances run with the material of the current phase: the next one has to wait for all. */
function behindOf(deployment: Deployment, instances: readonly Instance[]): readonly Instance[] {
  return instances.filter(
    ({ wanted, secretsVersion, state }) =>
      wanted === 'run' && (secretsVersion !== deployment.status.secretsVersion || state !== 'running'),
  );
}

export function RotationPanel({
  deployment,
  instances,
}: {
  readonly deployment: Deployment;
  readonly instances: readonly Instance[];
}) {
  const { name, secrets, status } = deployment;
  const api = useApi();
  const { can } = useSession();
  const written = useDeploymentWritten();
  const { done } = useToast();
  const [asking, setAsking] = useState<RotationPhase>();
  const [isAsking, setOpen] = useState(false);
  const [secret, setSecret] = useState('');
  if (secrets.length === 0)
    return (
      <EmptyState title="This deployment has no secrets" icon="key">
        <p>Add a reference to a secret to deliver credentials to its containers.</p>
      </EmptyState>
    );
  const { phase, next } = status.rotation;
  const now = Math.max(
    0,
    ROTATION_STEPS.findIndex((step) => step.phase === phase),
  );
  const behind = behindOf(deployment, instances);
  const asked = asking ?? next;
  const ask = (wanted: RotationPhase) => {
    setAsking(wanted);
    setOpen(true);
  };
  const advance = async () => {
    await api.call<DeploymentWritten>('POST', `${deploymentPath(name)}/secrets/rotate`, {
      body: { phase: asked, ...(secret === '' ? {} : { secret }) },
    });
    done(`Rotation of ${name}: ${asked} is rolling out.`);
    await written(name);
  };
  return (
    <div className="flex flex-col gap-5">
      <Panel
        title="Rotation"
        note={`Secrets version ${status.secretsVersion}. At every moment at least one credential is valid.`}
        actions={
          can('secrets.write') ? (
            <>
              {next === 'stage' && secrets.length > 1 ? (
                <label>
                  <span className="sr-only">Secret</span>
                  <select
                    value={secret}
                    onChange={(event) => setSecret(event.target.value)}
                    className="h-9 rounded-md border border-line-strong bg-canvas px-2"
                  >
                    <option value="">All secrets</option>
                    {secrets.map((entry) => (
                      <option key={entry.name}>{entry.name}</option>
                    ))}
                  </select>
                </label>
              ) : null}
              {next === 'stage' ? null : <Button onClick={() => ask('abort')}>{PHASE_VERB.abort}</Button>}
              <Button tone="primary" onClick={() => ask(next)}>
                {PHASE_VERB[next]}
              </Button>
            </>
          ) : undefined
        }
      >
        <ol className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
          {ROTATION_STEPS.map((step, at) => (
            <Step
              key={step.title}
              step={step}
              at={at}
              now={now}
              prefix={secrets.length === 1 ? (secrets[0]?.name ?? '') : 'NAME'}
            />
          ))}
        </ol>
        <p
          role="status"
          className={`mt-4 flex items-center gap-2 ${behind.length === 0 ? 'text-ok' : 'text-warn'}`}
        >
          <Icon name={behind.length === 0 ? 'check' : 'clock'} />
          {behind.length === 0
            ? 'Every instance runs with the credentials of this phase.'
            : `${behind.length} of ${instances.length} instances do not run with them yet; the next phase waits for all.`}
        </p>
      </Panel>
      <Panel flush title="Secrets">
        <ul>
          {secrets.map(({ name: prefix, vault_path, anchor }) => (
            <li
              key={prefix}
              className="flex flex-wrap items-center gap-x-6 gap-y-1 border-b px-4 py-2.5 last:border-b-0"
            >
              <code className="w-32 font-mono text-xs font-medium">{prefix}</code>
              <code className="min-w-0 flex-1 font-mono text-xs text-muted">{vault_path}</code>
              <Badge>{anchor}</Badge>
            </li>
          ))}
        </ul>
      </Panel>
      <Confirm
        title={PHASE_VERB[asked]}
        action={asked[0]?.toUpperCase() + asked.slice(1)}
        danger={asked === 'retire'}
        isOpen={isAsking}
        onClose={() => setOpen(false)}
        onConfirm={advance}
      >
        <p>
          {asked === 'abort' ? ABORT_MEANING : ROTATION_STEPS.find((step) => step.phase === asked)?.meaning}{' '}
          Every instance of <strong>{name}</strong> is recreated, one after the other.
        </p>
        {asked === 'retire' ? (
          <p className="text-muted">
            Before you go on: does everything that uses the old credential have the new one?
          </p>
        ) : null}
      </Confirm>
    </div>
  );
}
