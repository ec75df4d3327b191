import { keysOf } from '../../../core/model/values.ts';
import type { TenantView } from '../../lib/records.ts';
import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import { numberOrText } from '../../lib/draft.ts';
import { changeQuota, useRereadTenants } from './tenant-queries.ts';
import { TenantUsage } from './tenant-usage.tsx';

export function CreateTenant({ onClose }: { readonly onClose: () => void }) {
  const api = useApi();
  const reread = useRereadTenants();
  const { done } = useToast();
  const [slug, setSlug] = useState('');
  const [name, setName] = useState('');
  const create = async () => {
    await api.call('POST /api/v1/tenants', { body: { slug, ...(name === '' ? {} : { name }) } });
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
        hint="Lowercase letters, digits and hyphens; cannot be changed."
        placeholder="acme"
        value={slug}
        onChange={setSlug}
      />
      <TextField path="name" label="Display name" placeholder="Acme" value={name} onChange={setName} />
    </FormDialog>
  );
}

const GIB = 2 ** 30;
const textOf = (limit: number | undefined, unit = 1): string =>
  limit === undefined ? '' : String(limit / unit);

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
  const { containers, cpu, memoryBytes, streams } = tenant.quota;
  const before = {
    containers: textOf(containers),
    cpu: textOf(cpu),
    memoryBytes: textOf(memoryBytes, GIB),
    streams: textOf(streams),
  };
  const [draft, setDraft] = useState(before);
  const set = (field: keyof typeof draft) => (value: string) => setDraft({ ...draft, [field]: value });
  const save = async () => {
    const memory = numberOrText(draft.memoryBytes);
    const entered = {
      containers: numberOrText(draft.containers),
      cpu: numberOrText(draft.cpu),
      memoryBytes: typeof memory === 'number' ? Math.round(memory * GIB) : memory,
      streams: numberOrText(draft.streams),
    };
    const fields = keysOf(before);
    const changed = fields.filter((field) => draft[field] !== before[field]);
    await changeQuota(api, tenant.id, Object.fromEntries(changed.map((field) => [field, entered[field]])));
    done(`The quota of ${tenant.slug} is set.`);
    await reread();
  };
  return (
    <FormDialog
      title={`Quota of ${tenant.slug}`}
      note="Empty: no limit; of streams, that of the platform. A quota that is reached stops what would add and shrinks nothing. Other limits stay as they are."
      action="Save"
      paths={['containers', 'cpu', 'memoryBytes', 'streams']}
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
        value={draft.memoryBytes}
        onChange={set('memoryBytes')}
      />
      <TextField
        path="streams"
        label="Streams at a time"
        inputMode="numeric"
        value={draft.streams}
        onChange={set('streams')}
      />
      <TenantUsage id={tenant.id} />
    </FormDialog>
  );
}
