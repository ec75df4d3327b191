import type { AnswerTo } from '../../../sdk/index.ts';
import { useRecord, useRecords } from '../../app/use-records.ts';

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
  readonly labels?: Readonly<Record<string, string>>;
  readonly createdAt?: string;
}

/** As the agent sees them now; asked of the machine, so not while it is silent. */
export function useContainers(name: string, isReady: boolean) {
  const read = useRecord(
    'nodes',
    'GET /api/v1/nodes/{name}/containers',
    { params: { name } },
    { enabled: isReady },
  );
  return { ...read, data: read.data as readonly Container[] | undefined };
}

export function useNodeEvents(name: string) {
  return useRecord('events', 'GET /api/v1/events', { query: { limit: 1000, subject: `Node/${name}` } });
}

/** What a drain says of every instance on the node. */
export type DrainReport = AnswerTo<'POST /api/v1/nodes/{name}/drain'>;
export type JoinToken = AnswerTo<'POST /api/v1/join-tokens'>;
