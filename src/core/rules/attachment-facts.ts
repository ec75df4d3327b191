import type { Warning } from '../model/announcement.ts';
import type { Workload } from '../model/deployment.ts';
import { type NetworkRecord, namedNetworks } from '../model/network.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { INGRESS_SOURCE } from './attachment.ts';
import { isJudged, type Judged } from './rule.ts';

/** What the networks and the access of a workload are judged by. */
export interface AttachmentFacts {
  readonly network: (name: string) => NetworkRecord | undefined;
  /** A deployment or a job of the tenant. */
  readonly isWorkload: (name: string) => boolean;
  readonly isAnnounced?: Announced;
}

/** Whether the caller says that it creates this one too. Without a word of it what is unknown is refused, else warned of. */
export type Announced = (what: 'network' | 'source', name: string) => boolean;

/** Of a spec that was stored before: who may connect is not asked again, since a name may come back. */
export const KNOWN_SOURCES: Announced = (what) => what === 'source';

export function announcedBy(alongside: readonly string[], dryRun: boolean): Announced {
  // What is stored is placed at once, so its networks have to be there.
  return (what, name) => (what === 'source' || dryRun) && alongside.includes(name);
}

/** A network is on one node for as long as it exists, so what contradicts that can never be placed. */
export function networksFactRule(
  spec: Workload,
  { network, isAnnounced }: AttachmentFacts,
  judged?: Judged,
): Rejection | undefined {
  if (!isJudged(judged, ['networks', 'nodeId'])) return undefined;
  let first: NetworkRecord | undefined;
  for (const name of namedNetworks(spec)) {
    const field = `networks[${spec.networks?.indexOf(name) ?? 0}]`;
    const record = network(name);
    if (record === undefined) {
      if (isAnnounced?.('network', name) === true || !isJudged(judged, ['networks'])) continue;
      return reject('network_not_found', {
        field,
        received: received(name),
        why: 'The tenant has no network of this name.',
      });
    }
    if (first !== undefined && first.nodeId !== record.nodeId)
      return reject('network_node_mismatch', {
        field,
        received: received(name),
        expected: `networks of one node: ${first.name} is on ${first.nodeId}`,
        why: `A container is on one node, and ${name} is on ${record.nodeId}.`,
      });
    first ??= record;
  }
  if (first === undefined || spec.nodeId === undefined || spec.nodeId === first.nodeId) return undefined;
  return reject('network_node_mismatch', {
    field: 'nodeId',
    received: received(spec.nodeId),
    expected: `${first.nodeId}, or omit nodeId so that placement follows the network`,
    why: `The network ${first.name} is on ${first.nodeId}.`,
  });
}

function unknownSources(spec: Workload, { isWorkload }: AttachmentFacts): readonly string[] {
  return (spec.access?.from ?? []).filter(
    (name) => name !== INGRESS_SOURCE && name !== spec.name && !isWorkload(name),
  );
}

export function accessFactRule(
  spec: Workload,
  facts: AttachmentFacts,
  judged?: Judged,
): Rejection | undefined {
  if (!isJudged(judged, ['access'])) return undefined;
  const unknown = unknownSources(spec, facts).find((name) => facts.isAnnounced?.('source', name) !== true);
  if (unknown === undefined) return undefined;
  return reject('access_source_unknown', {
    field: `access.from[${spec.access?.from.indexOf(unknown) ?? 0}]`,
    received: received(unknown),
    why: 'The tenant has no deployment and no job of this name, so nobody would be let through.',
  });
}

export function attachmentWarnings(spec: Workload, facts: AttachmentFacts): Warning[] {
  return [
    ...namedNetworks(spec)
      .filter((name) => facts.network(name) === undefined)
      .map((name) => ({
        code: 'network_unknown',
        field: 'networks',
        why: `There is no network ${name} yet; ${spec.name} is placed once there is.`,
      })),
    ...unknownSources(spec, facts).map((name) => ({
      code: 'access_source_unknown',
      field: 'access.from',
      why: `There is no deployment or job ${name} yet; it is let through once there is.`,
    })),
  ];
}

/** As it is placed once the announced networks are there: where they will be is not known yet. */
export function withoutUnknown<T extends Workload>(
  spec: T,
  { network }: Pick<AttachmentFacts, 'network'>,
): T {
  const unknown = namedNetworks(spec).filter((name) => network(name) === undefined);
  if (unknown.length === 0) return spec;
  return { ...spec, networks: spec.networks?.filter((name) => !unknown.includes(name)) };
}
