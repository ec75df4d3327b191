import type { Volume } from '../../lib/records.ts';
import { useState } from 'react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useParam } from '../../app/address.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { EventList } from '../../components/event-list.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { CopiesPanel } from './copies-panel.tsx';
import { Fill, VolumePhaseBadge } from './volume-parts.tsx';
import { useVolume, useVolumeEvents } from './volume-queries.ts';

function Delete({ volume }: { readonly volume: Volume }) {
  const { id, name, phase } = volume;
  const api = useApi();
  const { can } = useSession();
  const reread = useReread();
  const navigate = useNavigate();
  const { done } = useToast();
  const [isAsking, setAsking] = useState(false);
  if (!can('volumes.manage')) return null;
  const remove = async () => {
    await api.call('DELETE /api/v1/dvm/volumes/{id}', { params: { id } });
    done(`Volume ${name} is being deleted.`);
    await navigate({ to: '/volumes' });
    await reread('volumes', 'recommendations');
  };
  return (
    <>
      <Button tone="danger" icon="trash" disabled={phase === 'Deleting'} onClick={() => setAsking(true)}>
        Delete
      </Button>
      <Confirm
        danger
        title={`Delete ${name}?`}
        action="Delete"
        typed={name}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={remove}
      >
        <p>Its bytes are removed on every node. Refused while something mounts it.</p>
      </Confirm>
    </>
  );
}

function Consumers({ volume }: { readonly volume: Volume }) {
  return (
    <Panel flush title="Mounted by">
      {volume.consumers.length === 0 ? (
        <p className="p-4 text-muted">Nothing mounts it.</p>
      ) : (
        <ul>
          {volume.consumers.map(({ deployment, job, readOnly }) => (
            <li
              key={deployment ?? `job/${job ?? ''}`}
              className="flex items-center justify-between gap-4 border-b px-4 py-2.5 last:border-b-0"
            >
              <Link
                to={deployment === undefined ? `/jobs/${job ?? ''}` : `/deployments/${deployment}`}
                className="font-medium hover:text-accent hover:underline"
              >
                {deployment ?? `job ${job ?? ''}`}
              </Link>
              <span className="text-xs text-muted">{readOnly ? 'reads' : 'writes'}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** Promotions and everything else that happened to it. */
function History({ id }: { readonly id: string }) {
  const { data, error } = useVolumeEvents(id);
  return (
    <Panel flush title="History" note="Promotions, copies and sizes; newest first">
      {data === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <ErrorNotice error={error} />
        )
      ) : data.length === 0 ? (
        <EmptyState title="Nothing has happened in the last week" icon="pulse" />
      ) : (
        <EventList events={data.toReversed()} />
      )}
    </Panel>
  );
}

export function VolumePage() {
  const id = useParam('id');
  const { data: volume, error } = useVolume(id);
  const back = { to: '/volumes', title: 'Volumes' };
  if (volume === undefined) return <PendingPage title={id} back={back} error={error} />;
  return (
    <Page
      title={volume.name}
      back={back}
      beside={<VolumePhaseBadge phase={volume.phase} />}
      note={volume.message}
      actions={<Delete volume={volume} />}
    >
      {error === null ? null : <ErrorNotice error={error} />}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Panel title="Volume">
          <div className="flex flex-col gap-4">
            <Fill volume={volume} />
            <Facts
              facts={[
                [
                  'Id',
                  <code className="font-mono" key="id">
                    {volume.id}
                  </code>,
                ],
                ['Class', volume.class],
                ['Type', volume.type],
                ['Access', volume.accessMode],
                ['Directory of the host', volume.hostPath],
                ['Created', <TimeAgo key="made" time={volume.createdAt} />],
                [
                  'Measured',
                  volume.measuredAt === null ? undefined : <TimeAgo key="seen" time={volume.measuredAt} />,
                ],
              ]}
            />
          </div>
        </Panel>
        <div className="flex flex-col gap-5">
          <CopiesPanel volume={volume} />
          <Consumers volume={volume} />
        </div>
      </div>
      <History id={id} />
    </Page>
  );
}
