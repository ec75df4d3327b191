import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Systems whose words are known; `other`: a Linux of which nothing is. */
export type Family = 'debian' | 'fedora' | 'enterprise' | 'alpine' | 'macos' | 'other';

export interface System {
  readonly family: Family;
  /** As it calls itself. */
  readonly name: string;
  readonly hasApt: boolean;
}

/** First what it is, then what it is like: Ubuntu is like Debian; Rocky is like RHEL, CentOS and Fedora, and has the packages of RHEL. */
const FAMILIES: ReadonlyMap<string, Family> = new Map([
  ['debian', 'debian'],
  ['ubuntu', 'debian'],
  ['fedora', 'fedora'],
  ['rhel', 'enterprise'],
  ['centos', 'enterprise'],
  ['alpine', 'alpine'],
]);

function unquoted(text: string): string {
  const [quote = ''] = text;
  return text.length > 1 && (quote === '"' || quote === "'") && text.endsWith(quote)
    ? text.slice(1, -1)
    : text;
}

function fieldsOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [name = '', value] = line.trim().split(/=(.*)/s, 2);
      return value === undefined || name.startsWith('#') ? [] : [[name, unquoted(value)] as const];
    }),
  );
}

function readFirst(paths: readonly string[]): string {
  const path = paths.find((one) => existsSync(one));
  return path === undefined ? '' : readFileSync(path, 'utf8');
}

/** What runs this machine, by its own word. `root` is where its files are. */
export function systemOf(root = '/', platform: NodeJS.Platform = process.platform): System {
  if (platform === 'darwin') return { family: 'macos', name: 'macOS', hasApt: false };
  const fields = fieldsOf(
    readFirst(['etc/os-release', 'usr/lib/os-release'].map((path) => join(root, path))),
  );
  const likes = (fields.get('ID_LIKE') ?? '').split(' ').map((name) => FAMILIES.get(name));
  const like = likes.find((family) => family !== undefined);
  // What says that it is like Fedora is not Fedora: it has what RHEL has.
  const family = FAMILIES.get(fields.get('ID') ?? '') ?? (like === 'fedora' ? 'enterprise' : like) ?? 'other';
  return {
    family,
    name: fields.get('PRETTY_NAME') ?? fields.get('NAME') ?? 'a Linux without /etc/os-release',
    // Fedora has an apt-get, too, which installs nothing there.
    hasApt: (family === 'debian' || family === 'other') && existsSync(join(root, 'usr/bin/apt-get')),
  };
}
