import { createContext, type ReactNode, use, useEffect, useMemo, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import type { LiveState } from '../../sdk/index.ts';
import type { Event } from '../lib/records.ts';
import { useReachable } from './reachable.ts';
import { useApi, useSession } from './session.tsx';
import { applyEvents } from './live-updates.ts';

type Listener = (event: Event) => void;

interface Live {
  readonly state: LiveState;
  readonly subscribe: (listener: Listener) => () => void;
}

const LiveContext = createContext<Live>({ state: 'connecting', subscribe: () => () => undefined });

/** Events of one moment are batched, so that a rollout of many instances costs a few reads. */
const GATHER_MS = 250;

const PATIENCE_MS = 10_000;

/**
 * Whether the page is visible. Browsers allow few connections to one host, and every open tab would keep one of them: a tab
 * that has been out of sight for a while gives its stream up until it is back.
 */
function useSeen(): boolean {
  const [isSeen, setSeen] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'visible') setSeen(true);
      else timer = setTimeout(() => setSeen(false), PATIENCE_MS);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, []);
  return isSeen;
}

/** Keeps what is shown in step with the tenant's events: each says which records may have changed. */
export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const api = useApi();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const [state, setState] = useState<LiveState>('connecting');
  const isSeen = useSeen();
  const { isReachable, returns } = useReachable(isSeen);
  const listeners = useRef(new Set<Listener>());

  useEffect(() => {
    if (!isSeen) return undefined;
    const controller = new AbortController();
    let gathered: Event[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let wasLost = returns > 0;
    const flush = () => {
      timer = undefined;
      const events = gathered;
      gathered = [];
      void applyEvents(queries, api, tenant.id, events);
    };
    const onState = (next: LiveState) => {
      setState(next);
      // Without a last event there is nothing to resume after: what happened meanwhile is refetched.
      if (next === 'live' && wasLost) void queries.invalidateQueries({ queryKey: [tenant.id] });
      wasLost = next === 'reconnecting';
    };
    const read = async () => {
      for await (const event of api.events({ signal: controller.signal, onState })) {
        for (const listener of listeners.current) listener(event);
        gathered.push(event);
        timer ??= setTimeout(flush, GATHER_MS);
      }
    };
    // It ends when nobody looks, or is refused: then other reads tell why.
    void read().catch(() => undefined);
    return () => {
      controller.abort();
      clearTimeout(timer);
      // Whatever happens until it is opened again was not heard.
      void queries.invalidateQueries({ queryKey: [tenant.id], refetchType: 'none' });
    };
  }, [api, queries, tenant.id, isSeen, returns]);

  const live = useMemo<Live>(
    () => ({
      state: isReachable ? state : 'reconnecting',
      subscribe: (listener) => {
        listeners.current.add(listener);
        return () => void listeners.current.delete(listener);
      },
    }),
    [state, isReachable],
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
