import { useState } from 'react';
import type { Role } from '../../../core/model/tenant.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button } from '../../components/button.tsx';
import { CopyLine } from '../../components/copy-line.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';

const ROLES: readonly (readonly [Role, string])[] = [
  ['viewer', 'viewer: reads everything but secrets'],
  ['deployer', 'deployer: workloads, jobs, volumes and backups'],
  ['secret-writer', 'secret-writer: writes and rotates secrets'],
  ['tenant-admin', 'tenant-admin: everything of the tenant'],
  ['metrics', 'metrics: /metrics of the installation, nothing else'],
  ['platform-admin', 'platform-admin: every tenant'],
];

/** Makes a token and shows it, once. */
export function CreateToken({ onClose }: { readonly onClose: () => void }) {
  const api = useApi();
  const { can, tenant } = useSession();
  const reread = useReread();
  const [name, setName] = useState('');
  const [role, setRole] = useState<string>('viewer');
  const [ttl, setTtl] = useState('2160h');
  const [made, setMade] = useState<string>();
  if (made !== undefined)
    return (
      <Dialog
        wide
        title={`Token ${name}`}
        note="Take it now: it is shown here and never again."
        isOpen
        onClose={onClose}
        actions={
          <Button tone="primary" onClick={onClose}>
            I have it
          </Button>
        }
      >
        <CopyLine label="Token" text={made} />
      </Dialog>
    );
  const create = async (): Promise<'stay'> => {
    const { token } = await api.call('POST /api/v1/tokens', {
      body: { name, role, ttl },
    });
    setMade(token);
    await reread('tokens');
    return 'stay';
  };
  return (
    <FormDialog
      title="New token"
      note={`For ${tenant.slug}.`}
      action="Make the token"
      paths={['name', 'role', 'ttl']}
      onClose={onClose}
      onSubmit={create}
    >
      <TextField
        path="name"
        label="Name"
        hint="What it is for, so that it is known when it is revoked."
        placeholder="ci"
        value={name}
        onChange={setName}
      />
      <SelectField
        path="role"
        label="Role"
        value={role}
        options={can('tenants.manage') ? ROLES : ROLES.slice(0, -2)}
        onChange={setRole}
      />
      <TextField
        path="ttl"
        label="Good for"
        hint="As 720h; at most 366 days."
        value={ttl}
        onChange={setTtl}
      />
    </FormDialog>
  );
}
