import type { Volume } from '../../lib/records.ts';
import { useState } from 'react';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { SelectField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Panel } from '../../components/page.tsx';
import { useToast } from '../../components/toast.tsx';
import { CopyBadge, lagText } from './volume-parts.tsx';
import { useNodeNames } from './volume-queries.ts';

function AddCopy({ volume, onClose }: { readonly volume: Volume; readonly onClose: () => void }) {
  const api = useApi();
  const { tenant } = useSession();
  const reread = useReread();
  const { done } = useToast();
  const held = new Set([volume.primaryNodeId, ...volume.replicas.map(({ nodeId }) => nodeId)]);
  const free = useNodeNames().filter((name) => !held.has(name));
  const [chosen, setChosen] = useState<string>();
  const node = chosen ?? free[0] ?? '';
  const add = async () => {
    await api.call('POST /api/v1/tenants/{tenant}/volumes/{id}/replicas', {
      params: { tenant: tenant.id, id: volume.id },
      body: { node_id: node },
    });
    done(`A copy of ${volume.name} is made on ${node}.`);
    await reread('volumes', 'recommendations');
  };
  return (
    <FormDialog
      title={`Add a copy of ${volume.name}`}
      note="The copy is live when it has caught up."
      action="Add"
      paths={['node_id']}
      onClose={onClose}
      onSubmit={add}
    >
      <SelectField
        path="node_id"
        label="Node"
        value={node}
        options={free.length === 0 ? [['', 'no other node']] : free.map((name) => [name, name] as const)}
        onChange={setChosen}
      />
    </FormDialog>
  );
}

/** Where its bytes are, and how far each copy is behind. */
export function CopiesPanel({ volume }: { readonly volume: Volume }) {
  const api = useApi();
  const { tenant, can } = useSession();
  const reread = useReread();
  const { done } = useToast();
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<string>();
  const { id, name, primaryNodeId, replicas, wantedReplicas } = volume;
  const isReplicated = volume.class === 'replicated';
  const mayManage = can('volumes.manage') && isReplicated;
  const remove = async () => {
    await api.call('DELETE /api/v1/tenants/{tenant}/volumes/{id}/replicas/{node}', {
      params: { tenant: tenant.id, id, node: leaving ?? '' },
    });
    done(`The copy of ${name} on ${leaving ?? ''} is removed.`);
    await reread('volumes', 'recommendations');
  };
  return (
    <Panel
      flush
      title="Where its bytes are"
      note={
        isReplicated
          ? `${wantedReplicas} wanted beside the primary; epoch ${volume.epoch}`
          : 'On one node only'
      }
      actions={
        mayManage ? (
          <Button small icon="plus" onClick={() => setAdding(true)}>
            Add a copy
          </Button>
        ) : undefined
      }
    >
      <ul>
        <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b px-4 py-2.5 last:border-b-0">
          <span className="w-32 font-medium">{primaryNodeId ?? 'no node yet'}</span>
          <Badge tone={primaryNodeId === null ? 'warn' : 'info'}>primary</Badge>
        </li>
        {replicas.map((copy) => (
          <li
            key={copy.nodeId}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b px-4 py-1.5 last:border-b-0"
          >
            <span className="w-32 font-medium">{copy.nodeId}</span>
            <CopyBadge state={copy.state} />
            <span className="min-w-0 flex-1 text-xs text-muted">
              {lagText(copy)}
              {copy.formerEpoch === undefined
                ? ''
                : `; it was the primary until epoch ${copy.formerEpoch} and may hold bytes that no copy has`}
              {copy.misplaced === undefined ? '' : `; it cannot take over: ${copy.misplaced}`}
              {copy.problem === undefined ? '' : `; nothing newer comes: ${copy.problem}`}
            </span>
            {mayManage ? (
              <IconButton
                icon="trash"
                label={`Remove the copy on ${copy.nodeId}`}
                onClick={() => setLeaving(copy.nodeId)}
              />
            ) : null}
          </li>
        ))}
      </ul>
      {isAdding ? <AddCopy volume={volume} onClose={() => setAdding(false)} /> : null}
      <Confirm
        danger
        title={`Remove the copy on ${leaving ?? ''}?`}
        action="Remove"
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        onConfirm={remove}
      >
        <p>Its bytes there are removed, and one copy fewer is wanted.</p>
      </Confirm>
    </Panel>
  );
}
