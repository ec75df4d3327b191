import type { PlaneTenant } from './plane.ts';
import { someTenant } from './steps-deployments.ts';
import type { World } from './world.ts';

const COUNTRY = 'berth.io/country';
const GIB = 2 ** 30;

export async function createVolume(world: World, tenant: PlaneTenant, name: string): Promise<void> {
  const replicas = world.dice.below(3);
  const body = { name, class: 'replicated', type: 'volume', sizeBytes: GIB, replicas };
  await world.request(tenant, 'POST', '/api/v1/dvm/volumes', body);
}

export const NODE_STEPS: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'time passes': (world) => world.advance(1000 + world.dice.below(9000)),
  'much time passes': (world) => world.advance(60_000 + world.dice.below(20_000)),
  'a container is lost': async (world) => {
    const running = world.machines.running();
    if (running.length > 0) world.machines.removeContainer(world.dice.pick(running));
    await world.settle();
  },
  'containers of a deployment are lost': async (world) => {
    const running = world.machines.running();
    if (running.length === 0) return;
    const { tenant, assigned } = world.dice.pick(running);
    for (const one of running)
      if (one.tenant === tenant && one.assigned.deployment === assigned.deployment)
        world.machines.removeContainer(one);
    world.note(`all of ${tenant.slug}/${assigned.deployment}`);
    await world.settle();
  },
  'an instance hangs': async (world) => {
    const checked = world.machines
      .running()
      .filter(({ assigned }) => assigned.container?.healthCheck !== undefined);
    if (checked.length === 0) return;
    const { tenant, node, assigned, number } = world.dice.pick(checked);
    world.note(`${tenant.slug}/${assigned.deployment} ${assigned.id} on ${node}`);
    world.machines.byName.get(node)?.hung.add(number);
    await world.settle();
  },
  'an engine gets slow': async (world) => {
    const machine = world.anyMachine(someTenant(world));
    if (machine !== undefined) machine.slow = true;
  },
  'engines are quick again': async (world) => {
    for (const machine of world.machines.all()) machine.slow = false;
    await world.settle();
  },
  'a node is cut off': async (world) => {
    const machine = world.anyMachine(someTenant(world));
    if (machine?.online !== true) return;
    world.note(machine.name);
    world.troubledNodes.add(machine.name);
    world.machines.cut(machine);
  },
  'nodes come back': async (world) => {
    for (const machine of world.machines.all()) if (!machine.online) await world.machines.connect(machine);
    await world.settle();
  },
  'a node moves': async (world) => {
    const machine = world.anyMachine(someTenant(world));
    if (machine?.online !== true) return;
    machine.labels = { ...machine.labels, [COUNTRY]: world.dice.pick(['DE', 'FR', 'US']) };
    world.troubledNodes.add(machine.name);
    world.note(`${machine.name} is in ${machine.labels[COUNTRY]}`);
    await world.machines.connect(machine);
    await world.settle();
  },
  cordon: async (world) => {
    const tenant = someTenant(world);
    const machine = world.anyMachine(tenant);
    const order = world.dice.pick(['cordon', 'uncordon', 'uncordon', 'drain']);
    if (machine === undefined) return;
    world.troubledNodes.add(machine.name);
    await world.request(tenant, 'POST', `/api/v1/nodes/${machine.name}/${order}`, {});
  },
  'a namespace is withdrawn': async (world) => {
    const at = world.plane.namespaces.indexOf('resources');
    if (at >= 0) world.plane.namespaces.splice(at, 1);
    else world.plane.namespaces.push('resources');
    world.note(`granted: ${world.plane.namespaces.join(', ')}`);
  },
  'create volume': async (world) => {
    await createVolume(world, someTenant(world), world.dice.pick(['data', 'files']));
    await world.settle();
  },
  'delete volume': async (world) => {
    const tenant = someTenant(world);
    const volumes = world.volumes(tenant);
    if (volumes.length > 0)
      await world.request(tenant, 'DELETE', `/api/v1/dvm/volumes/${world.dice.pick(volumes).id}`);
  },
  'residency of who mounts a volume': async (world) => {
    const tenant = someTenant(world);
    const mounting = world.deployments(tenant).filter(({ spec }) => (spec.volumes?.length ?? 0) > 0);
    if (mounting.length === 0) return;
    const { spec } = world.dice.pick(mounting);
    const placement = { residency: { country: world.dice.pick(['DE', 'FR']) } };
    await world.request(tenant, 'PUT', `/api/v1/deployments/${spec.name}`, { placement });
  },
  switchover: async (world) => {
    const tenant = someTenant(world);
    const copied = world.volumes(tenant).filter(({ replicas }) => replicas.length > 0);
    if (copied.length === 0) return;
    const { id, replicas } = world.dice.pick(copied);
    const { nodeId } = world.dice.pick(replicas);
    await world.request(tenant, 'POST', `/api/v1/dvm/volumes/${id}/promote`, { node_id: nodeId });
  },
  'remove a copy': async (world) => {
    const tenant = someTenant(world);
    const copied = world.volumes(tenant).filter(({ replicas }) => replicas.length > 0);
    if (copied.length === 0) return;
    const { id, replicas } = world.dice.pick(copied);
    world.alteredVolumes.add(id);
    const { nodeId } = world.dice.pick(replicas);
    await world.request(tenant, 'DELETE', `/api/v1/tenants/${tenant.id}/volumes/${id}/replicas/${nodeId}`);
  },
  quota: async (world) => {
    const tenant = someTenant(world);
    const quota = world.dice.chance(0.4) ? {} : { containers: 2 + world.dice.below(6) };
    await world.request(world.tenants.platform, 'PUT', `/api/v1/tenants/${tenant.slug}/quota`, quota);
  },
  'add a copy': async (world) => {
    const tenant = someTenant(world);
    const volumes = world.volumes(tenant);
    const machine = world.anyMachine(tenant);
    if (volumes.length === 0 || machine === undefined) return;
    const { id } = world.dice.pick(volumes);
    await world.request(tenant, 'POST', `/api/v1/tenants/${tenant.id}/volumes/${id}/replicas`, {
      node_id: machine.name,
    });
  },
};
