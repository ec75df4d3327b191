import { readFile } from 'node:fs/promises';
import type { NodeCondition, NodeShortage } from '../../core/model/node.ts';

const GIB = 1024 ** 3;

interface Mark {
  /** In percent of what there is: from where it is told, and below which it is over. Between them it stays as it was. */
  readonly from: number;
  readonly to: number;
  /** With so much left a large machine has room, whatever part of it that is. */
  readonly roomBytes?: number;
}

const MARKS: Readonly<Record<NodeShortage, Mark>> = {
  disk: { from: 95, to: 90, roomBytes: 20 * GIB },
  memory: { from: 95, to: 90, roomBytes: 4 * GIB },
  pids: { from: 90, to: 80 },
};

export interface Reading {
  readonly kind: NodeShortage;
  readonly percent: number;
  readonly freeBytes?: number;
  /** What it is of, for a person. */
  readonly what: string;
}

export interface Shortage extends NodeCondition {
  readonly kind: NodeShortage;
}

const ADVICE: Readonly<Record<NodeShortage, string>> = {
  disk: 'berth node clean removes images that nobody needs',
  memory: 'move something off the node, or give it more',
  pids: 'look for what makes so many processes',
};

/** Told by bands of five, so that a machine which stays full does not report a change with every look. */
const BAND = 5;

/** What keeps new work away from a machine. */
export function conditionsOf(
  readings: readonly Reading[],
  before: readonly Pick<NodeCondition, 'kind'>[],
): readonly Shortage[] {
  return readings.flatMap(({ kind, percent, freeBytes = 0, what }) => {
    const { from, to, roomBytes = Infinity } = MARKS[kind];
    const was = before.some((one) => one.kind === kind);
    if (percent < (was ? to : from) || freeBytes >= roomBytes) return [];
    const shown = Math.floor(percent / BAND) * BAND;
    const state = shown >= 100 ? 'is full' : `is used to ${shown} % or more`;
    const message = `${what} ${state}, and nothing new is placed here until it is below ${to} %: ${ADVICE[kind]}`;
    return [{ kind, message }];
  });
}

/** Of the machine; what cannot be read is left out. */
export async function readMachine(): Promise<readonly Reading[]> {
  const [memory, load, most] = await Promise.all([
    text('/proc/meminfo'),
    text('/proc/loadavg'),
    text('/proc/sys/kernel/pid_max'),
  ]);
  const amount = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(memory)?.[1]);
  const [total, available] = [amount('MemTotal'), amount('MemAvailable')];
  const processes = Number(/\/(\d+)\s/.exec(load)?.[1]);
  const readings: readonly Reading[] = [
    {
      kind: 'memory',
      percent: 100 * (1 - available / total),
      freeBytes: available * 1024,
      what: 'the memory of the machine',
    },
    {
      kind: 'pids',
      percent: (100 * processes) / Number(most),
      what: 'the room for processes of the machine',
    },
  ];
  return readings.filter(({ percent }) => Number.isFinite(percent));
}

async function text(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '');
}
