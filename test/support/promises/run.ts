import { Dice } from '../openapi-fuzz.ts';
import { judgeSettled } from './law-settled.ts';
import { CONTROL_PLANE_NODE, type Parts, SOUND } from './plane.ts';
import { DEPLOYMENT_STEPS, NAMES, PATHS } from './steps-deployments.ts';
import { FORM_STEPS } from './steps-forms.ts';
import { createVolume, NODE_STEPS } from './steps-nodes.ts';
import { SECRET_STEPS, writeDocument } from './steps-secrets.ts';
import { World } from './world.ts';

export const STEPS = 40;
/** For everything to be as wanted after the last step. */
const SETTLED_MS = 60_000;

const ALL: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  ...DEPLOYMENT_STEPS,
  ...SECRET_STEPS,
  ...NODE_STEPS,
  ...FORM_STEPS,
};

/** Each once, and these more often. */
const COMMON: readonly string[] = [
  ...Array<string>(3).fill('create'),
  ...Array<string>(3).fill('scale'),
  ...Array<string>(14).fill('rotate at a deployment'),
  ...Array<string>(5).fill('rotate the whole credential'),
  ...Array<string>(2).fill('write secret'),
  ...Array<string>(4).fill('time passes'),
  ...Array<string>(2).fill('a container is lost'),
  'engines are quick again',
  'nodes come back',
  'stop',
];
const DRAWN = [...Object.keys(ALL), ...COMMON];

export interface Run {
  readonly seed: number;
  readonly broken?: string;
  /** What was done, in order. */
  readonly told: readonly string[];
  readonly judged: ReadonlyMap<string, number>;
  readonly deliveries: number;
  readonly steps: number;
}

/** Each step has dice of its own, so that it stays what it is when others are left out. */
async function step(world: World, seed: number, at: number): Promise<void> {
  world.dice = new Dice(seed * 1009 + at * 7919);
  const name = world.dice.pick(DRAWN);
  world.note(`${at}: ${name}`);
  await ALL[name]?.(world);
  // What is believed has changed, what runs has not yet.
  world.laws.judgeNow();
  await world.settle();
}

/** What is referred to cannot be deleted, and what can be was referred to by nobody. In the end: it draws nothing, and sequences stay what they are. */
async function tryDeletions(world: World): Promise<void> {
  const { shop, bank } = world.tenants;
  for (const tenant of [shop, bank])
    for (const path of Object.values(PATHS)) {
      const readers = world.consumersOf(world.model.credential(tenant, path));
      const { status } = await world.request(tenant, 'DELETE', `/api/v1/secrets/${path}`);
      world.laws.expect(
        'referenced secrets stay',
        readers.length === 0 || status >= 400,
        () => `${tenant.slug}: ${path} was deleted, and ${readers.join(', ')} refers to it`,
      );
    }
}

async function begin(world: World): Promise<void> {
  const { shop, bank } = world.tenants;
  for (const [name, country] of [
    ['shop-1', 'DE'],
    ['shop-2', 'FR'],
    ['shop-3', 'DE'],
  ] as const)
    await world.machines.enrol(shop, name, { 'berth.io/country': country });
  // It is the platform's alone to use, whoever has enrolled it.
  await world.machines.enrol(shop, CONTROL_PLANE_NODE, { 'berth.io/country': 'DE' });
  for (const [name, country] of [
    ['bank-1', 'DE'],
    ['bank-2', 'US'],
  ] as const)
    await world.machines.enrol(bank, name, { 'berth.io/country': country });
  await world.settle();
  if (world.dice.chance(0.3)) return;
  if (world.dice.chance(0.5)) {
    await createVolume(world, shop, 'data');
    await world.settle();
  }
  for (const path of Object.values(PATHS)) await writeDocument(world, shop, path);
  for (const _ of NAMES.slice(1)) {
    await ALL['create']?.(world);
    await world.settle();
  }
}

/** One sequence; `only` names the steps to take, the others are left out. */
export async function runSequence(
  seed: number,
  parts: Parts = SOUND,
  only?: ReadonlySet<number>,
): Promise<Run> {
  const world = await World.create(parts);
  let steps = 0;
  try {
    world.dice = new Dice(seed);
    await begin(world);
    for (let at = 0; at < STEPS && world.laws.broken === undefined; at += 1) {
      if (only?.has(at) === false) continue;
      await step(world, seed, at);
      steps += 1;
    }
    if (world.laws.broken === undefined) await end(world);
  } catch (error) {
    world.laws.broken ??= `fault: ${error instanceof Error ? error.stack : String(error)}`;
  } finally {
    await world.close();
  }
  const { broken, judged } = world.laws;
  return {
    seed,
    ...(broken !== undefined && { broken }),
    told: world.told,
    judged,
    deliveries: world.deliveries,
    steps,
  };
}

async function end(world: World): Promise<void> {
  world.note('in the end');
  for (const machine of world.machines.all()) {
    machine.slow = false;
    if (!machine.online) await world.machines.connect(machine);
  }
  await world.advance(SETTLED_MS);
  judgeSettled(world);
  await tryDeletions(world);
}

function lawOf(broken: string | undefined): string | undefined {
  return broken?.split(':', 1)[0];
}

/** The same break with as few steps as leaving them out one by one can find. */
export async function shrink(run: Run, parts: Parts = SOUND): Promise<Run> {
  let kept = Array.from({ length: STEPS }, (_, at) => at);
  let smallest = run;
  for (let size = STEPS / 2; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < kept.length; ) {
      const tried = kept.filter((_, index) => index < from || index >= from + size);
      const again = await runSequence(run.seed, parts, new Set(tried));
      if (lawOf(again.broken) === lawOf(run.broken)) {
        kept = tried;
        smallest = again;
      } else from += size;
    }
  }
  return smallest;
}

export function describeRun({ seed, broken, told }: Run): string {
  return [
    `seed ${seed}: ${broken ?? 'held'} (PROMISE_SEED=${seed} repeats it)`,
    ...told.map((line) => `  ${line}`),
  ].join('\n');
}
