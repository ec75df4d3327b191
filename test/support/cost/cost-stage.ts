import type { Caller } from '../harness/control-plane.ts';
import { NodeFlow } from '../harness/node-flow.ts';
import { PlaneProcess } from '../harness/plane-process.ts';
import type { AgentIdentity } from '../agents/scripted-agent.ts';
import type { Tokens } from './send.ts';

/** As shipped: what is measured is what somebody gets who sets nothing. */
const SHIPPED = {
  BERTH_TIMERS_HEARTBEAT: '5s',
  BERTH_TIMERS_FAILED_AFTER: '15s',
  BERTH_TIMERS_REPLACE_AFTER: '60s',
  BERTH_TIMERS_START_GRACE: '30s',
  BERTH_TIMERS_SETTLE: '10s',
  BERTH_SESSIONS_SIGN_INS_PER_MINUTE: '30',
  BERTH_METRICS_OPEN: 'false',
  BERTH_REGISTRIES_ALLOW_PRIVATE: 'localhost,127.0.0.1',
};

const IMAGE = 'localhost:5000/shop/web:1.0.0';
const DEPLOYMENTS = 100;
const VERSIONS = 6;
const NODES = ['rogue-1', 'rogue-2'] as const;

export interface CostStage {
  readonly plane: PlaneProcess;
  /** Of the hostile tenant. */
  readonly tokens: Tokens;
  readonly nodes: readonly AgentIdentity[];
  readonly document: unknown;
}

async function must(answer: ReturnType<Caller>): Promise<void> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`the stage was refused: ${JSON.stringify(body).slice(0, 500)}`);
}

function environment(entries: number, version: number): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Array.from({ length: entries }, (_, at) => [`V${at}`, `${version}-${'x'.repeat(40)}`]),
  );
}

/** As many entries as are taken. */
async function largest(call: Caller, name: string): Promise<number> {
  for (let entries = 16_384; entries > 1; entries /= 2) {
    const body = { name, image: IMAGE, replicas: 60, environment: environment(entries, 0) };
    if ((await call('POST', '/api/v1/deployments', body)).status === 201) return entries;
  }
  throw new Error('no deployment was accepted');
}

/** A hostile tenant that has something of everything, so that what it asks for leads somewhere. */
async function fill(call: Caller): Promise<void> {
  await must(call('PUT', '/api/v1/secrets/resources/web', { values: { password: 'one' } }));
  await must(call('POST', '/api/v1/networks', { name: 'web', nodeId: 'rogue-1' }));
  const entries = await largest(call, 'web');
  for (let version = 1; version <= VERSIONS; version += 1)
    await must(call('PUT', '/api/v1/deployments/web', { environment: environment(entries, version) }));
  await must(call('POST', '/api/v1/jobs', { kind: 'Job', name: 'job', image: IMAGE }));
  await must(call('POST', '/api/v1/backups', { deploymentName: 'web' }));
  // All at once: each waits for a registry that is not there.
  const one = (_: unknown, at: number): Promise<void> =>
    must(
      call('POST', '/api/v1/deployments', {
        name: `d${at}`,
        image: IMAGE,
        replicas: 2,
        labels: { at: `${at}` },
      }),
    );
  await Promise.all(Array.from({ length: DEPLOYMENTS }, one));
}

export async function startCostStage(): Promise<CostStage> {
  const plane = await new PlaneProcess(SHIPPED).start();
  try {
    const tenant = await plane.tenant('rogue');
    const flow = new NodeFlow(plane);
    const nodes: AgentIdentity[] = [];
    for (const node of NODES) nodes.push(await flow.enrolled(node, tenant));
    await fill(tenant.call);
    return {
      plane,
      tokens: {
        'tenant-admin': tenant.token,
        deployer: await plane.token('rogue', 'deployer'),
        viewer: await plane.token('rogue', 'viewer'),
      },
      nodes,
      document: (await plane.admin('GET', '/openapi.json')).body,
    };
  } catch (error) {
    await plane.dispose();
    throw error;
  }
}
