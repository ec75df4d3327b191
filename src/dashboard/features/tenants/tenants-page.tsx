import type { TenantView } from '../../lib/records.ts';
import { useMemo, useState } from 'react';
import { useWindow } from '../../app/address.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { TightestQuota } from '../../components/quota-meters.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { bytes, cores, count } from '../../lib/format.ts';
import { EditDefaults } from './edit-defaults.tsx';
import { CreateTenant, EditQuota } from './tenant-dialogs.tsx';
import { useRereadTenants, useTenants } from './tenant-queries.ts';

const PLATFORM = 'platform';

function quotaText({ quota }: TenantView): string {
  const limits = [
    quota.containers === undefined ? undefined : count(quota.containers, 'container'),
    quota.cpu === undefined ? undefined : cores(quota.cpu),
    quota.memoryBytes === undefined ? undefined : bytes(quota.memoryBytes),
    quota.streams === undefined ? undefined : count(quota.streams, 'stream'),
    ...Object.entries(quota.records ?? {}).map(([kind, most]) => `${most} ${kind}`),
    ...Object.entries(quota.bytes ?? {}).map(([kind, most]) => `${bytes(most)} of ${kind}`),
  ].filter((limit) => limit !== undefined);
  return limits.length === 0 ? 'no limits' : limits.join(', ');
}

type Open = { readonly kind: 'quota' | 'defaults' | 'delete'; readonly tenant: TenantView };

export function TenantsPage() {
  const api = useApi();
  const { tenant: own, chooseTenant } = useSession();
  const reread = useRereadTenants();
  const { done } = useToast();
  const { data, error } = useTenants();
  const [isCreating, setCreating] = useWindow('new');
  const [open, setOpen] = useState<Open>();
  const columns = useMemo<readonly Column<TenantView>[]>(
    () => [
      {
        title: 'Tenant',
        width: '20%',
        sortBy: ({ slug }) => slug,
        cell: ({ slug, id }) => (
          <span className="flex items-center gap-2">
            <span className="truncate font-medium">{slug}</span>
            {id === own.id ? <Badge tone="info">acting for</Badge> : null}
          </span>
        ),
      },
      {
        title: 'Name',
        width: '13%',
        wide: true,
        sortBy: ({ name }) => name,
        cell: ({ name }) => <span className="text-muted">{name}</span>,
      },
      {
        title: 'Quota',
        wide: true,
        cell: (tenant) => (
          <div title={quotaText(tenant)}>
            {tenant.standing === undefined || tenant.standing.quota.length === 0 ? null : (
              <TightestQuota quota={tenant.standing.quota} />
            )}
            <span className="block truncate pt-1 text-xs text-muted">{quotaText(tenant)}</span>
          </div>
        ),
      },
      {
        title: 'Created',
        width: '7rem',
        wide: true,
        sortBy: ({ createdAt }) => -Date.parse(createdAt),
        cell: ({ createdAt }) => <TimeAgo time={createdAt} />,
      },
      {
        title: 'Actions',
        width: '18.5rem',
        below: true,
        cell: (tenant) => (
          <span className="flex items-center gap-1">
            <Button
              small
              disabled={tenant.id === own.id}
              aria-label={`Act for ${tenant.slug}`}
              onClick={() => chooseTenant(tenant.slug)}
            >
              Act for
            </Button>
            <Button
              small
              aria-label={`Quota of ${tenant.slug}`}
              onClick={() => setOpen({ kind: 'quota', tenant })}
            >
              Quota
            </Button>
            <Button
              small
              aria-label={`Defaults of ${tenant.slug}`}
              onClick={() => setOpen({ kind: 'defaults', tenant })}
            >
              Defaults
            </Button>
            {tenant.slug === PLATFORM ? null : (
              <IconButton
                icon="trash"
                label={`Delete ${tenant.slug}`}
                onClick={() => setOpen({ kind: 'delete', tenant })}
              />
            )}
          </span>
        ),
      },
    ],
    [own.id, chooseTenant],
  );
  const remove = async () => {
    const { id, slug } = open?.tenant ?? { id: '', slug: '' };
    await api.call('DELETE /api/v1/tenants/{tenant}', { params: { tenant: id } });
    done(`Tenant ${slug} is deleted.`);
    if (id === own.id) chooseTenant(PLATFORM);
    await reread();
  };
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Tenants"
      note="Of the whole platform."
      actions={
        <Button tone="primary" icon="plus" onClick={() => setCreating(true)}>
          New tenant
        </Button>
      }
    >
      <RecordTable
        label="Tenants"
        one="tenant"
        rows={data}
        error={error}
        columns={columns}
        rowKey={({ id }) => id}
        rowHeight={64}
        detail={quotaText}
        textOf={({ slug, name, id }) => `${slug} ${name} ${id}`}
        empty={<EmptyState title="No tenants" icon="building" />}
      />
      {isCreating ? <CreateTenant onClose={() => setCreating(false)} /> : null}
      {open?.kind === 'quota' ? <EditQuota tenant={open.tenant} onClose={close} /> : null}
      {open?.kind === 'defaults' ? <EditDefaults tenant={open.tenant} onClose={close} /> : null}
      <Confirm
        danger
        title={`Delete ${open?.tenant.slug ?? ''}?`}
        action="Delete"
        typed={open?.tenant.slug ?? ''}
        isOpen={open?.kind === 'delete'}
        onClose={close}
        onConfirm={remove}
      >
        <p>Its tokens, secrets, backups and history go with it. Refused while it has anything else left.</p>
      </Confirm>
    </Page>
  );
}
