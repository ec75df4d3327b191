import type { DeploymentSpec, SecretReference } from '../../../src/core/model/deployment.ts';
import type { Credential } from './model.ts';
import type { PlaneTenant } from './plane.ts';
import { freshValue, KEYS, PATHS, someTenant, write } from './steps-deployments.ts';
import { pathOf } from './model.ts';
import type { World } from './world.ts';

type Body = Record<string, unknown>;

interface Reader {
  readonly spec: DeploymentSpec;
  readonly entry: SecretReference;
}

function entryOf(path: string): string {
  return path === PATHS.DB ? 'DB' : 'MAIL';
}

function someCredential(world: World, tenant: PlaneTenant): Credential {
  return world.model.credential(tenant, world.dice.pick(Object.values(PATHS)));
}

/** Rather one that takes part already, so that rotations get somewhere. */
function someReader(world: World, tenant: PlaneTenant): Reader | undefined {
  const readers = world
    .deployments(tenant)
    .flatMap(({ spec }) => spec.secrets.map((entry) => ({ spec, entry })));
  const within = readers.filter(({ spec, entry }) =>
    world.model.credential(tenant, pathOf(entry)).rotation?.parts.has(spec.name),
  );
  const drawn = within.length > 0 && world.dice.chance(0.7) ? within : readers;
  return drawn.length === 0 ? undefined : world.dice.pick(drawn);
}

/** Mostly the phase that comes next, so that rotations get somewhere. */
function somePhase({ dice }: World, done: string | undefined): string {
  if (dice.chance(0.12)) return 'abort';
  if (dice.chance(0.12)) return dice.pick(['stage', 'promote', 'retire']);
  return done === undefined ? 'stage' : done === 'stage' ? 'promote' : 'retire';
}

function newMaterial({ dice }: World, path: string): Body {
  const keys = KEYS[entryOf(path)] as readonly string[];
  if (dice.chance(0.5)) return {};
  if (dice.chance(0.5)) return { generate: { keys } };
  return { values: Object.fromEntries(keys.map((key) => [key, freshValue()])) };
}

/** Whether the phase is for a consumer that has come so far; the others stay where they are. */
function moves(phase: string, part: string | undefined): boolean {
  if (phase === 'abort') return part !== undefined;
  return part === { stage: undefined, promote: 'stage', retire: 'promote' }[phase];
}

/** What an accepted phase means for one credential and these of its consumers. */
async function believe(
  world: World,
  credential: Credential,
  phase: string,
  { asked, whole = false }: { readonly asked: readonly string[]; readonly whole?: boolean },
  body: Body,
): Promise<void> {
  const { tenant, path, rotation } = credential;
  const consumers = asked.filter((name) => moves(phase, rotation?.parts.get(name)));
  const before = credential.values(credential.current);
  const found = await world.discover(tenant, path, 'stage');
  // A phase whose rollout failed was asked for again, or it was for other credentials of the deployment.
  if (consumers.length === 0 && !whole) return;
  if (phase === 'stage') {
    const next = rotation?.next ?? found[0] ?? credential.waiting();
    credential.staged(next, consumers);
    if (rotation === undefined) judgeStaged(world, credential, before, next, body);
  } else if (phase === 'promote') credential.promoted(consumers, world.consumersOf(credential));
  else if (phase === 'retire') credential.retired(consumers);
  else credential.aborted(consumers);
}

/** Without material only what was generated is new; what was sent is as it was sent. */
function judgeStaged(
  world: World,
  credential: Credential,
  before: Readonly<Record<string, string>>,
  next: number,
  body: Body,
): void {
  const values = (body['values'] ?? {}) as Readonly<Record<string, string>>;
  const minted = (body['generate'] as { keys?: readonly string[] } | undefined)?.keys ?? [];
  const now = credential.values(next);
  const wrong = Object.keys(before).filter((key) => {
    if (key in values || minted.includes(key)) return false;
    return now[key] !== before[key] && !credential.generated.has(key);
  });
  world.laws.expect(
    'only what was generated',
    wrong.length === 0,
    () => `stage of ${credential.path}: ${wrong.join(', ')} changed`,
  );
  for (const key of Object.keys(values)) credential.generated.delete(key);
  for (const key of minted) credential.generated.add(key);
}

export async function writeDocument(world: World, tenant: PlaneTenant, path: string): Promise<void> {
  const keys = KEYS[entryOf(path)] as readonly string[];
  const [first = '', ...rest] = keys;
  const values = Object.fromEntries(keys.map((key) => [key, freshValue()]));
  const bodies: readonly Body[] = [
    { generate: { keys } },
    { values },
    rest.length === 0 ? { values } : { values: { [first]: freshValue() }, generate: { keys: rest } },
  ];
  await write(world, tenant, 'PUT', `/api/v1/secrets/${path}`, world.dice.pick(bodies));
}

export const SECRET_STEPS: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'write secret': async (world) => {
    const tenant = someTenant(world);
    await writeDocument(world, tenant, someCredential(world, tenant).path);
  },
  'rotate at a deployment': async (world) => {
    const tenant = someTenant(world);
    const found = someReader(world, tenant);
    if (found === undefined) return;
    const { spec, entry } = found;
    const credential = world.model.credential(tenant, pathOf(entry));
    const part = credential.rotation?.parts.get(spec.name);
    const phase = somePhase(world, part);
    const body = {
      phase,
      ...(world.dice.chance(0.7) && { secret: entry.name }),
      ...(phase === 'stage' && credential.rotation === undefined && newMaterial(world, credential.path)),
    };
    const answer = await world.request(
      tenant,
      'POST',
      `/api/v1/deployments/${spec.name}/secrets/rotate`,
      body,
    );
    if (answer.status >= 400) return;
    const moved = 'secret' in body ? [entry] : spec.secrets;
    for (const path of new Set(moved.map(pathOf)))
      await believe(world, world.model.credential(tenant, path), phase, { asked: [spec.name] }, body);
  },
  'rotate the whole credential': async (world) => {
    const tenant = someTenant(world);
    const credential = someCredential(world, tenant);
    const readers = world.consumersOf(credential);
    const { rotation, path } = credential;
    const parts = rotation === undefined ? [] : readers.map((name) => rotation.parts.get(name));
    const done =
      rotation === undefined ? undefined : parts.every((part) => part === 'promote') ? 'promote' : 'stage';
    const phase = somePhase(world, done);
    const body = { phase, ...(phase === 'stage' && rotation === undefined && newMaterial(world, path)) };
    const answer = await world.request(tenant, 'POST', `/api/v1/secrets/${path}/rotate`, body);
    if (answer.status >= 400) return;
    await believe(world, credential, phase, { asked: readers, whole: true }, body);
  },
};
