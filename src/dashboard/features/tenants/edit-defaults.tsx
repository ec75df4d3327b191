import { keysOf } from '../../../core/model/values.ts';
import type { TenantView } from '../../lib/records.ts';
import { unjudged } from '../../../sdk/index.ts';
import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import { numberOrText } from '../../lib/draft.ts';
import { useRereadTenants } from './tenant-queries.ts';

const LABELS = {
  memory: 'Memory, where a workload has no limit',
  pids: 'Processes and threads',
  cpuWeight: 'Share of a busy processor',
  logSize: 'Kept of the output',
} as const;
type Field = keyof typeof LABELS;
const FIELDS = keysOf(LABELS);

/** What bounds the new containers of a tenant; an empty field is the platform's, which it shows. */
export function EditDefaults({
  tenant: { id, slug, containerDefaults },
  onClose,
}: {
  readonly tenant: TenantView;
  readonly onClose: () => void;
}) {
  const api = useApi();
  const reread = useRereadTenants();
  const { done } = useToast();
  const { set, effective } = containerDefaults;
  const [draft, setDraft] = useState<Readonly<Partial<Record<Field, string>>>>(
    Object.fromEntries(Object.entries(set).map(([field, value]) => [field, String(value)])),
  );
  const save = async () => {
    const { memory = '', pids = '', cpuWeight = '', logSize = '' } = draft;
    const body = {
      ...(memory === '' ? {} : { memory }),
      pids: numberOrText(pids),
      cpuWeight: numberOrText(cpuWeight),
      ...(logSize === '' ? {} : { logSize }),
    };
    await api.call('PUT /api/v1/tenants/{tenant}/container-defaults', {
      params: { tenant: id },
      body: unjudged(body),
    });
    done(`The defaults of ${slug} are set; containers that run keep theirs.`);
    await reread();
  };
  return (
    <FormDialog
      title={`Defaults of ${slug}`}
      note="What bounds new containers where their workload does not. Empty: as the platform has it."
      action="Save"
      paths={FIELDS}
      onClose={onClose}
      onSubmit={save}
    >
      {FIELDS.map((field) => (
        <TextField
          key={field}
          path={field}
          label={LABELS[field]}
          placeholder={set[field] === undefined ? String(effective[field]) : ''}
          value={draft[field] ?? ''}
          onChange={(value) => setDraft({ ...draft, [field]: value })}
        />
      ))}
    </FormDialog>
  );
}
