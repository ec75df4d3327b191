import { MAX_FRAME_BYTES } from '../../../src/core/protocol/agent-protocol.ts';
import type { AssignedInstance } from '../../../src/core/protocol/agent-protocol.ts';

/** What a session was told, so that a message can be about what is the node's own. */
export interface Told {
  readonly epoch: number;
  readonly generation: number;
  readonly instances: readonly AssignedInstance[];
  /** Of questions that were asked and not answered yet. */
  readonly streamIds: readonly string[];
}

export interface HostileMessage {
  readonly label: string;
  /** Sent one after the other, without waiting. */
  readonly times: number;
  readonly frame: (told: Told, turn: number) => string | Buffer;
}

/** As the decoder takes at most. */
const MANY = 5000;
const MOST = MAX_FRAME_BYTES - 1024;
const FLOOD = 150;

/** Cut where the frame would become too long. */
function listOf(count: number, make: (at: number) => unknown): string {
  const parts: string[] = [];
  for (let at = 0, bytes = 200; at < count; at += 1) {
    const part = JSON.stringify(make(at));
    bytes += part.length + 1;
    if (bytes > MOST) break;
    parts.push(part);
  }
  return `[${parts.join(',')}]`;
}

function report({ epoch, generation }: Told, more: string): string {
  return `{"type":"report","epoch":${epoch},"generation":${generation},"full":true,${more}}`;
}

function observation(id: string, turn: number, longest: boolean): unknown {
  const text = 'x'.repeat(longest ? 300 : 1);
  return {
    id,
    phase: turn % 2 === 0 ? 'running' : 'starting',
    health: turn % 2 === 0 ? 'healthy' : 'starting',
    containerName: text,
    containerId: `${text}${turn}`,
    message: text,
    restarts: turn,
    ...(longest
      ? { ports: Array.from({ length: 16 }, (_, at) => ({ container: at + 1, host: at + 1 })) }
      : {}),
  };
}

const COPIES = Array.from({ length: 256 }, (_, at) => ({
  nodeId: `n${at}`,
  state: 'live',
  sequence: 1,
  ageMs: 1,
}));
const DEEP = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;

function once(label: string, frame: HostileMessage['frame']): HostileMessage {
  return { label, times: 1, frame };
}

function flood(label: string, frame: HostileMessage['frame'], times = FLOOD): HostileMessage {
  return { label: `${times} times ${label}`, times, frame };
}

const ids = ({ instances }: Told): readonly string[] => instances.map(({ id }) => id);

/** Every kind of message an agent sends, as large, as many and as odd as it can be. */
export const HOSTILE_MESSAGES: readonly HostileMessage[] = [
  once('a report on every instance', (told, turn) =>
    report(
      told,
      `"observations":${listOf(ids(told).length, (at) => observation(ids(told)[at] ?? '', turn, false))}`,
    ),
  ),
  once('a report on one instance 5,000 times', (told, turn) =>
    report(told, `"observations":${listOf(MANY, (at) => observation(ids(told)[0] ?? '', turn + at, false))}`),
  ),
  once('a report on 5,000 strangers', (told, turn) =>
    report(told, `"observations":${listOf(MANY, (at) => observation(`i${at}`, turn, false))}`),
  ),
  once('a report of 4 MiB', (told, turn) =>
    report(told, `"observations":${listOf(MANY, (at) => observation(`i${at}`, turn, true))}`),
  ),
  once('a report of 4 MiB of spaces', (told) => report(told, `"observations":[${' '.repeat(MOST - 200)}]`)),
  once('a report of 4 MiB of digits', (told) =>
    report(told, `"observations":[],"beat":${'9'.repeat(MOST - 200)}`),
  ),
  once('a report with 4 MiB of unknown fields', (told) =>
    report(
      told,
      `"observations":[],"other":{${Array.from({ length: 250_000 }, (_, at) => `"k${at}":1`).join(',')}}`,
    ),
  ),
  once('a report with 5,000 measurements', (told) =>
    report(
      told,
      `"observations":[],"usage":${listOf(MANY, (at) => ({ instanceId: ids(told)[at % Math.max(1, ids(told).length)] ?? 'i', cpuPercent: at, memoryBytes: at }))}`,
    ),
  ),
  once('a report with 5,000 volumes', (told) =>
    report(
      told,
      `"observations":[],"beat":1,"volumes":${listOf(MANY, (at) => ({ volumeId: `vol_${at}`, role: 'primary', epoch: 1, state: 'ready', usedBytes: 1, sizeBytes: 2 }))}`,
    ),
  ),
  once('a report with volumes of 256 copies', (told) =>
    report(
      told,
      `"observations":[],"volumes":${listOf(MANY, (at) => ({ volumeId: `vol_${at}`, role: 'primary', epoch: 1, state: 'ready', copies: COPIES }))}`,
    ),
  ),
  once('a report with 5,000 networks', (told) =>
    report(
      told,
      `"observations":[],"networks":${listOf(MANY, (at) => ({ name: `net${at}`, state: 'failed', message: 'x'.repeat(700) }))}`,
    ),
  ),
  flood('an engine that fails and recovers', (told, turn) =>
    report(told, `"observations":[]${turn % 2 === 0 ? `,"engineProblem":"${turn}"` : ''}`),
  ),
  flood('an instance that flaps', (told, turn) =>
    report(told, `"observations":${listOf(1, () => observation(ids(told)[0] ?? 'i', turn, false))}`),
  ),
  flood('an empty report', (told) => report(told, '"observations":[]')),
  once(
    'a question about 5,000 containers',
    ({ epoch }) =>
      `{"type":"ask","epoch":${epoch},"instanceIds":${listOf(MANY, (at) => `i${at}`.padEnd(128, 'x'))}}`,
  ),
  flood('a question about nothing', ({ epoch }) => `{"type":"ask","epoch":${epoch},"instanceIds":[]}`),
  flood('a request for secrets of an instance of its own', (told, turn) =>
    JSON.stringify({
      type: 'resolve',
      requestId: `r${turn}`,
      instanceId: told.instances[0]?.id ?? 'i',
      specHash: told.instances[0]?.specHash ?? 'x',
      secretsVersion: told.instances[0]?.secretsVersion ?? 0,
    }),
  ),
  flood('a request for secrets of a stranger', (_told, turn) =>
    JSON.stringify({
      type: 'resolve',
      requestId: `r${turn}`,
      instanceId: `i${turn}`,
      specHash: 'x',
      secretsVersion: 1,
    }),
  ),
  flood('a request for the credential of an image that is not to be fetched', (_told, turn) =>
    JSON.stringify({ type: 'resolve-image', requestId: `r${turn}`, volumeId: `v${turn}`, image: 'x/y:1' }),
  ),
  flood('data of a stream that is not open', (_told, turn) =>
    JSON.stringify({ type: 'data', streamId: `s${turn}`, text: 'x' }),
  ),
  flood('empty data of a stream that may be open', ({ streamIds }) =>
    JSON.stringify({ type: 'data', streamId: streamIds[0] ?? 's' }),
  ),
  once('data of 4 MiB', ({ streamIds }) =>
    JSON.stringify({ type: 'data', streamId: streamIds[0] ?? 's', text: 'x'.repeat(MOST - 200) }),
  ),
  once(
    'data of 4 MiB of values',
    ({ streamIds }) =>
      `{"type":"data","streamId":"${streamIds[0] ?? 's'}","value":[${'{},'.repeat(MOST / 3 - 200)}1]}`,
  ),
  flood('the end of a stream', ({ streamIds }, turn) =>
    JSON.stringify({
      type: 'end',
      streamId: streamIds[turn] ?? 's',
      error: { reason: 'x', message: 'x'.repeat(4000) },
    }),
  ),
  once('another hello', ({ epoch }) => JSON.stringify({ type: 'hello', epoch })),
  once('nothing', () => ''),
  once('no JSON', () => '{'.repeat(MOST)),
  once('4 MiB of brackets', () => '['.repeat(MOST)),
  once('100,000 levels', (told) => report(told, `"observations":[],"deep":${DEEP}`)),
  once('4 MiB of zero bytes', () => Buffer.alloc(MOST)),
  once('a frame that is too long', () => 'x'.repeat(MAX_FRAME_BYTES + 1)),
];
