import type { Route } from '../../src/server/api/route.ts';
import { apiRoutes } from '../../src/server/api/routes/index.ts';

/** The table alone is read; no handler is called, so nothing has to be wired. */
export function routeTable(): readonly Route[] {
  return apiRoutes({} as Parameters<typeof apiRoutes>[0]);
}

export function routesReference(): string {
  const byTag = new Map<string, Route[]>();
  for (const route of routeTable()) byTag.set(route.tag, [...(byTag.get(route.tag) ?? []), route]);
  const sections = [...byTag].map(([tag, routes]) => {
    const rows = routes.map((route) => {
      const query = Object.keys(route.query ?? {})
        .map((name) => `\`${name}\``)
        .join(', ');
      return `| ${route.method} | \`${route.path}\` | ${route.summary} | \`${String(route.permission)}\` | ${query} |`;
    });
    return `## ${tag}\n\n| Method | Path | What it does | Permission | Query |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Routes

Generated from the route table; do not edit. The running control plane serves the full description, with every body,
answer and code, at \`/openapi.json\`, and the guide, this reference and a page for every code at \`/docs\`. Public, without a credential: \`/healthz\`,
\`/readyz\`, \`/metrics\`, \`/openapi.json\`, \`/docs\`.

${sections.join('\n')}`;
}
