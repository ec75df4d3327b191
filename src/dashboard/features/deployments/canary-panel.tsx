import { unjudged } from '../../../sdk/index.ts';
import { type ReactNode, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { fieldDifferences } from '../../../core/contract/diff.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { DiffView } from '../../components/diff-view.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Facts } from '../../components/facts.tsx';
import { FormRejection, TextField, UnclaimedRejection } from '../../components/field.tsx';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { useWrite } from '../../components/use-write.ts';
import { draftOf, numberOrText } from '../../lib/draft.ts';
import { bytes, count } from '../../lib/format.ts';
import type { Deployment, Failure, Instance } from '../../lib/records.ts';
import { useCanary, useDeploymentWritten, useFailures } from './deployment-queries.ts';
import { InstanceBadge } from './instance-badge.tsx';

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
    <Panel title="Canary">
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
    </Panel>
  );
}

/** What the measured of them use, each: sides of different size are compared. */
function usageText(instances: readonly Instance[]): string | undefined {
  const measured = instances.flatMap(({ usage }) => usage ?? []);
  if (measured.length === 0) return undefined;
  const mean = (of: (one: (typeof measured)[number]) => number) =>
    measured.reduce((sum, one) => sum + of(one), 0) / measured.length;
  return `${mean(({ cpuPercent }) => cpuPercent).toFixed(0)} % CPU, ${bytes(mean(({ memoryBytes }) => memoryBytes))} each`;
}

function failuresText(failures: readonly Failure[]): ReactNode {
  const [newest] = failures;
  if (newest === undefined) return 'none';
  return (
    <span className="text-bad">
      {count(failures.length, 'failure')}, last {newest.reason.replaceAll('_', ' ')}{' '}
      <TimeAgo time={newest.at} />
    </span>
  );
}

/** The stable instances, or those of the canary. */
function Side({
  title,
  image,
  digest,
  healthy,
  wanted,
  state,
  instances,
  failures,
}: {
  readonly title: string;
  readonly image: string;
  readonly digest: string | undefined;
  readonly healthy: number;
  readonly wanted: number;
  readonly state: ReactNode;
  readonly instances: readonly Instance[];
  /** Since the canary started. */
  readonly failures: readonly Failure[];
}) {
  const restarts = instances.reduce((sum, { restarts: times = 0 }) => sum + times, 0);
  return (
    <section aria-label={title} className="flex min-w-0 flex-col gap-4 rounded-lg border p-4">
      <h3 className="flex items-center justify-between gap-2 font-semibold">
        {title}
        <Badge tone={healthy >= wanted ? 'ok' : 'warn'}>
          {healthy} of {wanted}
        </Badge>
      </h3>
      <Facts
        facts={[
          [
            'Image',
            <code key="image" className="font-mono break-all">
              {image}
            </code>,
          ],
          [
            'Digest',
            digest === undefined ? undefined : (
              <code key="digest" className="font-mono break-all">
                {digest.slice(0, 19)}
              </code>
            ),
          ],
          ['State', state],
          ['Uses', usageText(instances)],
          ['Restarts', restarts === 0 ? 'none' : <span className="text-warn">{restarts}</span>],
          ['Failed', failuresText(failures)],
        ]}
      />
      <ul className="flex flex-col gap-1.5 border-t pt-3 text-xs">
        {instances.map((instance) => (
          <li key={instance.id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <InstanceBadge instance={instance} />
            <Link
              to={`/deployments/${instance.deployment}/instances/${instance.id}`}
              className="font-mono hover:underline"
            >
              {instance.id.slice(-8)}
            </Link>
            <span className="text-muted">on {instance.nodeId}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What the canary would change, field by field. */
function Difference({ deployment }: { readonly deployment: Deployment }) {
  const { data, error } = useCanary(deployment.name, deployment.status.canary?.specHash ?? '');
  if (data === undefined) return error === null ? <Loading lines={2} /> : <ErrorNotice error={error} />;
  // Its own number of instances is no part of what it tries.
  const { replicas: _own, ...spec } = draftOf(data.spec);
  const { replicas: _stable, ...stable } = draftOf(deployment);
  return <DiffView changes={fieldDifferences(stable, spec)} />;
}

function RunningCanary({
  deployment,
  canary,
  instances,
}: {
  readonly deployment: Deployment;
  readonly canary: NonNullable<Deployment['status']['canary']>;
  readonly instances: readonly Instance[];
}) {
  const { name, status } = deployment;
  const api = useApi();
  const { can } = useSession();
  const written = useDeploymentWritten();
  const { done } = useToast();
  const { data: failures = [] } = useFailures(name);
  const [asked, setAsked] = useState<'promote' | 'abort'>('promote');
  const [isAsking, setAsking] = useState(false);
  const ask = (what: typeof asked) => {
    setAsked(what);
    setAsking(true);
  };
  const end = async () => {
    await api.call(`POST /api/v1/deployments/{name}/canary/${asked}`, { params: { name } });
    done(
      asked === 'promote'
        ? `${canary.image} becomes the version of ${name}.`
        : `The canary of ${name} is stopped.`,
    );
    await written(name);
  };
  const since = failures.filter(({ at }) => at >= canary.createdAt);
  const sideOf = (isCanary: boolean) => ({
    instances: instances.filter((one) => (one.canary ?? false) === isCanary && one.wanted === 'run'),
    failures: since.filter((one) => (one.canary ?? false) === isCanary),
  });
  return (
    <Panel
      title="Canary and stable"
      note={
        <>
          Started <TimeAgo time={canary.createdAt} />
          {canary.weight === undefined ? '' : `, ${canary.weight} % of the connections`}; failures are counted
          since then
        </>
      }
      actions={
        can('deploy') ? (
          <>
            <Button tone="danger" onClick={() => ask('abort')}>
              Abort
            </Button>
            <Button tone="primary" onClick={() => ask('promote')}>
              Promote
            </Button>
          </>
        ) : undefined
      }
    >
      <div className="grid gap-4 md:grid-cols-2">
        <Side
          title="Stable"
          image={deployment.image}
          digest={deployment.imageDigest}
          healthy={status.healthy}
          wanted={status.desired}
          state={status.message}
          {...sideOf(false)}
        />
        <Side
          title="Canary"
          image={canary.image}
          digest={canary.imageDigest}
          healthy={canary.healthy}
          wanted={canary.replicas}
          state={canary.message}
          {...sideOf(true)}
        />
      </div>
      <section aria-label="Difference" className="mt-4 flex flex-col gap-2 border-t pt-4">
        <h3 className="font-semibold">What promoting changes</h3>
        <Difference deployment={deployment} />
      </section>
      <Confirm
        title={asked === 'promote' ? 'Promote the canary?' : 'Abort the canary?'}
        action={asked === 'promote' ? 'Promote' : 'Abort'}
        danger={asked === 'abort'}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={end}
      >
        <p>
          {asked === 'promote'
            ? 'Its version becomes that of the deployment, with a normal rollout.'
            : 'Its instances are stopped; the stable ones are left alone.'}
        </p>
      </Confirm>
    </Panel>
  );
}

export function CanaryPanel({
  deployment,
  instances,
}: {
  readonly deployment: Deployment;
  readonly instances: readonly Instance[];
}) {
  const { can } = useSession();
  const { canary } = deployment.status;
  if (canary !== undefined)
    return <RunningCanary deployment={deployment} canary={canary} instances={instances} />;
  if (can('deploy')) return <StartCanary deployment={deployment} />;
  return (
    <Panel title="Canary">
      <p className="text-muted">No canary runs.</p>
    </Panel>
  );
}
