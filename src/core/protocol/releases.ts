const RELEASE = /^(\d{1,6})\.(\d{1,6})\./;

/**
 * How many releases lie between two versions: 0.1.4 and 0.2.0 are one apart, patches of one release none. The first release of a major version
 * follows the last of the one before, whichever that was. What is no version (a build of somebody's own) is not apart from anything.
 */
export function releasesApart(one: string, other: string): number {
  const [a, b] = [numbers(one), numbers(other)];
  if (a === undefined || b === undefined) return 0;
  const [older, newer] = a.major < b.major || (a.major === b.major && a.minor < b.minor) ? [a, b] : [b, a];
  if (older.major === newer.major) return newer.minor - older.minor;
  return newer.major - older.major + newer.minor;
}

function numbers(version: string): { readonly major: number; readonly minor: number } | undefined {
  const [, major, minor] = RELEASE.exec(version) ?? [];
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}

/** From the oldest to the newest version of a protocol that one side speaks. */
export interface Spoken {
  readonly oldest: number;
  readonly newest: number;
}

/** The newest that both speak; undefined: there is none. */
export function negotiated(one: Spoken, other: Spoken): number | undefined {
  const newest = Math.min(one.newest, other.newest);
  return newest >= Math.max(one.oldest, other.oldest) ? newest : undefined;
}
