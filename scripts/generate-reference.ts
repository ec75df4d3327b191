import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cliReference } from './reference/cli.ts';
import { DOCUMENT_PAGES, documentReference } from './reference/documents.ts';
import { configurationReference } from './reference/configuration.ts';
import { rejectionsReference } from './reference/rejections.ts';
import { routesReference } from './reference/routes.ts';
import { docsSources } from './docs/sources.ts';
import { ROOT } from './run.ts';

/** What there is to read, for readers of the repository; a control plane has the same list at /docs. */
function contents(): string {
  const groups = [...Map.groupBy(docsSources(), ({ group }) => group)].map(
    ([group, pages]) =>
      `## ${group}\n\n${pages.map(({ file, title }) => `- [${title}](${file})`).join('\n')}\n`,
  );
  return `# Documentation

Generated from the titles of the pages; do not edit. A control plane serves the same at \`/docs\`, with a search and [every rejection
code](reference/rejections.md); \`npm run docs:site\` writes it as files for any web server.

${groups.join('\n')}`;
}

/** Pages that are made from the code; `--check` fails when one is not what the code says. */
const PAGES: Readonly<Record<string, () => string>> = {
  'docs/README.md': contents,
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
