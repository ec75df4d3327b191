import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as Alterations from '../../src/core/alterations/deployment.ts';
import type * as Merge from '../../src/core/contract/deployment-merge.ts';
import type * as Credentials from '../../src/core/secrets/credentials.ts';
import type * as Delivery from '../../src/core/secrets/delivery.ts';
import type * as InstanceStates from '../../src/core/plan/rollout/instance-state.ts';
import type * as Rotation from '../../src/core/secrets/rotation.ts';
import type * as VolumeFacts from '../../src/core/plan/volumes/volume-facts.ts';
import type * as ShellStatus from '../../src/core/rules/shell/status.ts';
import type * as Volumes from '../../src/core/rules/volumes.ts';
import type * as AssignedInstances from '../../src/server/agents/assignments/assigned-instance.ts';
import type * as Claims from '../../src/server/placement/volume-residency.ts';
import type * as Resolve from '../../src/server/secrets/resolve.ts';
import { describeRun, runSequence } from '../support/promises/run.ts';

/**
 * Laws that find nothing prove nothing. Each of these mistakes was in the code once, or lies near one that was; each has to be found by
 * its law within some sequences, all of which hold without it. They are put in place of the real functions here and nowhere else.
 */
const SEQUENCES = 50;

type Real = (...asked: never[]) => unknown;
const { planted, plantable } = vi.hoisted(() => {
  const mistakes = new Map<string, (real: Real) => Real>();
  return {
    planted: mistakes,
    /** The module with functions that ask first whether a mistake is planted in their place. */
    plantable: <M extends object>(real: M, ...names: readonly (keyof M & string)[]): M => ({
      ...real,
      ...Object.fromEntries(
        names.map((name) => {
          const sound = real[name] as Real;
          return [name, (...asked: never[]) => (mistakes.get(name)?.(sound) ?? sound)(...asked)];
        }),
      ),
    }),
  };
});

vi.mock('../../src/core/secrets/rotation.ts', async (original) =>
  plantable(
    await original<typeof Rotation>(),
    'refuseMove',
    'carryRotation',
    'advanceCredential',
    'moveRotation',
  ),
);
vi.mock('../../src/core/secrets/credentials.ts', async (original) =>
  plantable(
    await original<typeof Credentials>(),
    'isDeliverable',
    'isSpent',
    'strictestAnchor',
    'mintedAfter',
    'beginRotation',
  ),
);
vi.mock('../../src/core/secrets/delivery.ts', async (original) =>
  plantable(await original<typeof Delivery>(), 'planDelivery'),
);
vi.mock('../../src/core/plan/rollout/instance-state.ts', async (original) =>
  plantable(await original<typeof InstanceStates>(), 'instanceState'),
);
vi.mock('../../src/core/plan/volumes/volume-facts.ts', async (original) =>
  plantable(await original<typeof VolumeFacts>(), 'removedBy'),
);
vi.mock('../../src/server/placement/volume-residency.ts', async (original) =>
  plantable(await original<typeof Claims>(), 'residencyConflict'),
);
vi.mock('../../src/core/contract/deployment-merge.ts', async (original) =>
  plantable(await original<typeof Merge>(), 'judgedFields'),
);
vi.mock('../../src/core/rules/shell/status.ts', async (original) =>
  plantable(await original<typeof ShellStatus>(), 'cannotFail'),
);
vi.mock('../../src/core/rules/volumes.ts', async (original) =>
  plantable(await original<typeof Volumes>(), 'volumeMountsRule'),
);
vi.mock('../../src/server/agents/assignments/assigned-instance.ts', async (original) =>
  plantable(await original<typeof AssignedInstances>(), 'assignedInstance'),
);
vi.mock('../../src/server/secrets/resolve.ts', async (original) =>
  plantable(await original<typeof Resolve>(), 'resolveEnvironment'),
);
vi.mock('../../src/core/alterations/deployment.ts', async (original) =>
  plantable(await original<typeof Alterations>(), 'alterDeployment'),
);

afterEach(() => planted.clear());

interface Mistake {
  readonly name: string;
  readonly law: RegExp;
  /** Where it is looked for first, if it takes a rare meeting; absent: 1. */
  readonly from?: number;
  readonly plant: () => void;
}

/** In place of a function of that name. */
function instead<F extends Real>(name: string, mistake: (real: F) => F): void {
  planted.set(name, mistake as unknown as (real: Real) => Real);
}

const MISTAKES: readonly Mistake[] = [
  {
    name: 'the newest version is delivered, whoever it was staged for',
    law: /^(outside a rotation|given up)/,
    plant: () => instead<typeof Credentials.isDeliverable>('isDeliverable', () => () => true),
  },
  {
    name: 'phases are accepted before the last one has reached everybody',
    law: /^never zero valid/,
    from: 8,
    plant: () => instead<typeof Rotation.refuseMove>('refuseMove', () => () => undefined),
  },
  {
    name: 'other consumers are not asked when the old version is taken away',
    law: /^never zero valid/,
    from: 38,
    plant: () =>
      instead<typeof Rotation.refuseMove>(
        'refuseMove',
        (real) => (rotation, phase, moving) => real(rotation, phase, moving, moving),
      ),
  },
  {
    name: 'who reads the credential no more is not asked either',
    law: /^never zero valid/,
    from: 2008,
    plant: () =>
      instead<typeof Rotation.refuseMove>(
        'refuseMove',
        (real) => (rotation, phase, moving, all) =>
          real(
            rotation,
            phase,
            moving,
            all.filter(({ left }) => left !== true),
          ),
      ),
  },
  {
    name: 'generated material outlives its containers',
    law: /^new material for a new process/,
    plant: () => instead<typeof Credentials.isSpent>('isSpent', () => () => false),
  },
  {
    name: 'material is made anew while others hold it',
    law: /^one version at a time/,
    plant: () =>
      instead<typeof Credentials.isSpent>(
        'isSpent',
        (real) => (record, inService, anchor) => real(record, inService, anchor, []),
      ),
  },
  {
    name: 'stage delivers the new version alone',
    law: /^(staged|never zero valid)/,
    plant: () =>
      instead<typeof Rotation.moveRotation>('moveRotation', (real) => (state, secrets, phase, moved) => {
        const alone = [...moved].map(([path, { next }]) => [path, { next, previous: next }] as const);
        return real(state, secrets, phase, phase === 'stage' ? new Map(alone) : moved);
      }),
  },
  {
    name: 'promote forgets the old version',
    law: /^(promoted|whole documents)/,
    plant: () =>
      instead<typeof Rotation.moveRotation>('moveRotation', (real) => (state, secrets, phase, moved) => {
        const alone = [...moved].map(([path, { next }]) => [path, { next, previous: next }] as const);
        return real(state, secrets, phase, phase === 'promote' ? new Map(alone) : moved);
      }),
  },
  {
    name: 'an entry that was removed and is added again is still in the rotation',
    law: /^(outside a rotation|staged|promoted)/,
    from: 66,
    plant: () => instead<typeof Rotation.carryRotation>('carryRotation', () => (state) => state),
  },
  {
    name: 'abort leaves the staged version in service',
    law: /^(outside a rotation|given up|never zero valid|only what was generated)/,
    plant: () =>
      instead<typeof Rotation.advanceCredential>(
        'advanceCredential',
        (real) => (record, phase, after, newest) =>
          phase === 'abort' ? real(record, 'retire', after, newest) : real(record, phase, after, newest),
      ),
  },
  {
    name: 'retire goes back to the old version',
    law: /^(outside a rotation|given up|never zero valid)/,
    plant: () =>
      instead<typeof Rotation.advanceCredential>(
        'advanceCredential',
        (real) => (record, phase, after, newest) =>
          phase === 'retire' ? real(record, 'abort', after, newest) : real(record, phase, after, newest),
      ),
  },
  {
    name: 'the weakest anchor decides',
    law: /^no new material against an anchor/,
    from: 15,
    plant: () =>
      instead<typeof Credentials.strictestAnchor>('strictestAnchor', (real) => (anchors) => {
        const known = [...anchors];
        return known.includes('process') ? 'process' : real(known);
      }),
  },
  {
    name: 'a volume does not anchor',
    law: /^no new material against an anchor/,
    from: 44,
    plant: () =>
      instead<typeof Credentials.strictestAnchor>('strictestAnchor', (real) => (anchors) => {
        const anchor = real(anchors);
        return anchor?.startsWith('volume') === true ? 'process' : anchor;
      }),
  },
  {
    name: 'everything of a document counts as generated',
    law: /^only what was generated/,
    plant: () =>
      instead<typeof Credentials.mintedAfter>(
        'mintedAfter',
        () => (_before, keys) => Object.fromEntries([...keys].map((key) => [key, {}])),
      ),
  },
  {
    name: 'a namespace that is withdrawn is delivered on',
    law: /^granted namespaces/,
    from: 8,
    plant: () =>
      instead<typeof Resolve.resolveEnvironment>(
        'resolveEnvironment',
        (real) => (store, tenant, spec, terms) => {
          const { namespaces: _unasked, ...rest } = terms ?? {};
          return real(store, tenant, spec, rest);
        },
      ),
  },
  {
    name: 'composed variables stay with the old value',
    law: /^composed/,
    from: 11,
    plant: () =>
      instead<typeof Delivery.planDelivery>('planDelivery', (real) => (spec, documents) => {
        const delivery = real(spec, documents);
        if (!delivery.ok) return delivery;
        const composed = Object.keys(spec.composedEnvironment ?? {});
        const env = [...delivery.env].filter(([name]) => !composed.some((one) => name.startsWith(`${one}_`)));
        return { ...delivery, env: new Map(env) };
      }),
  },
  {
    name: 'a write is judged by what it did not send',
    law: /^stopping/,
    from: 32,
    plant: () => instead<typeof Merge.judgedFields>('judgedFields', () => () => undefined as never),
  },
  {
    name: 'every command counts as a health check',
    law: /^forms/,
    plant: () => instead<typeof ShellStatus.cannotFail>('cannotFail', () => () => false),
  },
  {
    name: 'any path can be mounted',
    law: /^forms/,
    plant: () => instead<typeof Volumes.volumeMountsRule>('volumeMountsRule', () => () => undefined),
  },
  {
    name: 'what residency no longer allows stays where it is',
    law: /^residency/,
    from: 16,
    plant: () =>
      instead<typeof InstanceStates.instanceState>(
        'instanceState',
        (real) =>
          (record, { misplacedOf: _unasked, ...input }) =>
            real(record, input),
      ),
  },
  {
    name: "a reader's residency takes copies away",
    law: /^(copies|rest)/,
    from: 34,
    plant: () => {
      instead<typeof Claims.residencyConflict>('residencyConflict', () => () => undefined);
      instead<typeof VolumeFacts.removedBy>(
        'removedBy',
        () => (facts, node) =>
          facts.bindings.find(
            ({ residency }) =>
              residency.country !== undefined && residency.country !== node.labels['berth.io/country'],
          ),
      );
    },
  },
  {
    name: 'what the server changes is not told',
    law: /^announcements/,
    plant: () =>
      instead<typeof Alterations.alterDeployment>('alterDeployment', (real) => (input) => ({
        ...real(input),
        alterations: [],
      })),
  },
  {
    name: 'the router has the tenant in its name',
    law: /^router/,
    plant: () =>
      instead<typeof AssignedInstances.assignedInstance>('assignedInstance', (real) => (record, facts) => {
        const assigned = real(record, facts);
        if (assigned?.container === undefined) return assigned;
        const labels = Object.entries(assigned.container.labels).map(
          ([key, value]) => [key.replace('routers.', 'routers.shop_'), value] as const,
        );
        return { ...assigned, container: { ...assigned.container, labels: Object.fromEntries(labels) } };
      }),
  },
];

describe('a broken promise is found', () => {
  it.each(MISTAKES)('$name', { timeout: 240_000 }, async ({ name, law, from = 1, plant }) => {
    plant();
    for (let seed = from; seed < from + SEQUENCES; seed += 1) {
      const run = await runSequence(seed);
      if (run.broken === undefined) continue;
      console.log(`${name}: sequence ${seed}: ${run.broken.slice(0, 200)}`);
      expect(run.broken, describeRun(run)).toMatch(law);
      return;
    }
    expect.fail(`not found within ${SEQUENCES} sequences`);
  });
});
