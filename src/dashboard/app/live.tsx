import { createContext, type ReactNode, use, useEffect, useMemo, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { type LiveState, readLive } from '../lib/live-stream.ts';
import type { Event } from '../lib/records.ts';
import { useApi, useSession } from './session.tsx';
import { applyEvents } from './live-updates.ts';

type Listener = (event: Event) => void;

interface Live {
  readonly state: LiveState;
  readonly subscribe: (listener: Listener) => () => void;
}

const LiveContext = createContext<Live>({ state: 'connecting', subscribe: () => () => undefined });

/** Events of one moment are looked at together, so that a rollout of many instances costs a few reads. */
const GATHER_MS = 250;

/** Keeps what is shown in step with the tenant's events: each says which records may have changed. */
export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const api = useApi();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const [state, setState] = useState<LiveState>('connecting');
  const listeners = useRef(new Set<Listener>());

  useEffect(() => {
    const controller = new AbortController();
    let gathered: Event[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let wasLost = false;
    const flush = () => {
      timer = undefined;
      const events = gathered;
      gathered = [];
      void applyEvents(queries, api, tenant.id, events);
    };
    void readLive(
      api,
      {
        path: '/api/v1/events',
        reconnect: true,
        onState: (next) => {
          setState(next);
          // Without a last event there is nothing to resume after: what happened meanwhile is read anew.
          if (next === 'live' && wasLost) void queries.invalidateQueries({ queryKey: [tenant.id] });
          wasLost = next === 'reconnecting';
        },
        onFrame: ({ data }) => {
          const event = JSON.parse(data) as Event;
          for (const listener of listeners.current) listener(event);
          gathered.push(event);
          timer ??= setTimeout(flush, GATHER_MS);
        },
      },
      controller.signal,
    );
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [api, queries, tenant.id]);

  const live = useMemo<Live>(
    () => ({
      state,
      subscribe: (listener) => {
        listeners.current.add(listener);
        return () => void listeners.current.delete(listener);
      },
    }),
    [state],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

export function useLiveState(): LiveState {
  return use(LiveContext).state;
}

/** Calls the listener with each event of the tenant as it is published. */
export function useLiveEvents(listener: Listener): void {
  const { subscribe } = use(LiveContext);
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => subscribe((event) => latest.current(event)), [subscribe]);
}
