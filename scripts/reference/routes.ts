import { CATALOGUE, type RejectionCode } from '../../src/core/rejections/catalogue.ts';
import { codesOf, successesOf } from '../../src/server/api/openapi.ts';
import type { Route } from '../../src/server/api/route.ts';
import { apiRoutes } from '../../src/server/api/routes/index.ts';
import { anchors } from '../docs/headings.ts';
import { prose } from './rejections.ts';

/** The table alone is read; no handler is called, so nothing has to be wired. */
export function routeTable(): readonly Route[] {
  return apiRoutes({} as Parameters<typeof apiRoutes>[0]);
}

/** What every route can answer is said once. */
function sharedCodes(routes: readonly Route[]): ReadonlySet<RejectionCode> {
  const [first = [], ...others] = routes.map((route) => codesOf(route));
  return new Set(first.filter((code) => others.every((codes) => codes.includes(code))));
}

/** By status, each code with a link to its page. */
function codesText(codes: Iterable<RejectionCode>): string {
  const byStatus = [...Map.groupBy(codes, (code) => CATALOGUE[code].status)].sort(([a], [b]) => a - b);
  return byStatus
    .map(
      ([status, group]) =>
        `- ${status}: ${group.map((code) => `[\`${code}\`](rejections.md#${code})`).join(', ')}`,
    )
    .join('\n');
}

const titleOf = ({ method, path }: Route): string => `${method} ${path}`;

function routeSection(route: Route, shared: ReadonlySet<RejectionCode>): string {
  const query = Object.entries(route.query ?? {}).map(
    ([name, { description, required }]) =>
      `- \`${name}\`${required === true ? ' (required)' : ''}: ${prose(description)}`,
  );
  const answers = Object.entries(successesOf(route)).map(
    ([status, description]) => `- ${status}: ${prose(description)}`,
  );
  return `### ${titleOf(route)}

${prose(route.summary)}. Permission: \`${String(route.permission)}\`.
${query.length === 0 ? '' : `\nQuery:\n\n${query.join('\n')}\n`}
Answers:

${answers.join('\n')}
${codesText(codesOf(route).filter((code) => !shared.has(code)))}
`;
}

export function routesReference(): string {
  const routes = routeTable();
  const shared = sharedCodes(routes);
  const byTag = [...Map.groupBy(routes, ({ tag }) => tag)];
  const anchorOf = anchors();
  for (const heading of ['Routes', 'On every route', ...byTag.map(([tag]) => tag)]) anchorOf(heading);
  const tables = byTag.map(([tag, group]) => {
    const rows = group.map((route) => {
      const to = anchorOf(titleOf(route));
      return `| ${route.method} | [\`${route.path}\`](#${to}) | ${route.summary} | \`${String(route.permission)}\` |`;
    });
    return `## ${tag}\n\n| Method | Path | What it does | Permission |\n|---|---|---|---|\n${rows.join('\n')}\n\n${group.map((route) => routeSection(route, shared)).join('\n')}`;
  });
  return `# Routes

Generated from the route table; do not edit. Every route of the HTTP interface with its permission, query, answers and rejection codes. The running
control plane serves the same with the schema of every body and answer at \`/openapi.json\`, and the guide, this reference and a page for every code at
\`/docs\`. Public, without a credential: \`/healthz\`, \`/readyz\`, \`/metrics\`, \`/openapi.json\`, \`/docs\`.

## On every route

These codes can answer any request, and are not repeated below:

${codesText(shared)}

${tables.join('\n')}`;
}
