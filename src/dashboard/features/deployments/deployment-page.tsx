import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { reasonFirst } from '../../lib/reason-first.ts';
import { useAddress, useParam } from '../../app/address.ts';
import { useLiveEvents } from '../../app/live.tsx';
import { useApi, useSession } from '../../app/session.tsx';
import { PhaseBadge } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { EventList } from '../../components/event-list.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import type { Deployment, Instance } from '../../lib/records.ts';
import { HistoryCharts } from '../history/history-charts.tsx';
import { CanaryPanel } from './canary-panel.tsx';
import { ConfigurationPanel } from './configuration-panel.tsx';
import {
  useDeployment,
  useDeploymentEvents,
  useDeploymentWritten,
  useFailures,
  useInstances,
} from './deployment-queries.ts';
import { FailuresPanel } from './failures-panel.tsx';
import { HistoryPanel } from './history-panel.tsx';
import { InstancesPanel } from './instances-panel.tsx';
import { LogsPanel } from './logs-panel.tsx';
import { Marks } from './marks.tsx';
import { RolloutProgress } from './rollout-progress.tsx';
import { RotationPanel } from './rotation-panel.tsx';
import { ScaleDialog } from './scale-dialog.tsx';
import { ScalingPanel } from './scaling-panel.tsx';
import { TerminalPanel } from './terminal-panel.tsx';

function EventsPanel({ name }: { readonly name: string }) {
  const { data, error } = useDeploymentEvents(name);
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} />;
  return (
    <Panel flush title="Events" note="Of the deployment, and of its instances in the last hour">
      {data.length === 0 ? (
        <EmptyState title="Nothing has happened yet" icon="pulse" />
      ) : (
        <EventList events={data} />
      )}
    </Panel>
  );
}

/** With what those that failed printed last, also of those that are gone. */
function Logs({ name, instances }: { readonly name: string; readonly instances: readonly Instance[] }) {
  const { data: failures = [] } = useFailures(name);
  return <LogsPanel name={name} instances={instances} failures={failures} />;
}

function Actions({ deployment }: { readonly deployment: Deployment }) {
  const { name } = deployment;
  const api = useApi();
  const { can } = useSession();
  const navigate = useNavigate();
  const written = useDeploymentWritten();
  const { done } = useToast();
  const [dialog, setDialog] = useState<'scale' | 'delete'>();
  const explain = (
    <ButtonLink to={`/deployments/${name}/explain`} icon="compass">
      Explain placement
    </ButtonLink>
  );
  if (!can('deploy')) return explain;
  const remove = async () => {
    await api.call('DELETE /api/v1/deployments/{name}', { params: { name } });
    done(`${name} is deleted; its history stays.`);
    await navigate({ to: '/deployments' });
    await written(name);
  };
  return (
    <>
      {explain}
      <Button icon="scale" onClick={() => setDialog('scale')}>
        Scale
      </Button>
      <ButtonLink to={`/deployments/${name}/edit`} icon="pencil">
        Edit
      </ButtonLink>
      <Button tone="danger" icon="trash" onClick={() => setDialog('delete')}>
        Delete
      </Button>
      {dialog === 'scale' ? (
        <ScaleDialog deployment={deployment} onClose={() => setDialog(undefined)} />
      ) : null}
      <Confirm
        danger
        title={`Delete ${name}?`}
        action="Delete"
        typed={name}
        isOpen={dialog === 'delete'}
        onClose={() => setDialog(undefined)}
        onConfirm={remove}
      >
        <p>
          Its containers are stopped and removed. Its configuration history stays, so that it can be created
          again.
        </p>
      </Confirm>
    </>
  );
}

function Detail({
  deployment,
  instances,
}: {
  readonly deployment: Deployment;
  readonly instances: readonly Instance[];
}) {
  const { name } = deployment;
  const navigate = useNavigate();
  const { can } = useSession();
  const tab = useAddress().text('tab') ?? 'instances';
  return (
    <Tabs
      label={`Parts of ${name}`}
      value={tab}
      onChange={(next) => void navigate({ to: `/deployments/${name}`, search: { tab: next }, replace: true })}
      tabs={[
        {
          value: 'instances',
          title: 'Instances',
          content: () => (
            <div className="flex flex-col gap-5">
              <InstancesPanel deployment={deployment} instances={instances} />
              <FailuresPanel name={name} specHash={deployment.specHash} />
              <HistoryCharts of="deployments" name={name} />
            </div>
          ),
        },
        { value: 'logs', title: 'Logs', content: () => <Logs name={name} instances={instances} /> },
        ...(can('exec')
          ? [
              {
                value: 'terminal',
                title: 'Terminal',
                content: () => <TerminalPanel name={name} instances={instances} />,
              },
            ]
          : []),
        { value: 'events', title: 'Events', content: () => <EventsPanel name={name} /> },
        {
          value: 'rollout',
          title: 'Canary and scaling',
          content: () => (
            <div
              className={`grid items-start gap-5 ${deployment.status.canary === undefined ? 'xl:grid-cols-2' : ''}`}
            >
              <CanaryPanel deployment={deployment} instances={instances} />
              <ScalingPanel name={name} />
            </div>
          ),
        },
        {
          value: 'configuration',
          title: 'Configuration',
          content: () => (
            <div className="grid gap-5 xl:grid-cols-2">
              <ConfigurationPanel deployment={deployment} />
              <HistoryPanel name={name} />
            </div>
          ),
        },
        {
          value: 'secrets',
          title: 'Secrets and rotation',
          content: () => <RotationPanel deployment={deployment} instances={instances} />,
        },
      ]}
    />
  );
}

/** The end of a rollout is announced on every part of the page. */
const TOLD = new Set(['deployment.rollout_completed', 'deployment.rollout_failed', 'deployment.rolled_back']);

export function DeploymentPage() {
  const name = useParam('name');
  const { data: deployment, error } = useDeployment(name);
  const { data: instances = [] } = useInstances(name);
  const { done, failed } = useToast();
  useLiveEvents(({ kind, subject, message }) => {
    if (!TOLD.has(kind) || subject.kind !== 'Deployment' || subject.name !== name) return;
    if (kind === 'deployment.rollout_completed') done(message);
    else failed(new Error(message));
  });
  const back = { to: '/deployments', title: 'Deployments' };
  if (deployment === undefined) return <PendingPage title={name} back={back} error={error} />;
  const { status } = deployment;
  return (
    <Page
      title={name}
      back={back}
      beside={
        <>
          <PhaseBadge phase={status.phase} />
          <Marks deployment={deployment} />
        </>
      }
      note={
        <>
          {reasonFirst(status.message)}
          {status.since === undefined ? null : (
            <span className="text-faint">
              {' · '}
              <TimeAgo time={status.since} />
            </span>
          )}
        </>
      }
      actions={<Actions deployment={deployment} />}
    >
      {error === null ? null : <ErrorNotice error={error} />}
      <Panel>
        <RolloutProgress status={status} />
        <p className="mt-4 border-t pt-3 text-xs text-muted">
          Image <code className="font-mono text-ink">{deployment.image}</code>
          {deployment.imageDigest === undefined ? null : (
            <>
              {' runs as '}
              <code className="break-all font-mono text-ink">{deployment.imageDigest}</code>
            </>
          )}
          {status.virtualAddress === undefined ? null : (
            <>
              {' · reached by other containers as '}
              <code className="font-mono text-ink">{deployment.name}</code>
              {' at '}
              <code className="font-mono text-ink">{status.virtualAddress}</code>
            </>
          )}
        </p>
      </Panel>
      <Detail deployment={deployment} instances={instances} />
    </Page>
  );
}
