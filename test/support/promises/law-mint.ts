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
  /** The version that was made for it. */
  readonly minted: number;
}

/** Of `process`: generated material lives with the containers that have it; nobody else's is replaced meanwhile. */
export function judgeMinted(world: World, credential: Credential, { who, id, before, minted }: Given): void {
  const anchor = strictestAnchor(world, credential);
  world.laws.expect(
    'no new material against an anchor',
    anchor === 'process' || anchor === 'none',
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
