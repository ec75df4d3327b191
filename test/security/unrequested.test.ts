import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { type Answer, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = await plane.tenant('shop');
  flow = new NodeFlow(plane);
  await flow.connected('n1', shop);
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

const IMAGE = 'localhost:1/shop/web:1.0.0';

function deploy(name: string, more: Readonly<Record<string, unknown>>): Promise<Answer> {
  return shop.call('POST', '/api/v1/deployments', { name, image: IMAGE, ...more });
}

function warned({ body }: Answer): readonly string[] {
  return (body.warnings as { code: string; field: string }[])
    .filter(({ code }) => code === 'quota_counts_unrequested')
    .map(({ field }) => field);
}

async function placed(name: string): Promise<readonly [number, string]> {
  const { status } = (await shop.call('GET', `/api/v1/deployments/${name}`)).body;
  return [status.placed as number, String(status.message)];
}

const settled = (name: string) =>
  eventually(
    () => placed(name),
    ([, message]) => message.includes('quota'),
  );

attack('deployer', 'workloads without requests past a quota of cpu and memory', async () => {
  const set = await plane.admin('PUT', '/api/v1/tenants/shop/quota', { cpu: 0.3, memoryBytes: 2 ** 30 });
  expect(set.status).toBe(200);
  // The default is 0.1 cores: three fit, however many are asked for.
  const made = await deploy('plain', { replicas: 10 });
  expect(warned(made)).toEqual(['resources.requests.cpu', 'resources.requests.memory']);
  expect((await settled('plain'))[0]).toBe(3);
  const job = await shop.call('POST', '/api/v1/jobs', { kind: 'Job', name: 'more', image: IMAGE });
  expect(warned(job)).toHaveLength(2);

  // A limit counts as what it is.
  await plane.admin('PUT', '/api/v1/tenants/shop/quota', { memoryBytes: 2 ** 30 });
  const limited = await deploy('limited', {
    replicas: 10,
    resources: { limits: { memory: '512Mi' } },
  });
  expect(warned(limited)).toEqual(['resources.requests.memory']);
  const policy = await shop.call('PUT', '/api/v1/deployments/limited/scaling-policy', {
    minReplicas: 3,
    maxReplicas: 5,
    targetCpuPercent: 50,
    cooldown: '10s',
  });
  expect([policy.body.code, policy.body.field]).toEqual(['scaling_policy_invalid', 'minReplicas']);
});
