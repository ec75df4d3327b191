import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Permission } from '../../core/model/permission.ts';
import { type Client, RejectionError } from '../../sdk/index.ts';
import { apiOf } from '../lib/api.ts';
import { forgetBegun, TENANT_KEY } from '../lib/begun.ts';
import { forgetDrafts, sessionBegun, sessionEnded } from '../lib/kept-drafts.ts';
import type { SessionView, TenantSummary } from '../lib/records.ts';
import { chosenTenant, sessionQuery } from './session-query.ts';
import { SignIn } from '../features/session/sign-in.tsx';
import { Starting, Unreachable } from '../features/session/starting.tsx';

interface Session {
  readonly view: SessionView;
  readonly tenant: TenantSummary;
  readonly can: (permission: Permission) => boolean;
  readonly chooseTenant: (slug: string) => void;
  readonly signOut: () => Promise<void>;
}

const SessionContext = createContext<Session | undefined>(undefined);
const ApiContext = createContext<Client | undefined>(undefined);

export function useSession(): Session {
  const session = use(SessionContext);
  if (session === undefined) throw new Error('there is no session here');
  return session;
}

/** The control plane as the signed-in caller, for the chosen tenant. */
export function useApi(): Client {
  const api = use(ApiContext);
  if (api === undefined) throw new Error('there is no session here');
  return api;
}

/** Tabs share one session: signing out in one of them is told to the others. */
const TABS = new BroadcastChannel('berth.signed-out');

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient();
  const [chosen, setChosen] = useState(chosenTenant);
  const [ended, setEnded] = useState(false);
  const { data, error, refetch } = useQuery(sessionQuery(chosen));
  const view = data ?? undefined;

  const close = useCallback(() => {
    forgetBegun();
    queries.setQueriesData({ queryKey: ['session'] }, null);
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
  }, [queries]);
  const onSignedOut = useCallback(() => {
    setEnded(true);
    sessionEnded();
    close();
  }, [close]);
  useEffect(() => {
    const leave = () => {
      forgetDrafts();
      close();
    };
    TABS.addEventListener('message', leave);
    return () => TABS.removeEventListener('message', leave);
  }, [close]);

  const api = useMemo(
    () =>
      view === undefined
        ? undefined
        : apiOf({
            tenant: view.tenant.id,
            chosen,
            onSignedOut,
            ...(view.csrfToken === undefined ? {} : { csrfToken: view.csrfToken }),
          }),
    [view, chosen, onSignedOut],
  );

  const session = useMemo<Session | undefined>(
    () =>
      view && {
        view,
        tenant: view.tenant,
        can: (permission) => view.permissions.includes(permission),
        chooseTenant: (slug) => {
          localStorage.setItem(TENANT_KEY, slug);
          setChosen(slug);
        },
        signOut: async () => {
          forgetDrafts();
          try {
            await api?.call('DELETE /api/v1/session');
          } catch (error) {
            // Over already is what was wanted.
            if (!(error instanceof RejectionError && error.status === 401)) {
              sessionBegun();
              throw error;
            }
          }
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches its own origin only.
          TABS.postMessage('signed out');
          close();
        },
      },
    [view, api, close],
  );

  if (session !== undefined && api !== undefined)
    return (
      <SessionContext value={session}>
        <ApiContext value={api}>{children}</ApiContext>
      </SessionContext>
    );
  if (data === null)
    return (
      <SignIn
        notice={ended ? 'Your session has ended. Sign in again to go on.' : undefined}
        onSignedIn={() => {
          setEnded(false);
          sessionBegun();
          void refetch();
        }}
      />
    );
  return error === null ? <Starting /> : <Unreachable error={error} onRetry={() => void refetch()} />;
}
