import type { ContainerPhase } from '../../../src/core/model/instance.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import { strictestAnchor } from './anchors.ts';
import type { Container } from './machines.ts';
import { type Credential, pathOf } from './model.ts';
import { isJob, type World } from './world.ts';

interface Given {
  readonly who: string;
  /** The instance that was given material. */
  readonly id: string;
  /** In service before. */
  readonly before: number | undefined;
  /** The version that was made for it; absent: none was. */
  readonly minted: number | undefined;
}

/** Of `process`: generated material lives with the containers that have it, and is made anew for the first that comes after them. */
export function judgeMint(world: World, credential: Credential, given: Given): void {
  if (given.minted !== undefined) judgeMinted(world, credential, given);
  else if (isSpent(world, credential, given))
    world.laws.expect(
      'new material for a new process',
      false,
      () => `${given.who} got what nobody holds any more`,
    );
  credential.handed = credential.current;
}

function judgeMinted(world: World, credential: Credential, { who, id, before, minted }: Given): void {
  const anchor = strictestAnchor(world, credential);
  world.laws.expect('new material for a new process', true, () => '');
  world.laws.expect(
    'no new material against an anchor',
    anchor === 'process',
    () => `${who}: minted ${minted} although ${anchor}`,
  );
  const holders = world.machines
    .running()
    .filter(
      (one) => one.assigned.id !== id && world.laws.isKnown(one) && holds(world, credential, one, before),
    )
    .map((one) => one.assigned.id);
  world.laws.expect(
    'one version at a time',
    holders.length === 0,
    () => `${who}: minted ${minted} while ${holders.join(', ')} run with ${before}`,
  );
  const was = credential.values(before);
  const now = credential.values(minted);
  const others = Object.keys(was).filter((key) => !credential.generated.has(key) && was[key] !== now[key]);
  world.laws.expect(
    'only what was generated',
    others.length === 0,
    () => `${who}: ${others.join(', ')} changed`,
  );
}

function holds(
  world: World,
  credential: Credential,
  container: Container,
  version: number | undefined,
): boolean {
  if (version === undefined || container.tenant !== credential.tenant || isJob(container)) return false;
  const entries = world.specOf(container)?.secrets.filter((entry) => pathOf(entry) === credential.path) ?? [];
  return entries.some(({ name }) => credential.matching(container.environment, name, '').includes(version));
}

const ENDED: ReadonlySet<ContainerPhase> = new Set(['exited', 'failed', 'removed']);

/** As far as the control plane can know: no other instance of a reader has, or is about to have, a container. */
function isSpent(world: World, credential: Credential, { id }: Given): boolean {
  const { tenant, path, rotation, current, generated, handed } = credential;
  if (rotation !== undefined || handed === undefined || handed !== current || generated.size === 0)
    return false;
  if (strictestAnchor(world, credential) !== 'process') return false;
  const store = world.plane.store.forTenant(tenant.id);
  return store.list('instances').every(({ id: key, record }) => {
    const spec = store.get('specs', idOf('specs', record.deployment, record.specHash))?.record;
    if (record.id === id || spec?.secrets.some((entry) => pathOf(entry) === path) === false) return true;
    const phase = store.get('observations', key)?.record.phase;
    return phase !== undefined && ENDED.has(phase);
  });
}
