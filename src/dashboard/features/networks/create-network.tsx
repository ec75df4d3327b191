import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { useRecords, useReread } from '../../app/use-records.ts';
import { SelectField, TextField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { MapEditor } from '../../components/map-editor.tsx';
import { useToast } from '../../components/toast.tsx';

export function CreateNetwork({ onClose }: { readonly onClose: () => void }) {
  const api = useApi();
  const reread = useReread();
  const { done } = useToast();
  const { data: nodes = [] } = useRecords('nodes', 'GET /api/v1/nodes');
  const [name, setName] = useState('');
  const [nodeId, setNodeId] = useState('');
  const [isInternal, setInternal] = useState(false);
  const [labels, setLabels] = useState<Readonly<Record<string, string>>>({});
  const create = async () => {
    const body = {
      name,
      internal: isInternal,
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      ...(nodeId === '' ? {} : { nodeId }),
    };
    await api.call('POST /api/v1/networks', { body });
    done(`Network ${name} is stored; its node makes it.`);
    await reread('networks');
  };
  return (
    <FormDialog
      title="New network"
      action="Create"
      paths={['name', 'nodeId', 'labels']}
      onClose={onClose}
      onSubmit={create}
    >
      <TextField path="name" label="Name" placeholder="backend" value={name} onChange={setName} />
      <SelectField
        path="nodeId"
        label="Node"
        value={nodeId}
        options={[
          ['', 'the only one that is available'],
          ...nodes.map((node) => [node.name, node.name] as const),
        ]}
        onChange={setNodeId}
      />
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          checked={isInternal}
          onChange={(event) => setInternal(event.target.checked)}
          className="accent-(--accent)"
        />
        Internal: without a route out
      </label>
      <MapEditor path="labels" label="Labels" value={labels} onChange={setLabels} />
    </FormDialog>
  );
}
