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
import { Page } from '../components/page.tsx';
import { whoMay } from '../lib/who-may.ts';
import { PageTitleProvider } from './page-title.tsx';
import { type PageEntry, PAGES } from './pages.ts';
import { useSession } from './session.tsx';
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

/** A page whose address was typed or sent: what its role does not permit is not offered there either. */
function guarded({ title, permission, component: Component }: PageEntry): PageEntry['component'] {
  if (permission === undefined) return Component;
  function Guarded() {
    const { can } = useSession();
    if (permission === undefined || can(permission)) return <Component />;
    return (
      <Page title={title}>
        <EmptyState title="This page is not for your role" icon="key">
          <p>{whoMay(permission)}</p>
          <ButtonLink to="/">Back to the overview</ButtonLink>
        </EmptyState>
      </Page>
    );
  }
  const { preload } = Component;
  return Object.assign(Guarded, preload === undefined ? {} : { preload });
}

export function createDashboardRouter() {
  const root = createRootRoute({ component: Root, notFoundComponent: NotFound });
  const routes = PAGES.map((page) =>
    createRoute({ getParentRoute: () => root, path: page.path, component: guarded(page) }),
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
