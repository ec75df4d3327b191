import type { DeploymentSpec, Residency } from '../../../src/core/model/deployment.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import type { Container } from './machines.ts';
import { CONTROL_PLANE_NODE, type PlaneTenant } from './plane.ts';
import { isJob, type World } from './world.ts';

const COUNTRY = 'berth.io/country';
/** Of the countries that nodes are in here. */
const EUROPE = ['DE', 'FR'];

/** Worked out anew: a law that shares the code it judges agrees with its mistakes. */
export function admitted(
  labels: Readonly<Record<string, string>>,
  { country, region, blockedCountries = [] }: Residency,
): boolean {
  const here = labels[COUNTRY] ?? '';
  if (country !== undefined && here !== country) return false;
  if (region !== undefined && !EUROPE.includes(here)) return false;
  return !blockedCountries.includes(here);
}

function labelsOf(world: World, tenant: PlaneTenant, node: string): Readonly<Record<string, string>> {
  return world.plane.store.forTenant(tenant.id).get('nodes', idOf('nodes', node))?.record.labels ?? {};
}

/** A node that could take it at once, as far as anybody can tell. */
function couldMove(world: World, tenant: PlaneTenant, spec: DeploymentSpec): boolean {
  const store = world.plane.store.forTenant(tenant.id);
  const quota = store.get('quota', 'quota')?.record.containers;
  if (spec.nodeId !== undefined || (spec.volumes?.length ?? 0) > 0 || quota !== undefined) return false;
  return world.machines
    .all()
    .some(
      ({ tenant: owner, name }) =>
        owner === tenant &&
        name !== CONTROL_PLANE_NODE &&
        store.get('nodes', idOf('nodes', name))?.record.schedulable === true &&
        admitted(labelsOf(world, tenant, name), spec.placement?.residency ?? {}),
    );
}

function judgeResidency(world: World, container: Container): void {
  const { tenant, node, assigned } = container;
  const spec = world.deployment(tenant, assigned.deployment)?.spec;
  const residency = spec?.placement?.residency;
  if (spec === undefined || residency === undefined) return;
  const status = world.plane.store
    .forTenant(tenant.id)
    .get('deployment-status', idOf('deployment-status', spec.name))?.record;
  const labels = labelsOf(world, tenant, node);
  const words = () =>
    `${tenant.slug}/${assigned.deployment} wants ${JSON.stringify(residency)} and runs on ${node} in ${labels[COUNTRY]}: ` +
    `${status?.phase}, ${status?.message}`;
  const misplaced = !admitted(labels, residency);
  world.laws.expect(
    'residency',
    !misplaced || status?.phase === 'Degraded' || couldMove(world, tenant, spec),
    words,
  );
  const stuck = misplaced && isSound(world, tenant, spec) && couldMove(world, tenant, spec);
  world.laws.expect('residency moves', !stuck, words);
}

/** Nothing of its own holds it back: a container of it gets healthy wherever it is made. */
function isSound(world: World, tenant: PlaneTenant, spec: DeploymentSpec): boolean {
  return (
    !spec.image.endsWith('-bad') &&
    world.plane.store.forTenant(tenant.id).get('canaries', idOf('canaries', spec.name)) === undefined &&
    spec.secrets.every(({ vault_path }) => {
      const [namespace = ''] = vault_path.split('/');
      const { current } = world.model.credential(tenant, vault_path);
      return current !== undefined && world.plane.namespaces.includes(namespace);
    })
  );
}

/** After time enough for everything to be as wanted. */
export function judgeSettled(world: World): void {
  for (const container of world.machines.running())
    if (!isJob(container) && world.laws.isKnown(container)) judgeResidency(world, container);
}
