import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Debian has that text once for all. */
const APACHE = `On Debian systems the whole text of the Apache License, version 2.0, is in
/usr/share/common-licenses/Apache-2.0.`;

/** Paragraphs of a field: lines begin with a space, empty ones are a dot. */
function field(text: string): string {
  return text
    .replaceAll('\r', '')
    .trim()
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line.trimEnd()}`))
    .join('\n');
}

function section(library: string, installed: string, manifest: string): string {
  const folder = dirname(manifest);
  const { name, license } = JSON.parse(readFileSync(join(library, manifest), 'utf8')) as {
    readonly name: string;
    readonly license: string;
  };
  const file = readdirSync(join(library, folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text =
    file === undefined
      ? `${license}, as its package.json says.`
      : readFileSync(join(library, folder, file), 'utf8');
  const holder = /^\s*(Copyright (?:\(c\)|©|[0-9]).*)$/im.exec(text)?.[1] ?? `The authors of ${name}`;
  const label = `${license} and-notices-of-${name.replace(/[^a-z0-9.]+/gi, '-')}`;
  const terms = field(license === 'Apache-2.0' ? APACHE : text);
  return `Files: ${installed}/${folder}/*\nCopyright: ${holder}\nLicense: ${label}\n${terms}\n`;
}

/** In Debian's machine-readable form: ours, and each package that npm installed with the text that it brings. */
export function copyright(library: string, installed: string): string {
  const manifests = globSync('node_modules/{*,@*/*}/package.json', { cwd: library }).toSorted();
  const ours = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Berth
Comment: The notices of the libraries whose code is in the programs and in the dashboard are in
 ${installed}/dist/*/THIRD-PARTY-NOTICES.md.

Files: *
Copyright: The authors of Berth
License: Apache-2.0
${field(APACHE)}
`;
  return [ours, ...manifests.map((manifest) => section(library, installed, manifest))].join('\n');
}
