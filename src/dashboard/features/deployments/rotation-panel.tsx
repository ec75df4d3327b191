import { useState } from 'react';
import { useApi, useSession } from '../../app/session.tsx';
import { Badge } from '../../components/badge.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Panel } from '../../components/page.tsx';
import { Rotation, RotationNote } from '../../components/rotation.tsx';
import { useToast } from '../../components/toast.tsx';
import type { Deployment, Instance } from '../../lib/records.ts';
import { useDeploymentWritten } from './deployment-queries.ts';
import type { RotationPhase } from '../../../core/model/deployment.ts';

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
  const [secret, setSecret] = useState('');
  if (secrets.length === 0)
    return (
      <EmptyState title="This deployment has no secrets" icon="key">
        <p>Add a reference to a secret to deliver credentials to its containers.</p>
      </EmptyState>
    );
  const { phase, next } = status.rotation;
  const behind = behindOf(deployment, instances);
  const advance = async (asked: RotationPhase) => {
    await api.call('POST /api/v1/deployments/{name}/secrets/rotate', {
      params: { name },
      body: { phase: asked, ...(secret === '' ? {} : { secret }) },
    });
    done(`Rotation of ${name}: ${asked} is rolling out.`);
    await written(name);
  };
  const choice =
    next === 'stage' && secrets.length > 1 ? (
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
    ) : null;
  return (
    <div className="flex flex-col gap-5">
      <Rotation
        note={`Secrets version ${status.secretsVersion}. At every moment at least one credential is valid.`}
        phase={phase}
        next={next}
        prefix={secrets.length === 1 ? (secrets[0]?.name ?? '') : 'NAME'}
        whom={
          <>
            Every instance of <strong>{name}</strong> is recreated, one after the other.
          </>
        }
        isOffered={can('secrets.write')}
        choice={choice}
        onAdvance={advance}
      >
        <RotationNote isComplete={behind.length === 0}>
          {behind.length === 0
            ? 'Every instance runs with the credentials of this phase.'
            : `${behind.length} of ${instances.length} instances do not run with them yet; the next phase waits for all.`}
        </RotationNote>
      </Rotation>
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
    </div>
  );
}
