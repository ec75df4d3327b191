import { useMemo } from 'react';
import type { AnswerTo } from '../../../sdk/index.ts';
import { useRecord, useRecords } from '../../app/use-records.ts';
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
  const read = useRecord(
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
