import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import type { Node } from '../../lib/records.ts';
import { DrainReportView } from './drain-report.tsx';
import { type DrainReport } from './node-queries.ts';

export function NodeActions({ node }: { readonly node: Node }) {
  const { name, schedulable } = node;
  const api = useApi();
  const { can } = useSession();
  const reread = useReread();
  const navigate = useNavigate();
  const { done, failed } = useToast();
  const [dialog, setDialog] = useState<'drain' | 'delete'>();
  const [isForced, setForced] = useState(false);
  const [report, setReport] = useState<DrainReport>();
  if (!can('nodes.manage')) return null;
  const set = async (mode: 'cordon' | 'uncordon') => {
    try {
      await api.call(`POST /api/v1/nodes/{name}/${mode}`, { params: { name } });
      done(mode === 'cordon' ? `${name} takes no new instances.` : `${name} takes instances again.`);
      await reread('nodes');
    } catch (problem) {
      failed(problem);
    }
  };
  const drain = async () => {
    setReport(await api.call('POST /api/v1/nodes/{name}/drain', { params: { name } }));
    await reread('nodes');
  };
  const remove = async () => {
    await api.call('DELETE /api/v1/nodes/{name}', {
      params: { name },
      query: { force: isForced || undefined },
    });
    done(`${name} is deleted.`);
    await navigate({ to: '/nodes' });
    await reread('nodes');
  };
  return (
    <>
      {schedulable ? (
        <Button icon="pause" onClick={() => void set('cordon')}>
          Cordon
        </Button>
      ) : (
        <Button icon="play" onClick={() => void set('uncordon')}>
          Uncordon
        </Button>
      )}
      <Button icon="external" onClick={() => setDialog('drain')}>
        Drain
      </Button>
      <Button tone="danger" icon="trash" onClick={() => setDialog('delete')}>
        Delete
      </Button>
      <Confirm
        title={`Drain ${name}?`}
        action="Drain"
        isOpen={dialog === 'drain'}
        onClose={() => setDialog(undefined)}
        onConfirm={drain}
      >
        <p>
          It takes no new instances, and every instance that can run elsewhere is moved: its successor is
          healthy before it goes. What cannot move stays, and is named with the reason.
        </p>
      </Confirm>
      <Dialog
        wide
        title={`${name} is being drained`}
        isOpen={report !== undefined}
        onClose={() => setReport(undefined)}
        actions={<Button onClick={() => setReport(undefined)}>Done</Button>}
      >
        {report === undefined ? null : <DrainReportView report={report} />}
      </Dialog>
      <Confirm
        danger
        title={`Delete ${name}?`}
        action="Delete"
        typed={name}
        isOpen={dialog === 'delete'}
        onClose={() => setDialog(undefined)}
        onConfirm={remove}
      >
        <p>Its agent is sent away. Refused while something is placed there: drain it first.</p>
        <label className="flex items-start gap-2">
          <input
            type="checkbox"
            checked={isForced}
            onChange={(event) => setForced(event.target.checked)}
            className="mt-1 accent-(--bad)"
          />
          <span>The machine is gone for good: delete it with everything that is placed there</span>
        </label>
      </Confirm>
    </>
  );
}
