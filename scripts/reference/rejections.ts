import {
  CATALOGUE,
  CATALOGUE_AREAS,
  type CatalogueArea,
  type RejectionCode,
} from '../../src/core/rejections/catalogue.ts';
import type { CatalogueEntry } from '../../src/core/rejections/entry.ts';
import { exampleLines } from '../../src/core/rejections/example.ts';

function statuses(entry: CatalogueEntry): string {
  return entry.alsoStatus === undefined ? `${entry.status}` : `${entry.status} or ${entry.alsoStatus}`;
}

/** Prose of the catalogue may hold characters that Markdown would read as markup. */
export function prose(text: string): string {
  const parts = text.split('`');
  return parts
    .map((part, index) => (index % 2 === 0 ? part.replace(/[\\*_[\]<>|]/g, '\\$&') : part))
    .join('`');
}

/** Within a table a bar ends the cell even inside code. */
function cellCode(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

function row(code: RejectionCode): string {
  const entry = CATALOGUE[code];
  return `| [\`${code}\`](#${code}) | ${statuses(entry)} | ${cellCode(entry.field)} | ${prose(entry.title)} |`;
}

function fenced(text: string): string {
  const language = /^[{[]/.test(text) ? 'json' : 'http';
  return `\`\`\`${language}\n${exampleLines(text).join('\n')}\n\`\`\``;
}

function section(code: RejectionCode): string {
  const entry = CATALOGUE[code];
  return `### ${code}

${prose(entry.title)}

- Status: ${statuses(entry)}
- Field: \`${entry.field}\`

${prose(entry.cause)}

**Accepted:** ${prose(entry.accepted)}

Refused:

${fenced(entry.failing)}

Corrected:

${fenced(entry.corrected)}
`;
}

function areaText(area: CatalogueArea): string {
  return `## ${area.title}

| Code | Status | Field | What is wrong |
|---|---|---|---|
${area.codes.map(row).join('\n')}

${area.codes.map(section).join('\n')}`;
}

/** docs/reference/rejections.md, whole, from the catalogue. */
export function rejectionsReference(): string {
  const total = CATALOGUE_AREAS.reduce((sum, area) => sum + area.codes.length, 0);
  const intro = `# Rejection codes

<!-- Generated from src/core/rejections. Change the catalogue, then generate again. -->

The ${total} codes of the control plane. The body of a refused request is one JSON object with the six strings
\`code\`, \`field\`, \`received\`, \`expected\`, \`why\` and \`doc\`. Branch on \`code\`; the wording of \`why\` may change.
A rejection means that nothing was stored. A running control plane serves the same pages under \`/docs/errors/<code>\`.
`;
  return `${intro}\n${CATALOGUE_AREAS.map(areaText).join('\n')}`;
}
