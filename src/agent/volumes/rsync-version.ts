import { run } from './program.ts';

/** The first that writes no names which it did not ask for. */
export const LEAST_RSYNC = '3.2.5';

/** A message; undefined: new enough. */
export async function oldRsync(): Promise<string | undefined> {
  return judgeRsync(await run('rsync', ['--version']));
}

export function judgeRsync(printed: string): string | undefined {
  const [, version] = /^rsync {1,8}version {1,8}v?(\d{1,4}(?:\.\d{1,4}){1,3})/.exec(printed) ?? [];
  if (version === undefined) return `the version of rsync is not known; ${LEAST_RSYNC} or newer is needed`;
  return isOlder(version, LEAST_RSYNC)
    ? `rsync ${version} is too old to read what other nodes send: ${LEAST_RSYNC} or newer is needed`
    : undefined;
}

function isOlder(version: string, least: string): boolean {
  const numbers = (text: string): number[] => text.split('.').map(Number);
  const [have, need] = [numbers(version), numbers(least)];
  for (const [index, part] of need.entries()) {
    const difference = (have[index] ?? 0) - part;
    if (difference !== 0) return difference < 0;
  }
  return false;
}
