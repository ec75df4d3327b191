import type { deployment } from '../../core/contract/answers/deployment.ts';
import { NO_INGRESS_NODE } from '../../core/contract/reach-warnings.ts';
import type { Answer } from '../../core/schema/shape.ts';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import { type IngressEntry, isOfEntry, servedIngress, type ServedRoute } from '../../core/model/ingress.ts';
import type { NodeRecord } from '../../core/model/node.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

type Status = NonNullable<Answer<typeof deployment>['status']['ingress']>[number];
type Said = ServedRoute & { readonly node: NodeRecord };

/** Every way in of the spec, as the tenant's ingress nodes last said. */
export function ingressStatus(tenant: TenantStore, spec: DeploymentSpec): readonly Status[] {
  const entries = servedIngress(spec);
  if (entries.length === 0) return [];
  const nodes = tenant
    .list('nodes')
    .map(({ record }) => record)
    .filter(({ ingress }) => ingress !== undefined);
  const alive = nodes.filter(
    ({ name }) => tenant.get('node-liveness', idOf('node-liveness', name))?.record.status !== 'failed',
  );
  return entries.map((entry) => {
    const said = alive.flatMap((node): readonly Said[] => {
      const { routes = [] } = tenant.get('ingress-reports', idOf('ingress-reports', node.name))?.record ?? {};
      const route = routes.find((one) => one.deployment === spec.name && isOfEntry(one, entry));
      return route === undefined ? [] : [{ ...route, node }];
    });
    return statusOf(entry, nodes, alive, said);
  });
}

function statusOf(
  entry: IngressEntry,
  nodes: readonly NodeRecord[],
  alive: readonly NodeRecord[],
  said: readonly Said[],
): Status {
  const { host, path, listen, protocol = 'http' } = entry;
  const serving = said.filter(({ state }) => state === 'serving');
  const failing = said.filter(({ state }) => state === 'failed');
  const state = serving.length > 0 ? 'serving' : failing.length > 0 ? 'failed' : 'waiting';
  const problem = nodes.length === 0 ? NO_INGRESS_NODE : problemOf(nodes, alive, said);
  const certificate = (serving[0] ?? said[0])?.certificate;
  const url = urlOf(entry, (serving[0] ?? said[0])?.node ?? alive[0]);
  return {
    protocol,
    ...(host !== undefined && { host }),
    ...(path !== undefined && { path }),
    ...(listen !== undefined && { listen }),
    ...(url !== undefined && { url }),
    state: nodes.length === 0 ? 'unserved' : state,
    ...(problem !== undefined && { problem }),
    nodes: serving.map(({ node }) => node.name),
    ...(certificate && { certificate }),
  };
}

function problemOf(
  nodes: readonly NodeRecord[],
  alive: readonly NodeRecord[],
  said: readonly Said[],
): string | undefined {
  if (alive.length === 0) return `no ingress node answers: ${nodes.map(({ name }) => name).join(', ')}`;
  const told = said.find(({ problem }) => problem !== undefined);
  if (told !== undefined) return `${told.node.name}: ${told.problem ?? ''}`;
  const unfit = alive.find(({ ingress }) => ingress?.problem !== undefined);
  return unfit === undefined ? undefined : `${unfit.name}: ${unfit.ingress?.problem ?? ''}`;
}

function urlOf({ host, path, tls, protocol = 'http' }: IngressEntry, node: NodeRecord | undefined) {
  if (host === undefined || protocol !== 'http') return undefined;
  const [scheme, usual, port] =
    tls === 'off' ? ['http', 80, node?.ingress?.http ?? 80] : ['https', 443, node?.ingress?.https ?? 443];
  return `${scheme}://${host}${port === usual ? '' : `:${port}`}${path ?? '/'}`;
}
