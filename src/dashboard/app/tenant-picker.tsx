import { useQuery } from '@tanstack/react-query';
import { Icon } from '../components/icon.tsx';
import { Dropdown } from './dropdown.tsx';
import { useApi, useSession } from './session.tsx';

/** Platform administrators choose for which tenant they act; the choice is sent as X-Tenant-ID. Others see their own. */
export function TenantPicker() {
  const { tenant, can, chooseTenant } = useSession();
  const api = useApi();
  const isPlatform = can('tenants.manage');
  const { data: tenants = [] } = useQuery({
    queryKey: ['tenants'],
    queryFn: ({ signal }) => api.list('GET /api/v1/tenants', { signal }),
    enabled: isPlatform,
  });
  const name = (
    <span className="min-w-0 text-left">
      <span className="block text-2xs text-faint">Tenant</span>
      <span className="block truncate font-medium">{tenant.slug}</span>
    </span>
  );
  if (!isPlatform) return <div className="rounded-md border bg-sunken px-3 py-1.5">{name}</div>;
  return (
    <Dropdown
      label={`Tenant ${tenant.slug}: choose another`}
      side="bottom"
      trigger={
        <>
          {name}
          <Icon name="unfold" />
        </>
      }
      choices={tenants.map(({ slug, name: title }) => ({
        value: slug,
        title: slug,
        ...(title === slug ? {} : { note: title }),
      }))}
      chosen={tenant.slug}
      onChoose={chooseTenant}
    />
  );
}
