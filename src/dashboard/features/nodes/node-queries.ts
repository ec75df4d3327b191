import { useRecord, useRecords } from '../../app/use-records.ts';
import type { Event, Node } from '../../lib/records.ts';

/** Nodes are heard of all the time, and no event tells of it. */
const SEEN_MS = 5000;

export function nodePath(name: string): string {
  return `/api/v1/nodes/${encodeURIComponent(name)}`;
}

export function useNodes() {
  return useRecords<Node>('nodes', '/api/v1/nodes', { everyMs: SEEN_MS });
}

export function useNode(name: string) {
  return useRecord<Node>('nodes', nodePath(name), { everyMs: SEEN_MS });
}

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
  return useRecord<readonly Container[]>('nodes', `${nodePath(name)}/containers`, { enabled: isReady });
}

export function useNodeEvents(name: string) {
  return useRecord<readonly Event[]>(
    'events',
    `/api/v1/events?limit=1000&subject=${encodeURIComponent(`Node/${name}`)}`,
  );
}

/** What a drain says of every instance on the node. */
export interface DrainReport {
  readonly movable: readonly {
    readonly instance: string;
    readonly deployment: string;
    readonly to: string;
  }[];
  readonly blocked: readonly {
    readonly instance: string;
    readonly deployment: string;
    readonly why: string;
    readonly nodes: readonly {
      readonly node: string;
      readonly reasons: readonly { readonly message: string }[];
    }[];
  }[];
}

export interface JoinToken {
  readonly id: string;
  readonly command: string;
  readonly expiresAt: string;
}
