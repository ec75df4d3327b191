import type { ContainerDefaults } from '../../core/model/container-defaults.ts';
import type { TenantStore } from './store.ts';

/** What the tenant has set over what the platform gives everybody. */
export function containerDefaultsOf(tenant: TenantStore, platform: ContainerDefaults): ContainerDefaults {
  const set = tenant.get('container-defaults', 'defaults')?.record;
  return set === undefined ? platform : { ...platform, ...set };
}
