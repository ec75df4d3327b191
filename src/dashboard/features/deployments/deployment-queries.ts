import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi, useSession } from '../../app/session.tsx';
import { FIRST_ROWS, hasBegunDeployments } from '../../lib/begun.ts';
import type { Failure, InstanceDetail } from '../../lib/records.ts';

/** All deployments of the tenant; the first of them are shown while the rest is read. */
export function useDeployments() {
  const api = useApi();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const queryKey = [tenant.id, 'deployments'];
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const isFirst = queries.getQueryData(queryKey) === undefined;
      // Of what changed before the stream of events was open nobody would tell.
      const isWhole = !hasBegunDeployments();
      const first = isFirst
        ? await api.call('GET /api/v1/deployments', { query: { limit: FIRST_ROWS }, signal })
        : [];
      if (isFirst && isWhole && first.length < FIRST_ROWS) return first;
      if (isFirst) queries.setQueryData(queryKey, first);
      return api.list('GET /api/v1/deployments', { signal });
    },
    // Long lists are kept up to date by events; reading them whole is for what those do not tell.
    refetchInterval: ({ state }) => ((state.data?.length ?? 0) > 500 ? 120_000 : 20_000),
  });
}

/** Counts of a rollout move between two events, too. */
const ROLLOUT_MS = 2000;
const CALM_MS = 15_000;

export function useDeployment(name: string) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'deployment', name],
    queryFn: ({ signal }) => api.call('GET /api/v1/deployments/{name}', { params: { name }, signal }),
    refetchInterval: ({ state }) => (state.data?.status.phase === 'Progressing' ? ROLLOUT_MS : CALM_MS),
  });
}

export function useInstances(name: string, { everyMs = 5000 }: { readonly everyMs?: number } = {}) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'instances', name],
    queryFn: ({ signal }) =>
      api.list('GET /api/v1/deployments/{name}/instances', { params: { name }, signal }),
    refetchInterval: everyMs,
  });
}

/** The canary with its whole spec; another one has another hash. */
export function useCanary(name: string, specHash: string) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'canary', name, specHash],
    queryFn: ({ signal }) => api.call('GET /api/v1/deployments/{name}/canary', { params: { name }, signal }),
  });
}

/** One of them, seen closely; made stale with the others. */
export function useInstance(name: string, instance: string) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'instances', name, instance],
    queryFn: ({ signal }) =>
      api.call('GET /api/v1/deployments/{name}/instances/{instance}', { params: { name, instance }, signal }),
    refetchInterval: 5000,
  });
}

/** In the order in which they happened. */
export function useInstanceEvents({ id, createdAt }: Pick<InstanceDetail, 'id' | 'createdAt'>) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'events', 'instance', id],
    queryFn: ({ signal }) =>
      api.list('GET /api/v1/events', { signal, query: { subject: `Instance/${id}`, since: createdAt } }),
  });
}

/** Newest first. Events of the deployment make them stale. */
export function useFailures(name: string) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'failures', name],
    queryFn: ({ signal }) =>
      api.call('GET /api/v1/deployments/{name}/failures', { params: { name }, signal }),
    refetchInterval: CALM_MS,
  });
}

/** What an instance printed before it failed last; that does not change. */
export function useFailureLog(name: string, { instance, at }: Failure) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'failure-log', name, instance, at],
    queryFn: async ({ signal }) => {
      const decoder = new TextDecoder();
      let text = '';
      const asked = { params: { name }, query: { previous: true, instance }, signal };
      for await (const piece of api.pieces('GET /api/v1/deployments/{name}/logs', asked))
        text += decoder.decode(piece, { stream: true });
      return text;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useArchives(name: string) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'archives', name],
    queryFn: ({ signal }) =>
      api.list('GET /api/v1/archives/deployments/{name}', { params: { name }, signal }),
  });
}

const INSTANCE_EVENTS_MS = 3_600_000;

/** All of the deployment, and those of its instances in the last hour; newest first. */
export function useDeploymentEvents(name: string) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'events', 'deployment', name],
    queryFn: async ({ signal }) => {
      const since = new Date(Date.now() - INSTANCE_EVENTS_MS).toISOString();
      const [own, recent] = await Promise.all([
        api.list('GET /api/v1/events', { signal, query: { subject: `Deployment/${name}` } }),
        api.list('GET /api/v1/events', { signal, query: { since } }),
      ]);
      const ofInstances = recent.filter(
        ({ subject, details }) => subject.kind === 'Instance' && details['deployment'] === name,
      );
      return [...own, ...ofInstances].sort((a, b) => (a.id < b.id ? 1 : -1));
    },
  });
}

/** After a write: everything that shows this deployment is read again. */
export function useDeploymentWritten(): (name: string) => Promise<void> {
  const queries = useQueryClient();
  const { tenant } = useSession();
  return async (name) => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: [tenant.id, 'deployment', name] }),
      queries.invalidateQueries({ queryKey: [tenant.id, 'instances', name] }),
      queries.invalidateQueries({ queryKey: [tenant.id, 'archives', name] }),
      queries.invalidateQueries({ queryKey: [tenant.id, 'deployments'] }),
    ]);
  };
}
