import {
  type Hello,
  AGENT_LOG_FEATURE,
  ANCHORS_FEATURE,
  CHANNELS_FEATURE,
  CLEANING_FEATURE,
  CREDENTIAL_FEATURE,
  INSTANCES_FEATURE,
  PONGS_FEATURE,
  PULSES_FEATURE,
  RELAY_PROOF_FEATURE,
  RENEWALS_FEATURE,
  PREPARE_FEATURE,
  SEAL_FEATURE,
} from '../../core/protocol/agent-protocol.ts';
import { CONFINEMENT_FEATURE } from '../../core/model/confinement.ts';
import { FILES_FEATURE } from '../../core/model/config-file.ts';
import { NETWORKS_FEATURE } from '../../core/model/network.ts';
import { STOP_FEATURE } from '../../core/model/stop.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import { MESH_FEATURE } from '../../core/model/mesh.ts';
import { LABEL_DOMAIN } from '../../core/model/labels.ts';
import type { NodeRecord } from '../../core/model/node.ts';
import type { EngineInfo } from '../engine/engine.ts';

/** What the agent reports of its node when it registers and with every session. */
export type NodeFacts = Pick<Hello, 'conditions' | 'faults'> &
  Pick<
    NodeRecord,
    | 'labels'
    | 'capacity'
    | 'platform'
    | 'engine'
    | 'agentVersion'
    | 'volumeEngines'
    | 'features'
    | 'hostPorts'
    | 'problems'
    | 'notReady'
    | 'disk'
    | 'mesh'
    | 'ingress'
  >;

/** What control planes may ask of this agent and not of an older one. */
export const AGENT_FEATURES: readonly string[] = [
  CONFINEMENT_FEATURE,
  NETWORKS_FEATURE,
  STOP_FEATURE,
  FILES_FEATURE,
  RELAY_PROOF_FEATURE,
  ANCHORS_FEATURE,
  CREDENTIAL_FEATURE,
  MESH_FEATURE,
  RENEWALS_FEATURE,
  CHANNELS_FEATURE,
  SEAL_FEATURE,
  PREPARE_FEATURE,
  INSTANCES_FEATURE,
  CLEANING_FEATURE,
  AGENT_LOG_FEATURE,
  PONGS_FEATURE,
  PULSES_FEATURE,
];

export function nodeFacts(
  info: EngineInfo,
  labels: Readonly<Record<string, string>>,
  agentVersion: string,
): NodeFacts {
  return {
    labels,
    capacity: { cpu: info.cpus, memoryBytes: info.memoryBytes },
    platform: info.platform,
    engine: { kind: info.kind, version: info.version },
    agentVersion,
  };
}

/** `node n1 ready: docker 20.10, 4 CPU, 7.6 GiB, country=DE` */
export function readyLine(node: string, facts: NodeFacts): string {
  const version = facts.engine.version.split('.').slice(0, 2).join('.');
  const labels = Object.entries(facts.labels).map(
    ([key, value]) => `${key.replace(LABEL_DOMAIN, '')}=${value}`,
  );
  const parts = [
    `${facts.engine.kind} ${version}`,
    `${facts.capacity.cpu} CPU`,
    formatBytes(facts.capacity.memoryBytes),
    ...labels,
  ];
  if (facts.notReady !== undefined) return `node ${node} is not ready: ${facts.notReady}`;
  return `node ${node} ready: ${parts.join(', ')}`;
}
