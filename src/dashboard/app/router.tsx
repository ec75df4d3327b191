import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Outlet,
} from '@tanstack/react-router';
import { ErrorNotice } from '../components/error-notice.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { ButtonLink } from '../components/button.tsx';
import { Loading } from '../components/loading.tsx';
import { PageTitleProvider } from './page-title.tsx';
import { PAGES } from './pages.ts';
import { Shell } from './shell.tsx';
import { ShortcutKeys } from './shortcut-keys.tsx';

function NotFound() {
  return (
    <EmptyState title="There is no such page" icon="compass">
      <ButtonLink to="/">Back to the overview</ButtonLink>
    </EmptyState>
  );
}

function PageError({ error }: ErrorComponentProps) {
  return <ErrorNotice error={error} />;
}

function Root() {
  return (
    <PageTitleProvider>
      <ShortcutKeys>
        <Shell>
          <Outlet />
        </Shell>
      </ShortcutKeys>
    </PageTitleProvider>
  );
}

export function createDashboardRouter() {
  const root = createRootRoute({ component: Root, notFoundComponent: NotFound });
  const routes = PAGES.map(({ path, component }) =>
    createRoute({ getParentRoute: () => root, path, component }),
  );
  return createRouter({
    routeTree: root.addChildren(routes),
    defaultPreload: 'intent',
    defaultErrorComponent: PageError,
    defaultPendingComponent: Loading,
    defaultNotFoundComponent: NotFound,
    scrollRestoration: true,
  });
}
