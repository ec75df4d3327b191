import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './run.ts';

interface Library {
  readonly name: string;
  readonly version: string;
  readonly identifier?: string;
  readonly text?: string;
}

/** Written by Vite: the libraries whose code is in the scripts. */
export const LICENSES = 'licenses.json';
const NOTICES = 'THIRD-PARTY-NOTICES.md';
/** In the styles and beside them, where Vite does not look. */
const OF_STYLES = ['@fontsource-variable/inter', 'tailwindcss'];

function libraryOf(name: string): Library {
  const folder = join(ROOT, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly version: string;
    readonly license: string;
  };
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text =
    file === undefined
      ? `${license}, as its package.json says.`
      : readFileSync(join(folder, file), 'utf8').trim();
  return { name, version, identifier: license, text };
}

function sectionOf({ name, version, identifier = '', text }: Library): string {
  if (text === undefined) throw new Error(`${name} ${version} brings no text of its licence (${identifier})`);
  return `## ${name} ${version} (${identifier})\n\n${text.replaceAll('\r', '').trim()}\n`;
}

/** Into the folder of what holds them; answers with their number. */
function write(folder: string, what: string, libraries: readonly Library[]): number {
  const sorted = libraries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const head = `# Third-party notices

${what} of these projects, under the licences that follow.
`;
  writeFileSync(join(folder, NOTICES), [head, ...sorted.map(sectionOf)].join('\n'));
  return sorted.length;
}

/** Puts the notices of what a build of the dashboard is made of in place of Vite's list; answers with their number. */
export function writeNotices(folder: string): number {
  const list = join(folder, LICENSES);
  const bundled = JSON.parse(readFileSync(list, 'utf8')) as readonly Library[];
  rmSync(list);
  const libraries = [...bundled.filter(({ name }) => !OF_STYLES.includes(name)), ...OF_STYLES.map(libraryOf)];
  return write(folder, 'The dashboard and the pages below /docs hold code and a font', libraries);
}

/** Of programs that these packages are joined to; `who`, with its verb: what holds them. */
export function writeNoticesOf(folder: string, who: string, names: ReadonlySet<string>): void {
  write(folder, `${who} code`, Array.from(names, libraryOf));
}
