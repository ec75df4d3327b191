import { Link, useNavigate } from '@tanstack/react-router';
import { useAddress, useParam } from '../../app/address.ts';
import { Badge } from '../../components/badge.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { EventList } from '../../components/event-list.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { printable } from '../../lib/printable.ts';
import type { InstanceDetail } from '../../lib/records.ts';
import { useInstance, useInstanceEvents } from './deployment-queries.ts';
import { FailureList } from './failures-panel.tsx';
import { InstanceActions } from './instance-actions.tsx';
import { InstanceBadge } from './instance-badge.tsx';
import { InstanceChecks } from './instance-checks.tsx';
import { InstanceFacts } from './instance-facts.tsx';
import { LogsPanel } from './logs-panel.tsx';
import { UsageCharts } from './usage-charts.tsx';
import { useUsageHistory } from './usage-history.ts';

function Events({ instance }: { readonly instance: InstanceDetail }) {
  const { data, error } = useInstanceEvents(instance);
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} />;
  return (
    <Panel flush title="Events" note="In the order in which they happened">
      {data.length === 0 ? (
        <EmptyState title="Nothing has happened yet" icon="pulse" />
      ) : (
        <EventList events={data} />
      )}
    </Panel>
  );
}

function Logs({ instance }: { readonly instance: InstanceDetail }) {
  const { deployment, failures, id } = instance;
  return <LogsPanel name={deployment} instances={[instance]} failures={failures} only={id} />;
}

function Failures({ instance }: { readonly instance: InstanceDetail }) {
  const { deployment, failures, specHash } = instance;
  return (
    <Panel flush title="Failures" note="The last two, kept for 7 days; values it was given are taken out">
      {failures.length === 0 ? (
        <EmptyState title="It has not failed lately" icon="check" />
      ) : (
        <FailureList name={deployment} failures={failures} specHash={specHash} />
      )}
    </Panel>
  );
}

function Parts({ instance, readAt }: { readonly instance: InstanceDetail; readonly readAt: number }) {
  const navigate = useNavigate();
  const tab = useAddress().text('tab') ?? 'events';
  const path = `/deployments/${instance.deployment}/instances/${instance.id}`;
  const samples = useUsageHistory([instance], readAt);
  return (
    <Tabs
      label={`Parts of ${instance.name}`}
      value={tab}
      onChange={(next) => void navigate({ to: path, search: { tab: next }, replace: true })}
      tabs={[
        { value: 'events', title: 'Events', content: () => <Events instance={instance} /> },
        {
          value: 'usage',
          title: 'CPU and memory',
          content: () => <UsageCharts of="This instance" samples={samples} />,
        },
        { value: 'logs', title: 'Logs', content: () => <Logs instance={instance} /> },
        { value: 'health', title: 'Health', content: () => <InstanceChecks instance={instance} /> },
        { value: 'failures', title: 'Failures', content: () => <Failures instance={instance} /> },
      ]}
    />
  );
}

/** What the agent last said of it, and why it is leaving. */
function noteOf({ reason, message, leaving, node }: InstanceDetail) {
  const said = [message, leaving === undefined ? undefined : `It is being replaced: ${leaving}`]
    .filter((text) => text !== undefined)
    .join(' · ');
  return (
    <>
      {reason === undefined ? null : <code className="mr-2 font-mono text-xs text-bad">{reason}</code>}
      {said === '' ? null : <span className="mr-2">{printable(said)}</span>}
      on{' '}
      <Link to={`/nodes/${node.name}`} className="text-ink underline">
        {node.name}
      </Link>
      {node.connected ? null : <span className="text-warn"> whose agent cannot be asked now</span>}
    </>
  );
}

export function InstancePage() {
  const name = useParam('name');
  const id = useParam('instance');
  const { data: instance, error, dataUpdatedAt } = useInstance(name, id);
  const back = { to: `/deployments/${name}`, title: name };
  if (instance === undefined) return <PendingPage title={id} back={back} error={error} />;
  return (
    <Page
      title={instance.name}
      back={back}
      beside={
        <>
          <InstanceBadge instance={instance} />
          {instance.canary ? <Badge tone="info">canary</Badge> : null}
          {instance.current || instance.canary ? null : <Badge>earlier version</Badge>}
          {instance.order === undefined ? null : (
            <Badge tone="info">{instance.order.kind === 'stop' ? 'to be stopped' : 'to be restarted'}</Badge>
          )}
        </>
      }
      note={noteOf(instance)}
      actions={<InstanceActions instance={instance} />}
    >
      {error === null ? null : <ErrorNotice error={error} />}
      <InstanceFacts instance={instance} />
      <Parts instance={instance} readAt={dataUpdatedAt} />
    </Page>
  );
}
