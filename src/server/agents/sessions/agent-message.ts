import type {
  AgentMessage,
  NodeCleaning,
  Report,
  VolumeMeasurement,
} from '../../../core/protocol/agent-protocol.ts';
import { agentMessage, nodeCleaning, volumeMeasurement } from '../../../core/protocol/agent-messages.ts';
import { isBounded, messageReader } from '../../../core/schema/read-message.ts';

/** Members of all lists and objects of a message: a whole report of as many containers and volumes as a node may have. */
const MAX_PARTS = 300_000;

const readMessage = messageReader(agentMessage);
const readMeasurement = messageReader(volumeMeasurement);
const readCleaning = messageReader(nodeCleaning);

/** Undefined: malformed, or of a type that this version does not know. */
export function decodeAgentMessage(frame: string): AgentMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(frame);
  } catch {
    return undefined;
  }
  const message = isBounded(value, MAX_PARTS) ? readMessage(value) : undefined;
  return message?.type === 'report' ? settled(message) : message;
}

/** What the agent of a primary answers when it is asked to measure; undefined: not that. */
export function parseVolumeMeasurement(value: unknown): VolumeMeasurement | undefined {
  const measured = readMeasurement(value);
  return measured && within(measured);
}

/** What an agent answers when it is asked to clean up; undefined: not that. */
export function parseNodeCleaning(value: unknown): NodeCleaning | undefined {
  return readCleaning(value);
}

/** Of an instance that is named more than once, what was said last. */
function settled(report: Report): Report {
  const { observations, volumes } = report;
  // Most heartbeats say nothing.
  if (observations.length < 2 && (volumes?.length ?? 0) === 0) return report;
  const byId = new Map(observations.map((one) => [one.id, one]));
  return {
    ...report,
    observations: byId.size === observations.length ? observations : [...byId.values()],
    ...(volumes && { volumes: volumes.map(within) }),
  };
}

/** Sizes decide what is recommended: no volume holds more than it is large. */
function within<M extends { readonly sizeBytes?: number; readonly usedBytes?: number }>(measured: M): M {
  const { sizeBytes, usedBytes } = measured;
  return sizeBytes === undefined || usedBytes === undefined || usedBytes <= sizeBytes
    ? measured
    : { ...measured, usedBytes: sizeBytes };
}
