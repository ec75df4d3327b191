import { unjudged } from '../../../sdk/index.ts';
import { useState } from 'react';
import { useApi, useSession } from '../../app/session.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { FormRejection, TextField, UnclaimedRejection } from '../../components/field.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { useWrite } from '../../components/use-write.ts';
import type { Deployment } from '../../lib/records.ts';
import { useDeploymentWritten } from './deployment-queries.ts';
import { numberOrText } from '../../lib/draft.ts';

function StartCanary({ deployment }: { readonly deployment: Deployment }) {
  const { name } = deployment;
  const api = useApi();
  const written = useDeploymentWritten();
  const { done } = useToast();
  const { isBusy, rejection, write } = useWrite();
  const [image, setImage] = useState(deployment.image);
  const [replicas, setReplicas] = useState('1');
  const start = () =>
    write(async () => {
      await api.call('POST /api/v1/deployments/{name}/canary', {
        params: { name },
        body: unjudged({ image, replicas: numberOrText(replicas) }),
      });
      done(`A canary of ${name} starts.`);
      await written(name);
    });
  return (
    <FormRejection rejection={rejection}>
      <div className="flex flex-col gap-4">
        <p className="text-muted">
          Instances of another image beside the stable ones, to compare before everything changes.
        </p>
        <TextField mono path="image" label="Image" value={image} onChange={setImage} />
        <div className="w-40">
          <TextField
            path="replicas"
            label="Instances"
            inputMode="numeric"
            value={replicas}
            onChange={setReplicas}
          />
        </div>
        <UnclaimedRejection paths={['image', 'replicas']} />
        <span>
          <Button tone="primary" busy={isBusy} onClick={() => void start()}>
            Start canary
          </Button>
        </span>
      </div>
    </FormRejection>
  );
}

function RunningCanary({
  deployment,
  canary,
}: {
  readonly deployment: Deployment;
  readonly canary: NonNullable<Deployment['status']['canary']>;
}) {
  const { name } = deployment;
  const api = useApi();
  const { can } = useSession();
  const written = useDeploymentWritten();
  const { done } = useToast();
  const [asked, setAsked] = useState<'promote' | 'abort'>();
  const end = async () => {
    await api.call(`POST /api/v1/deployments/{name}/canary/${asked ?? 'abort'}`, { params: { name } });
    done(
      asked === 'promote'
        ? `${canary.image} becomes the version of ${name}.`
        : `The canary of ${name} is stopped.`,
    );
    await written(name);
  };
  return (
    <div className="flex flex-col gap-4">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        <dt className="text-muted">Stable</dt>
        <dd className="font-mono text-xs">{deployment.image}</dd>
        <dt className="text-muted">Canary</dt>
        <dd className="font-mono text-xs">{canary.image}</dd>
        <dt className="text-muted">Healthy</dt>
        <dd className="tabular-nums">
          {canary.healthy} of {canary.replicas}
        </dd>
        <dt className="text-muted">State</dt>
        <dd>
          {canary.message}, started <TimeAgo time={canary.createdAt} />
        </dd>
      </dl>
      {can('deploy') ? (
        <div className="flex gap-2">
          <Button tone="primary" onClick={() => setAsked('promote')}>
            Promote
          </Button>
          <Button tone="danger" onClick={() => setAsked('abort')}>
            Abort
          </Button>
        </div>
      ) : null}
      <Confirm
        title={asked === 'promote' ? 'Promote the canary?' : 'Abort the canary?'}
        action={asked === 'promote' ? 'Promote' : 'Abort'}
        danger={asked === 'abort'}
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        onConfirm={end}
      >
        <p>
          {asked === 'promote'
            ? 'Its version becomes that of the deployment, with a normal rollout.'
            : 'Its instances are stopped; the stable ones are left alone.'}
        </p>
      </Confirm>
    </div>
  );
}

export function CanaryPanel({ deployment }: { readonly deployment: Deployment }) {
  const { can } = useSession();
  const { canary } = deployment.status;
  return (
    <Panel title="Canary">
      {canary !== undefined ? (
        <RunningCanary deployment={deployment} canary={canary} />
      ) : can('deploy') ? (
        <StartCanary deployment={deployment} />
      ) : (
        <p className="text-muted">No canary runs.</p>
      )}
    </Panel>
  );
}
