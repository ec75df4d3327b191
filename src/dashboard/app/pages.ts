import { lazyRouteComponent } from '@tanstack/react-router';
import type { Permission } from '../../core/model/permission.ts';
import type { IconName } from '../components/icon.tsx';

export interface Page {
  /** With `$name` parameters. */
  readonly path: string;
  readonly title: string;
  /** In the navigation; absent: a page that is reached from another. */
  readonly nav?: { readonly group: NavGroup; readonly icon: IconName };
  /** Shown in the navigation to whom the role permits it; absent: to everybody. */
  readonly permission?: Permission;
  readonly component: ReturnType<typeof lazyRouteComponent>;
}

export type NavGroup = 'Run' | 'Platform' | 'History' | 'Access';

export const NAV_GROUPS: readonly NavGroup[] = ['Run', 'Platform', 'History', 'Access'];

/** Every page, in the order of the navigation. A page is one entry here and one file in its feature's folder. */
export const PAGES: readonly Page[] = [
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
    component: lazyRouteComponent(
      () => import('../features/deployments/editor-page.tsx'),
      'NewDeploymentPage',
    ),
  },
  {
    path: '/deployments/$name/edit',
    title: 'Edit deployment',
    component: lazyRouteComponent(
      () => import('../features/deployments/editor-page.tsx'),
      'EditDeploymentPage',
    ),
  },
  {
    path: '/deployments/$name/explain',
    title: 'Placement',
    component: lazyRouteComponent(() => import('../features/explain/explain-page.tsx'), 'ExplainPage'),
  },
];
