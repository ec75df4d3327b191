import { lazyRouteComponent } from '@tanstack/react-router';
import type { Permission } from '../../core/model/permission.ts';
import type { IconName } from '../components/icon.tsx';

export interface PageEntry {
  /** With `$name` parameters. */
  readonly path: string;
  readonly title: string;
  /** In the navigation; absent: a page that is reached from another. */
  readonly nav?: { readonly group: NavGroup; readonly icon: IconName };
  /** Shown, and named in the navigation, to whom the role permits it; absent: to everybody. */
  readonly permission?: Permission;
  readonly component: ReturnType<typeof lazyRouteComponent>;
}

export type NavGroup = 'Run' | 'Platform' | 'History' | 'Access';

export const NAV_GROUPS: readonly NavGroup[] = ['Run', 'Platform', 'History', 'Access'];

/** Every page, in the order of the navigation. A page is one entry here and one file in its feature's folder. */
export const PAGES: readonly PageEntry[] = [
  {
    path: '/',
    title: 'Overview',
    nav: { group: 'Run', icon: 'gauge' },
    component: lazyRouteComponent(() => import('../features/overview/overview-page.tsx'), 'OverviewPage'),
  },
  {
    path: '/deployments',
    title: 'Deployments',
    nav: { group: 'Run', icon: 'layers' },
    component: lazyRouteComponent(
      () => import('../features/deployments/deployments-page.tsx'),
      'DeploymentsPage',
    ),
  },
  {
    path: '/deployments/$name',
    title: 'Deployment',
    component: lazyRouteComponent(
      () => import('../features/deployments/deployment-page.tsx'),
      'DeploymentPage',
    ),
  },
  {
    path: '/deployments/new',
    title: 'New deployment',
    permission: 'deploy',
    component: lazyRouteComponent(
      () => import('../features/deployments/editor-page.tsx'),
      'NewDeploymentPage',
    ),
  },
  {
    path: '/deployments/$name/edit',
    title: 'Edit deployment',
    permission: 'deploy',
    component: lazyRouteComponent(
      () => import('../features/deployments/editor-page.tsx'),
      'EditDeploymentPage',
    ),
  },
  {
    path: '/deployments/$name/instances/$instance',
    title: 'Instance',
    component: lazyRouteComponent(() => import('../features/deployments/instance-page.tsx'), 'InstancePage'),
  },
  {
    path: '/deployments/$name/explain',
    title: 'Placement',
    component: lazyRouteComponent(() => import('../features/explain/explain-page.tsx'), 'ExplainPage'),
  },
  {
    path: '/jobs',
    title: 'Jobs',
    nav: { group: 'Run', icon: 'clock' },
    component: lazyRouteComponent(() => import('../features/jobs/jobs-page.tsx'), 'JobsPage'),
  },
  {
    path: '/jobs/new',
    title: 'New job',
    permission: 'deploy',
    component: lazyRouteComponent(() => import('../features/jobs/job-editor-page.tsx'), 'NewJobPage'),
  },
  {
    path: '/jobs/$name/edit',
    title: 'Edit job',
    permission: 'deploy',
    component: lazyRouteComponent(() => import('../features/jobs/job-editor-page.tsx'), 'EditJobPage'),
  },
  {
    path: '/jobs/$name',
    title: 'Job',
    component: lazyRouteComponent(() => import('../features/jobs/job-page.tsx'), 'JobPage'),
  },
  {
    path: '/nodes',
    title: 'Nodes',
    nav: { group: 'Platform', icon: 'server' },
    component: lazyRouteComponent(() => import('../features/nodes/nodes-page.tsx'), 'NodesPage'),
  },
  {
    path: '/nodes/$name',
    title: 'Node',
    component: lazyRouteComponent(() => import('../features/nodes/node-page.tsx'), 'NodePage'),
  },
  {
    path: '/topology',
    title: 'Topology',
    nav: { group: 'Platform', icon: 'compass' },
    component: lazyRouteComponent(() => import('../features/topology/topology-page.tsx'), 'TopologyPage'),
  },
  {
    path: '/volumes',
    title: 'Volumes',
    nav: { group: 'Platform', icon: 'disk' },
    component: lazyRouteComponent(() => import('../features/volumes/volumes-page.tsx'), 'VolumesPage'),
  },
  {
    path: '/volumes/$id',
    title: 'Volume',
    component: lazyRouteComponent(() => import('../features/volumes/volume-page.tsx'), 'VolumePage'),
  },
  {
    path: '/recommendations',
    title: 'Recommendations',
    nav: { group: 'Platform', icon: 'bulb' },
    component: lazyRouteComponent(
      () => import('../features/recommendations/recommendations-page.tsx'),
      'RecommendationsPage',
    ),
  },
  {
    path: '/secrets',
    title: 'Secrets',
    nav: { group: 'Platform', icon: 'key' },
    permission: 'secrets.read',
    component: lazyRouteComponent(() => import('../features/secrets/secrets-page.tsx'), 'SecretsPage'),
  },
  {
    path: '/secrets/$namespace/$name',
    title: 'Secret',
    permission: 'secrets.read',
    component: lazyRouteComponent(() => import('../features/secrets/secret-page.tsx'), 'SecretPage'),
  },
  {
    path: '/networks',
    title: 'Network',
    nav: { group: 'Platform', icon: 'network' },
    component: lazyRouteComponent(() => import('../features/networks/networks-page.tsx'), 'NetworksPage'),
  },
  {
    path: '/events',
    title: 'Events',
    nav: { group: 'History', icon: 'pulse' },
    component: lazyRouteComponent(() => import('../features/events/events-page.tsx'), 'EventsPage'),
  },
  {
    path: '/webhooks',
    title: 'Webhooks',
    nav: { group: 'History', icon: 'external' },
    component: lazyRouteComponent(() => import('../features/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
  },
  {
    path: '/webhooks/$name',
    title: 'Webhook',
    component: lazyRouteComponent(() => import('../features/webhooks/webhook-page.tsx'), 'WebhookPage'),
  },
  {
    path: '/backups',
    title: 'Backups',
    nav: { group: 'History', icon: 'box' },
    component: lazyRouteComponent(() => import('../features/backups/backups-page.tsx'), 'BackupsPage'),
  },
  {
    path: '/audit',
    title: 'Audit',
    nav: { group: 'History', icon: 'scroll' },
    permission: 'audit.read',
    component: lazyRouteComponent(() => import('../features/audit/audit-page.tsx'), 'AuditPage'),
  },
  {
    path: '/all-tenants',
    title: 'All tenants',
    nav: { group: 'Run', icon: 'building' },
    permission: 'tenants.manage',
    component: lazyRouteComponent(() => import('../features/tenants/all-tenants-page.tsx'), 'AllTenantsPage'),
  },
  {
    path: '/tokens',
    title: 'Tokens',
    nav: { group: 'Access', icon: 'user' },
    permission: 'tokens.manage',
    component: lazyRouteComponent(() => import('../features/tokens/tokens-page.tsx'), 'TokensPage'),
  },
  {
    path: '/tenants',
    title: 'Tenants',
    nav: { group: 'Access', icon: 'building' },
    permission: 'tenants.manage',
    component: lazyRouteComponent(() => import('../features/tenants/tenants-page.tsx'), 'TenantsPage'),
  },
];

/** Whether there is such a page, and the role may see it. */
export function mayOpen(path: string, can: (permission: Permission) => boolean): boolean {
  return PAGES.some((page) => page.path === path && (page.permission === undefined || can(page.permission)));
}
