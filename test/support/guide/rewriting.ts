import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GuideHouse } from './house.ts';
import { printable } from './output.ts';
import type { CommandStep } from './page.ts';

export const GUIDE = join(import.meta.dirname, '../../../docs/guide');
/** The tag of the sample is a digest, another one with another busybox. */
export const SAMPLE = /127\.0\.0\.1:5000\/berth\/hello:1\.0-[0-9a-f]{8}/g;

/** What a command said, line by line, with paths and the sample's tag as the page has them. */
export function asWritten(house: GuideHouse, step: CommandStep, output: string): readonly string[] {
  if (output === '') return [];
  const sample = [step.text, ...(step.expected ?? [])].join('\n').match(SAMPLE)?.[0];
  return output
    .replaceAll(house.socketPath, '/var/run/docker.sock')
    .replaceAll(house.home, '~')
    .replaceAll(house.sampleImage || SAMPLE, sample ?? house.sampleImage)
    .split('\n')
    .map((line) => line.trimEnd());
}

/** Writes what came out below the commands of a page. */
export function rewrite(name: string, replaced: ReadonlyMap<CommandStep, readonly string[]>): void {
  const path = join(GUIDE, name);
  const lines = readFileSync(path, 'utf8').split('\n');
  for (const [step, actual] of [...replaced].toReversed()) {
    const from = step.line - 1 + step.text.split('\n').length;
    lines.splice(from, step.expected?.length ?? 0, ...printable(actual));
  }
  writeFileSync(path, lines.join('\n'));
}
