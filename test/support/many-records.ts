import { tenantId } from '../../src/core/model/ids.ts';
import { coldKey, globalKey, tenantKey } from '../../src/server/store/keys.ts';
import type { KvEntry } from '../../src/server/store/kv.ts';
import { encodeRecord } from '../../src/server/store/records.ts';

const TENANT = tenantId('d326a2aa-1d89-40fe-b38a-35d59dfd16ee');
const PAGE = 500;

/** What a control plane stores of a deployment with two instances, in size and number of records. */
function recordsOfDeployment(number: number): readonly KvEntry[] {
  const name = `web-${String(number).padStart(6, '0')}`;
  const spec = {
    kind: 'Deployment',
    name,
    image: `registry.internal:5000/shop/${name}:1.4.${number}`,
    replicas: 2,
    environment: { LOG_LEVEL: 'info', ADDRESS: `http://${name}.example.com/ä/${number}` },
    healthCheck: { type: 'http', path: '/healthz', port: 8080, interval: '10s' },
    labels: { team: `team-${number % 97}`, tier: 'web' },
    resources: { requests: { cpu: 0.25, memory: '128Mi' } },
  };
  const specHash = String(number).padStart(64, 'f');
  const revision = 10 + number;
  const at = (key: string, record: object): KvEntry => ({
    key,
    value: encodeRecord(record),
    createRevision: revision,
    modRevision: revision + 1,
  });
  const hot = (kind: string, id: string, record: object): KvEntry => at(tenantKey(TENANT, kind, id), record);
  return [
    hot('deployments', name, { id: `dep_${number}`, spec, specHash, version: 1, secretsVersion: 0 }),
    hot('specs', `${name}/${specHash}`, { spec, specHash }),
    hot('deployment-status', name, { phase: 'Running', healthy: 2, wanted: 2 }),
    hot('rollouts', name, { specHash, since: '2026-11-17T00:00:00.000Z' }),
    ...[1, 2].flatMap((one) => [
      hot('instances', `${name}/inst_${number}_${one}`, {
        id: `inst_${number}_${one}`,
        specHash,
        wanted: 'run',
      }),
      hot('observations', `${name}/inst_${number}_${one}`, { id: `inst_${number}_${one}`, phase: 'running' }),
    ]),
    at(coldKey(TENANT, 'archives', `${name}/000000001`), { version: 1, change: 'created', spec, specHash }),
    at(coldKey(TENANT, 'audit', `aud_${number}`), { id: `aud_${number}`, action: 'deployment.created' }),
    at(coldKey(TENANT, 'events', `evt_${number}`), { id: `evt_${number}`, kind: 'deployment.created' }),
  ];
}

const PLATFORM: KvEntry = {
  key: globalKey('tenant-slugs', 'shop'),
  value: encodeRecord({ tenantId: TENANT }),
  createRevision: 1,
  modRevision: 1,
};

export function recordsOf(deployments: number): readonly KvEntry[] {
  return [
    PLATFORM,
    ...Array.from({ length: deployments }, (_one, number) => recordsOfDeployment(number)).flat(),
  ];
}

/** The same a page at a time, in no order. */
export async function* deploymentsOf(deployments: number): AsyncGenerator<readonly KvEntry[]> {
  yield [PLATFORM];
  for (let from = 0; from < deployments; from += PAGE)
    yield Array.from({ length: Math.min(PAGE, deployments - from) }, (_one, more) =>
      recordsOfDeployment(from + more),
    ).flat();
}
