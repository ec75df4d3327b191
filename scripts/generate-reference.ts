import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cliReference } from './reference/cli.ts';
import { DOCUMENT_PAGES, documentReference } from './reference/documents.ts';
import { configurationReference } from './reference/configuration.ts';
import { rejectionsReference } from './reference/rejections.ts';
import { routesReference } from './reference/routes.ts';
import { ROOT } from './run.ts';

/** Pages that are made from the code; `--check` fails when one is not what the code says. */
const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/rejections.md': rejectionsReference,
  'docs/reference/configuration.md': configurationReference,
  'docs/reference/api.md': routesReference,
  'docs/reference/cli.md': cliReference,
  ...Object.fromEntries(
    DOCUMENT_PAGES.map((page) => [`docs/reference/${page.file}`, () => documentReference(page)]),
  ),
};

const check = process.argv.includes('--check');
let stale = 0;
for (const [path, render] of Object.entries(PAGES)) {
  const file = join(ROOT, path);
  const text = render();
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  if (check) {
    stale += 1;
    process.stdout.write(`  ${path} is not what the code says; run: npm run docs\n`);
  } else {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    process.stdout.write(`  wrote ${path}\n`);
  }
}
process.exit(stale === 0 ? 0 : 1);
