import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import { numberOrText } from '../../lib/draft.ts';
import { type TenantView, useRereadTenants } from './tenant-queries.ts';

export function CreateTenant({ onClose }: { readonly onClose: () => void }) {
  const api = useApi();
  const reread = useRereadTenants();
  const { done } = useToast();
  const [slug, setSlug] = useState('');
  const [name, setName] = useState('');
  const create = async () => {
    await api.call('POST', '/api/v1/tenants', { body: { slug, ...(name === '' ? {} : { name }) } });
    done(`Tenant ${slug} is created. Act for it, and make a token for its administrator.`);
    await reread();
  };
  return (
    <FormDialog
      title="New tenant"
      note="Nodes, workloads, secrets and history of a tenant are its own."
      action="Create"
      paths={['slug', 'name']}
      onClose={onClose}
      onSubmit={create}
    >
      <TextField
        path="slug"
        label="Short name"
        hint="Lowercase letters, digits and hyphens; it stays."
        placeholder="acme"
        value={slug}
        onChange={setSlug}
      />
      <TextField path="name" label="Display name" placeholder="Acme" value={name} onChange={setName} />
    </FormDialog>
  );
}

const GIB = 2 ** 30;

export function EditQuota({
  tenant,
  onClose,
}: {
  readonly tenant: TenantView;
  readonly onClose: () => void;
}) {
  const api = useApi();
  const reread = useRereadTenants();
  const { done } = useToast();
  const { containers, cpu, memoryBytes } = tenant.quota;
  const [draft, setDraft] = useState({
    containers: containers === undefined ? '' : String(containers),
    cpu: cpu === undefined ? '' : String(cpu),
    memory: memoryBytes === undefined ? '' : String(memoryBytes / GIB),
  });
  const set = (field: keyof typeof draft) => (value: string) => setDraft({ ...draft, [field]: value });
  const save = async () => {
    const memory = numberOrText(draft.memory);
    const body = {
      containers: numberOrText(draft.containers),
      cpu: numberOrText(draft.cpu),
      memoryBytes: typeof memory === 'number' ? Math.round(memory * GIB) : memory,
    };
    await api.call('PUT', `/api/v1/tenants/${tenant.id}/quota`, { body });
    done(`The quota of ${tenant.slug} is set.`);
    await reread();
  };
  return (
    <FormDialog
      title={`Quota of ${tenant.slug}`}
      note="Empty: no limit. A quota that is reached stops new containers and shrinks nothing."
      action="Save"
      paths={['containers', 'cpu', 'memoryBytes']}
      onClose={onClose}
      onSubmit={save}
    >
      <TextField
        path="containers"
        label="Containers"
        inputMode="numeric"
        value={draft.containers}
        onChange={set('containers')}
      />
      <TextField
        path="cpu"
        label="CPU in cores"
        inputMode="decimal"
        value={draft.cpu}
        onChange={set('cpu')}
      />
      <TextField
        path="memoryBytes"
        label="Memory in GiB"
        inputMode="decimal"
        value={draft.memory}
        onChange={set('memory')}
      />
    </FormDialog>
  );
}
