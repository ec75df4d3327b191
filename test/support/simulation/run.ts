import type { DeploymentSpec } from '../../../src/core/model/deployment.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import { NO_TROUBLE } from './faulty-kv.ts';
import { type Machine, type Parts, SOUND, World } from './world.ts';

const NODES = ['n1', 'n2', 'n3', 'n4'];
const NAMES = ['web', 'api', 'db'];
const CHAOS_MS = 150_000;
/** After the last fault. A container that ended three times within five minutes is told as a crash loop for that long. */
const HEALED_WITHIN_MS = 330_000;
const STEP_MS = 5000;
const DAY_MS = 86_400_000;

const CHECK = { type: 'exec', command: ['/bin/true'] } as const;

type Fault = (world: World) => void | Promise<void>;

const later = (world: World, ms: number, task: () => unknown): void => {
  world.time.after(ms, () => void task());
};

function anyMachine({ dice, machines }: World): Machine {
  return dice.pick([...machines.values()]);
}

/** Below the span after which a node fails, between failing and being replaced, and above both. */
function cutFor(world: World, machine: Machine, ms: number): void {
  machine.cutIn = true;
  machine.cutOut = true;
  later(world, ms, () => {
    machine.cutIn = false;
    machine.cutOut = false;
  });
}

const IMAGES = ['shop/web:1', 'shop/web:2', 'shop/web:3', 'shop/web:bad', 'shop/web:crash'];

function randomSpec({ dice }: World): Partial<DeploymentSpec> {
  const maxUnavailable = dice.below(2);
  return {
    image: dice.pick(IMAGES),
    replicas: dice.below(5),
    update: { maxSurge: maxUnavailable === 0 ? 1 + dice.below(2) : dice.below(2), maxUnavailable },
    ...(dice.chance(0.6) && { healthCheck: CHECK }),
  };
}

/** Each once in the list per weight. By name, so that the print of a failing run tells what happened. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'cut below the grace': (world) => cutFor(world, anyMachine(world), 2000 + world.dice.below(11_000)),
  'cut above the grace': (world) => cutFor(world, anyMachine(world), 16_000 + world.dice.below(40_000)),
  'cut until replaced': (world) => cutFor(world, anyMachine(world), 65_000 + world.dice.below(60_000)),
  'cut most of them': (world) => {
    const ms = 30_000 + world.dice.below(70_000);
    for (const name of ['n1', 'n2', 'n3']) {
      const machine = world.machines.get(name);
      if (machine !== undefined) cutFor(world, machine, ms);
    }
  },
  'cut one way': (world) => {
    const machine = anyMachine(world);
    const way = world.dice.chance(0.5) ? 'cutIn' : 'cutOut';
    machine[way] = true;
    later(world, 5000 + world.dice.below(30_000), () => {
      machine[way] = false;
    });
  },
  'slow and out of order': (world) => {
    const machine = anyMachine(world);
    machine.slowMs = 200 + world.dice.below(6000);
    later(world, 10_000 + world.dice.below(30_000), () => {
      machine.slowMs = 0;
    });
  },
  'connection breaks': (world) => anyMachine(world).link?.closed(),
  'agent killed': (world) => {
    const machine = anyMachine(world);
    world.killAgent(machine);
    later(world, 200 + world.dice.below(20_000), () => world.startAgent(machine));
  },
  'container ends': (world) => {
    const { engine } = anyMachine(world);
    const [one] = engine.list().filter(({ status }) => status === 'running');
    if (one !== undefined) engine.crash(one.id);
  },
  'container gets unhealthy': (world) => {
    const { engine } = anyMachine(world);
    const [one] = engine.list().filter(({ health }) => health?.status === 'healthy');
    if (one === undefined) return;
    engine.setHealth(one.id, 'unhealthy');
    later(world, 1000 + world.dice.below(20_000), () => engine.setHealth(one.id, 'healthy'));
  },
  'control plane killed': async (world) => {
    if (world.plane === undefined) return;
    await world.killPlane();
    later(world, 500 + world.dice.below(40_000), () => world.plane ?? world.startPlane());
  },
  'two control planes': async (world) => {
    if (world.rival !== undefined) return;
    await world.startRival();
    later(world, 2000 + world.dice.below(20_000), () => world.stopRival());
  },
  'store in trouble': (world) => {
    world.trouble = { conflict: 0.2, refused: 0.2, unanswered: 0.1 };
    later(world, 3000 + world.dice.below(20_000), () => {
      world.trouble = NO_TROUBLE;
    });
  },
  'assignment truncated': (world) => {
    const machine = anyMachine(world);
    machine.truncate = true;
    // A new session says the whole assignment.
    machine.link?.closed();
  },
  'wall clock jumps': (world) => world.time.jumpWall(world.dice.pick([DAY_MS, -DAY_MS, 3_600_000])),
  update: (world) => world.apply(world.dice.pick(NAMES), randomSpec(world)),
  scale: async (world) => {
    const name = world.dice.pick(NAMES);
    if (world.truth.get('deployments', idOf('deployments', name)) !== undefined)
      await world.apply(name, { replicas: world.dice.below(world.dice.chance(0.1) ? 20 : 6) });
  },
  delete: (world) => world.remove(world.dice.pick(NAMES)),
  cordon: async (world) => {
    const { name } = anyMachine(world);
    await world.alterNode(name, { schedulable: false });
    later(world, 20_000, () => world.alterNode(name, { schedulable: true }));
  },
  drain: async (world) => {
    const { name } = anyMachine(world);
    await world.alterNode(name, { schedulable: false, draining: true });
    later(world, 30_000, () => world.alterNode(name, { schedulable: true, draining: false }));
  },
  quota: (world) =>
    world.write((transaction) =>
      transaction.put('quota', 'quota', world.dice.chance(0.3) ? {} : { containers: world.dice.below(14) }),
    ),
};

const COMMON = [
  'update',
  'update',
  'update',
  'scale',
  'scale',
  'container ends',
  'agent killed',
  'slow and out of order',
  'assignment truncated',
];
const DRAWN = [...Object.keys(FAULTS), ...COMMON];

export interface Run {
  readonly seed: number;
  /** The first that was broken; absent: all held. */
  readonly broken?: string;
  readonly trace: string;
  readonly faults: readonly string[];
  readonly judged: ReadonlyMap<string, number>;
  readonly virtualMs: number;
  readonly problems: readonly string[];
}

/** One seed: faults for two and a half minutes, then none, and everything has to be as wanted within five and a half more. */
export async function simulate(seed: number, parts: Parts = SOUND): Promise<Run> {
  const world = await World.create(seed, NODES, parts);
  const faults: string[] = [];
  try {
    await world.apply('web', { replicas: 3, healthCheck: CHECK });
    await world.apply('api', { replicas: 2, image: 'shop/web:2' });
    await world.advance(20_000);
    const endMs = world.time.monotonicMs() + CHAOS_MS;
    while (world.time.monotonicMs() < endMs && world.laws.broken.length === 0) {
      const fault = world.dice.pick(DRAWN);
      faults.push(`${Math.round(world.time.monotonicMs() / 1000)}s ${fault}`);
      world.note(fault);
      await FAULTS[fault]?.(world);
      await world.settle();
      await world.advance(300 + world.dice.below(7000));
    }
    if (world.laws.broken.length === 0) await heal(world);
    return {
      seed,
      ...(world.laws.broken[0] !== undefined && { broken: world.laws.broken[0] }),
      trace: world.traceHash(),
      faults,
      judged: world.laws.judged,
      virtualMs: world.time.monotonicMs(),
      problems: world.problems,
    };
  } finally {
    await world.close();
  }
}

async function heal(world: World): Promise<void> {
  world.trouble = NO_TROUBLE;
  await world.stopRival();
  if (world.plane === undefined) await world.startPlane();
  for (const machine of world.machines.values()) {
    Object.assign(machine, { cutIn: false, cutOut: false, slowMs: 0, truncate: false });
    world.startAgent(machine);
    await world.alterNode(machine.name, { schedulable: true, draining: false });
  }
  await world.write((transaction) => transaction.put('quota', 'quota', {}));
  for (const name of NAMES) {
    const known = world.truth.get('deployments', idOf('deployments', name))?.record.spec;
    if (known === undefined) continue;
    // Only what can never work is replaced: the rest has to come right by itself.
    const image = /:(bad|crash)/.test(known.image) ? 'shop/web:9' : known.image;
    await world.apply(name, { image, replicas: Math.min(known.replicas, 4) });
  }
  const limitMs = world.time.monotonicMs() + HEALED_WITHIN_MS;
  for (;;) {
    await world.advance(STEP_MS);
    const unsettled = world.laws.unsettled();
    if (world.laws.broken.length > 0 || unsettled === undefined) return;
    if (world.time.monotonicMs() >= limitMs) {
      world.laws.broken.push(`convergence: ${unsettled}, ${HEALED_WITHIN_MS / 1000} s after the last fault`);
      return;
    }
  }
}

export function describeRun({ seed, broken, faults, problems }: Run): string {
  return [
    `seed ${seed}: ${broken ?? 'held'} (SIM_SEED=${seed} repeats it)`,
    ...faults.map((fault) => `  ${fault}`),
    ...problems.slice(-3).map((problem) => `  ! ${problem}`),
  ].join('\n');
}
