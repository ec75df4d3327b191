import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { CATALOGUE } from '../src/core/rejections/catalogue.ts';
import { docsPage } from '../src/server/api/docs/pages.ts';
import { FONT, renderDocs } from './build-docs.ts';
import { docsSources } from './docs/sources.ts';
import { ROOT } from './run.ts';

/** `npm run docs:site [-- folder]`: what a control plane serves under /docs as files for any web server, with pictures; `site` unless said. */
const BASE = 'http://berth.invalid';
const SOURCED = /\.(?:css|js|json|woff2|png)$/;

const fileOf = (path: string): string => {
  if (path === '') return 'index.html';
  return SOURCED.test(path) ? path : `${path}.html`;
};

/** Links of a page below /docs, as paths from file to file. */
function relinked(path: string, markup: string): string {
  const here = posix.dirname(fileOf(path));
  return markup.replaceAll(
    / (href|src|action|data-find)="([^"]*)"/g,
    (whole, name: string, target: string) => {
      if (/^(?:#|data:|https?:)/.test(target)) return whole;
      const { pathname, hash } = new URL(target, `${BASE}/docs/${path}`.replace(/\/$/, ''));
      if (!/^\/docs(?:\/|$)/.test(pathname)) return '';
      const below = pathname.slice('/docs/'.length);
      const to = name === 'data-find' ? below : fileOf(below);
      return ` ${name}="${posix.relative(here, to) || '.'}${hash}"`;
    },
  );
}

const folder = resolve(process.argv[2] ?? join(ROOT, 'site'));
const pictures = new Set<string>();
const { files, broken } = renderDocs((path) => {
  pictures.add(path);
  return path;
});
for (const line of broken) process.stderr.write(`  ${line}\n`);
if (broken.length > 0) process.exit(1);

const entries = docsSources();
const made = new Map<string, string>();
for (const path of ['', 'errors', ...Object.keys(CATALOGUE).map((code) => `errors/${code}`)]) {
  const page = docsPage(`/docs/${path}`.replace(/\/$/, ''), undefined, BASE, entries);
  made.set(fileOf(path), relinked(path, page?.body ?? ''));
}
for (const name of ['style.css', 'search.js', 'docs.js'])
  made.set(name, docsPage(`/docs/${name}`, undefined, BASE)?.body ?? '');
for (const [name, text] of files)
  made.set(name, name.endsWith('.html') ? relinked(name.replace(/\.html$/, ''), text) : text);
const sections = JSON.parse(files.get('search.json') ?? '[]') as readonly (readonly string[])[];
made.set(
  'search.json',
  JSON.stringify(sections.map(([path = '', ...rest]) => [path.replace(/(#|$)/, '.html$1'), ...rest])),
);
made.delete('pages.json');

rmSync(folder, { recursive: true, force: true });
for (const [name, text] of made) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}
copyFileSync(FONT, join(folder, 'inter.woff2'));
for (const path of pictures) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  copyFileSync(join(ROOT, 'docs', path), join(folder, path));
}
process.stdout.write(`${folder}: ${made.size + pictures.size + 1} files\n`);
