import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DocsEntry } from '../../src/server/api/docs/library.ts';
import { ROOT } from '../run.ts';

export interface Source extends DocsEntry {
  /** Below docs/. */
  readonly file: string;
  readonly markdown: string;
}

/** The guide in reading order. A page that no group names stands in the last one, so that a new file is enough. */
const GROUPS: readonly (readonly [title: string, slugs: readonly string[]])[] = [
  [
    'Begin',
    [
      'first-ten-minutes',
      'first-deployment',
      'install',
      'describing',
      'one-folder',
      'a-day',
      'dashboard',
      'cli',
      'client',
    ],
  ],
  [
    'Run applications',
    [
      'planning',
      'failed-rollouts',
      'canary',
      'scaling',
      'jobs',
      'inside-an-instance',
      'containers',
      'reaching-services',
      'networks',
    ],
  ],
  [
    'Data and secrets',
    ['volumes', 'volume-backups', 'backups', 'secrets', 'rotate-postgresql', 'secrets-vault'],
  ],
  [
    'Operate',
    [
      'nodes',
      'operations',
      'monitoring',
      'webhooks',
      'troubleshooting',
      'upgrade',
      'recovery',
      'lost-token',
      'moving-to-etcd',
      'several-control-planes',
      'cells',
      'sizing',
      'security',
      'terminal',
    ],
  ],
];
const REST = 'More';

/** The codes have pages of their own. */
const LEFT_OUT = new Set(['reference/rejections.md', 'guide/README.md']);

const plain = (markdown: string): string =>
  markdown
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Its first sentence or two, for lists. */
function summaryOf(markdown: string): string {
  const paragraph = markdown
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .split('\n\n')
    .map((part) => part.trim().replace(/^Generated from [^.]*; do not edit\.\s*/, ''))
    .find((part) => part !== '' && !/^(?:#|```|!\[|\|)/.test(part));
  const text = plain(paragraph ?? '');
  const sentence = /^.{20,180}?[.:](?=\s|$)/.exec(text)?.[0] ?? text.slice(0, 160);
  return sentence.replace(/:$/, '.');
}

function read(file: string, group: string): Source {
  const markdown = readFileSync(join(ROOT, 'docs', file), 'utf8');
  const title = plain(/^# (.+)$/m.exec(markdown)?.[1] ?? file);
  return { file, group, path: file.replace(/\.md$/, ''), title, summary: summaryOf(markdown), markdown };
}

const pagesOf = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, 'docs', folder))
    .filter((name) => name.endsWith('.md') && !LEFT_OUT.has(`${folder}/${name}`))
    .sort();

export function guideSources(): readonly Source[] {
  const names = new Set(pagesOf('guide'));
  const grouped = GROUPS.flatMap(([title, slugs]) =>
    slugs.filter((slug) => names.delete(`${slug}.md`)).map((slug) => read(`guide/${slug}.md`, title)),
  );
  return [...grouped, ...[...names].map((name) => read(`guide/${name}`, REST))];
}

export function docsSources(): readonly Source[] {
  const reference = pagesOf('reference').map((name) => read(`reference/${name}`, 'Reference'));
  return [
    ...guideSources(),
    ...reference,
    read('benchmarks.md', 'Reference'),
    read('capacity.md', 'Reference'),
    read('glossary.md', 'Reference'),
  ];
}
