import { useQuery } from '@tanstack/react-query';
import { Menu } from '@base-ui/react/menu';
import { Icon } from '../components/icon.tsx';
import type { TenantSummary } from '../lib/records.ts';
import { useApi, useSession } from './session.tsx';

/** Platform administrators choose for which tenant they act; the choice is sent as X-Tenant-ID. Others see their own. */
export function TenantPicker() {
  const { tenant, can, chooseTenant } = useSession();
  const api = useApi();
  const isPlatform = can('tenants.manage');
  const { data: tenants = [] } = useQuery({
    queryKey: ['tenants'],
    queryFn: ({ signal }) => api.list<TenantSummary>('/api/v1/tenants', { signal }),
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
    <Menu.Root>
      <Menu.Trigger
        aria-label={`Tenant ${tenant.slug}: choose another`}
        className="flex w-full items-center justify-between gap-2 rounded-md border bg-sunken px-3 py-1.5 hover:border-line-strong"
      >
        {name}
        <Icon name="unfold" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="start" sideOffset={4} className="z-50 outline-none">
          <Menu.Popup className="max-h-[60vh] min-w-56 overflow-y-auto rounded-lg border bg-surface p-1 shadow-raised outline-none">
            <Menu.RadioGroup value={tenant.slug} onValueChange={chooseTenant}>
              {tenants.map(({ slug, name: title }) => (
                <Menu.RadioItem
                  key={slug}
                  value={slug}
                  closeOnClick
                  className="flex cursor-pointer items-center justify-between gap-6 rounded px-2.5 py-1.5 outline-none data-highlighted:bg-hover"
                >
                  <span>
                    <span className="block">{slug}</span>
                    {title === slug ? null : <span className="block text-xs text-muted">{title}</span>}
                  </span>
                  <Menu.RadioItemIndicator>
                    <Icon name="check" />
                  </Menu.RadioItemIndicator>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
