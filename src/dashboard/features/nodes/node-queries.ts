import { useMemo } from 'react';
import { useQueries } from '@tanstack/react-query';
import type { AnswerTo } from '../../../sdk/index.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { useRecord, useRecords, useRecordsOf } from '../../app/use-records.ts';
import { type Draft, recordAt, textAt } from '../../lib/draft.ts';

/** Nodes are heard of all the time, and no event tells of it. */
const SEEN_MS = 5000;

export function useNodes() {
  return useRecords('nodes', 'GET /api/v1/nodes', { everyMs: SEEN_MS });
}

export function useNode(name: string) {
  return useRecord('nodes', 'GET /api/v1/nodes/{name}', { params: { name } }, { everyMs: SEEN_MS });
}

/** As the agent describes them, which no shape bounds. */
export interface Container {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly status: string;
  /** The names of its labels. */
  readonly labels: readonly string[];
  readonly createdAt?: string;
}

function containerOf(said: Draft): Container {
  const [labels, createdAt] = [recordAt(said, 'labels'), textAt(said, 'createdAt')];
  return {
    id: textAt(said, 'id'),
    name: textAt(said, 'name'),
    image: textAt(said, 'image'),
    status: textAt(said, 'status'),
    labels: Object.keys(labels),
    ...(createdAt === '' ? {} : { createdAt }),
  };
}

/** As the agent sees them now; asked of the machine, so not while it is silent. */
export function useContainers(name: string, isReady: boolean) {
  const read = useRecordsOf(
    'nodes',
    'GET /api/v1/nodes/{name}/containers',
    { params: { name } },
    { enabled: isReady },
  );
  const data = useMemo(() => read.data?.map(containerOf), [read.data]);
  return { ...read, data };
}

export function useNodeEvents(name: string) {
  return useRecord('events', 'GET /api/v1/events', { query: { limit: 1000, subject: `Node/${name}` } });
}

/** What a drain says of every instance on the node. */
export type DrainReport = AnswerTo<'POST /api/v1/nodes/{name}/drain'>;
export type JoinToken = AnswerTo<'POST /api/v1/join-tokens'>;

/** What the containers of Berth take on a node. */
export interface NodeUsage {
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

/** Of so many nodes, each a small question; of more it is on their pages. */
const MAX_MEASURED = 50;
const MEASURED_MS = 15_000;

/** By name, the newest of the last minutes; what nobody measured is absent. */
export function useNodeUsage(names: readonly string[]): ReadonlyMap<string, NodeUsage> {
  const api = useApi();
  const { tenant } = useSession();
  return useQueries({
    queries: names.slice(0, MAX_MEASURED).map((name) => ({
      queryKey: [tenant.id, 'node-usage', name],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
        const { cpuCores, memoryBytes } = await api.call('GET /api/v1/nodes/{name}/history', {
          params: { name },
          query: { since: '2m' },
          signal,
        });
        const at = cpuCores.findLastIndex((value) => value !== null);
        const [cpu, memory] = [cpuCores[at] ?? null, memoryBytes[at] ?? null];
        return {
          name,
          usage: cpu === null || memory === null ? null : { cpuCores: cpu, memoryBytes: memory },
        };
      },
      refetchInterval: MEASURED_MS,
    })),
    combine: usageByName,
  });
}

function usageByName(
  results: readonly {
    readonly data?: { readonly name: string; readonly usage: NodeUsage | null } | undefined;
  }[],
): ReadonlyMap<string, NodeUsage> {
  return new Map(
    results.flatMap(({ data }) =>
      data === undefined || data.usage === null ? [] : [[data.name, data.usage]],
    ),
  );
}
