import type { AgentMessage, Report } from '../../../core/protocol/agent-protocol.ts';
import { decodeAgentMessage } from './agent-message.ts';

/** Of the JSON text of one slice, unless a single entry is longer. */
const SLICE_LENGTH = 32 * 1024;

/** JSON texts of decoded messages; undefined: malformed. */
export function slicesIn(frame: Buffer): readonly string[] | undefined {
  const message = decodeAgentMessage(frame.toString('utf8'));
  return message && messageSlices(message).map((slice) => JSON.stringify(slice));
}

/**
 * A large message as several that mean the same one after the other, none of which holds the loop for long. Volumes, networks and ingress
 * stay together, since what they leave out means something; the beat is in the last, which is answered when all was taken.
 */
export function messageSlices(message: AgentMessage): readonly AgentMessage[] {
  return message.type === 'report' ? reportSlices(message) : [message];
}

function reportSlices(report: Report): readonly Report[] {
  const { observations, usage, beat, volumes, networks, ingress, ...same } = report;
  const whole = {
    ...(volumes && { volumes }),
    ...(networks && { networks }),
    ...(ingress && { ingress }),
  };
  const slices: Report[] = [
    { ...same, observations: [], ...whole },
    ...slicesOf(observations).map((some) => ({ ...same, observations: some })),
    ...slicesOf(usage ?? []).map((some) => ({ ...same, observations: [], usage: some })),
  ];
  return slices.map((slice, at) =>
    beat === undefined || at < slices.length - 1 ? slice : { ...slice, beat },
  );
}

function slicesOf<T>(entries: readonly T[]): readonly (readonly T[])[] {
  const slices: T[][] = [];
  let left = 0;
  for (const entry of entries) {
    const { length } = JSON.stringify(entry);
    if (left < length) {
      slices.push([]);
      left = SLICE_LENGTH;
    }
    slices.at(-1)?.push(entry);
    left -= length;
  }
  return slices;
}
