/** What the package ships for Prometheus, Alertmanager and Grafana, as tests read it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const MONITORING = join(import.meta.dirname, '../../../packaging/monitoring');
export const RULES = join(MONITORING, 'berth-alerts.yml');

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export interface PanelQuery {
  readonly title: string;
  readonly query: string;
}

/** Every query of the dashboard, with what Grafana would put in for its variables. */
export function panelQueries(): readonly PanelQuery[] {
  const { panels } = JSON.parse(readFileSync(join(MONITORING, 'berth-dashboard.json'), 'utf8')) as {
    readonly panels: readonly Panel[];
  };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      query: expr.replaceAll('$tenant', '.*').replaceAll('$__rate_interval', '1m'),
    })),
  );
}

/** Names of metrics in a query; those of histograms without what stands for their parts. */
export function metricsIn(query: string): readonly string[] {
  const bare = query.replaceAll(/"[^"]*"/g, '""');
  return [...bare.matchAll(/\b(?:berth|process|nodejs)_[a-z0-9_]+/g)].map(([name]) =>
    name.replace(/_bucket$/, ''),
  );
}
