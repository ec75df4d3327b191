// First: its questions are under way while the rest of the application runs.
import './begin.ts';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { askAgain } from './app/ask-again.ts';
import { LiveProvider } from './app/live.tsx';
import { prepared } from './app/prepared.ts';
import { createDashboardRouter } from './app/router.tsx';
import { SessionProvider } from './app/session.tsx';
import { Toasts } from './components/toast.tsx';
import { RejectionError } from '../sdk/index.ts';
import { followSystemTheme } from './lib/theme.ts';
import './style.css';

followSystemTheme();

const queries = new QueryClient({
  queryCache: new QueryCache(askAgain(() => queries)),
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // Events keep it fresh; this is for what no event tells of.
      refetchInterval: 30_000,
      // A refusal is an answer: asking again brings the same one. Where nothing answers, the client has asked again itself.
      retry: (count, error) => error instanceof RejectionError && error.status >= 500 && count < 2,
    },
  },
});
const router = createDashboardRouter();

async function start(): Promise<void> {
  const root = document.getElementById('root');
  if (root === null) throw new Error('the page has no place for the application');
  // The code of the page comes while the control plane is asked who this is.
  await prepared(queries, router.load());
  createRoot(root).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queries}>
          <Toasts>
            <SessionProvider>
              <LiveProvider>
                <RouterProvider router={router} />
              </LiveProvider>
            </SessionProvider>
          </Toasts>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}

// Nothing waits for the whole of this file: code of pages imports it, and would wait for itself.
void start();
