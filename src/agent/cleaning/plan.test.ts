import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineImage } from '../engine/engine.ts';
import { type CleaningView, familiarReference, forgotten, inUse, judgeImages, questionable } from './plan.ts';
import type { PulledImage } from './pulled-images.ts';

const SHA = 'sha256:' + 'a'.repeat(64);
const WEB = `reg.test/shop/web@${SHA}`;

const image = (id: string, more: Partial<EngineImage> = {}): EngineImage => ({
  id,
  tags: [],
  digests: [WEB],
  bytes: 100,
  ...more,
});

const pulled = (...all: readonly PulledImage[]) => new Map(all.map((one) => [one.reference, one]));

function view(change: Partial<CleaningView> = {}): CleaningView {
  return {
    nowMs: 1_000_000,
    cause: 'asked',
    unusedMs: 500_000,
    images: [image('i1')],
    pulled: pulled({ reference: WEB, id: 'i1', usedMs: 0 }),
    used: new Set(),
    wanted: new Set(),
    needed: new Map(),
    ...change,
  };
}

/** Of the one image. */
const judged = (change: Partial<CleaningView> = {}): string => {
  const [one] = judgeImages(view(change));
  return one === undefined ? 'not judged' : one.verdict === 'remove' ? 'remove' : one.reason;
};

describe('an image', () => {
  const young = pulled({ reference: WEB, id: 'i1', usedMs: 900_000 });
  it.each<[string, Partial<CleaningView>, string]>([
    ['that nobody needs goes', {}, 'remove'],
    ['for room, however young', { cause: 'disk', pulled: young }, 'remove'],
    ['for its age, when it is old', { cause: 'age' }, 'remove'],
    ['for its age, when it is young', { cause: 'age', pulled: young }, 'used_lately'],
    ['of a container, running or not, anybody’s', { used: new Set(['i1']) }, 'in_use'],
    ['of an order', { wanted: new Set([WEB]) }, 'assigned'],
    ['that the control plane needs', { needed: new Map([[WEB, 'a rollback']]) }, 'needed'],
    ['without a control plane', { needed: undefined }, 'not_answered'],
    ['that was here before Berth', { pulled: new Map() }, 'not judged'],
    ['with a tag of somebody', { images: [image('i1', { tags: ['mine:1'] })] }, 'named_otherwise'],
    [
      'with a name of another repository',
      { images: [image('i1', { digests: [WEB, `reg.test/other@${SHA}`] })] },
      'named_otherwise',
    ],
    [
      'with a further digest of its own repository, as Podman lists it',
      { images: [image('i1', { digests: [WEB, `reg.test/shop/web@sha256:${'b'.repeat(64)}`] })] },
      'remove',
    ],
    ['that somebody removed', { images: [] }, 'gone'],
    ['whose name is that of another now', { images: [image('i1', { digests: [] }), image('i2')] }, 'gone'],
  ])('%s', (_what, change, expected) => {
    expect(judged(change)).toBe(expected);
  });

  it('under two names of ours goes under each, and stays while one is needed', () => {
    const tag = 'reg.test/shop/web:1';
    const both = {
      images: [image('i1', { tags: [tag] })],
      pulled: pulled({ reference: WEB, id: 'i1', usedMs: 0 }, { reference: tag, id: 'i1', usedMs: 1 }),
    };
    expect(judgeImages(view(both)).map(({ verdict }) => verdict)).toEqual(['remove', 'remove']);
    const one = judgeImages(view({ ...both, needed: new Map([[tag, 'runs']]) }));
    expect(one.map(({ image: name, verdict }) => [name, verdict])).toEqual([
      [WEB, 'remove'],
      [tag, 'keep'],
    ]);
  });

  it('is judged by the name that engines list', () => {
    expect(familiarReference('docker.io/library/nginx:1')).toBe('nginx:1');
    expect(familiarReference(`docker.io/shop/web:1@${SHA}`)).toBe(`shop/web@${SHA}`);
    expect(familiarReference(`localhost:5000/web@${SHA}`)).toBe(`localhost:5000/web@${SHA}`);
  });
});

it('goes the longest unused first; what is gone is forgotten, and what is used is noted', () => {
  const names = ['a', 'b', 'c'].map((name) => `reg.test/${name}:1`);
  const [a = '', b = '', c = ''] = names;
  const many = view({
    images: [a, b].map((tag, index) => image(`i${index}`, { tags: [tag], digests: [], bytes: index })),
    pulled: pulled(
      { reference: a, id: 'i0', usedMs: 20 },
      { reference: b, id: 'i1', usedMs: 10 },
      { reference: c, id: 'i2', usedMs: 5 },
    ),
  });
  const judgements = judgeImages(many);
  expect(judgements.map(({ image: name }) => name)).toEqual([b, a, c]);
  expect(forgotten(judgements)).toEqual([c]);
  expect(questionable(many)).toEqual([b, a]);
  expect(inUse({ ...many, used: new Set(['i0']), wanted: new Set([b]) })).toEqual([a, b]);
});

it('never goes while anything speaks for it, whatever else is the case', () => {
  const ids = ['i0', 'i1', 'i2', 'i3'];
  const reference = (id: string): string => `reg.test/${id}:1`;
  const some = fc.subarray(ids);
  fc.assert(
    fc.property(
      some,
      some,
      some,
      some,
      fc.constantFrom('asked', 'disk', 'age'),
      (ours, used, wanted, needed, cause) => {
        const judgements = judgeImages(
          view({
            cause,
            images: ids.map((id) => image(id, { tags: [reference(id)], digests: [] })),
            pulled: pulled(...ours.map((id) => ({ reference: reference(id), id, usedMs: 0 }))),
            used: new Set(used),
            wanted: new Set(wanted.map(reference)),
            needed: new Map(needed.map((id) => [reference(id), 'why'])),
          }),
        );
        const gone = judgements.flatMap((one) => (one.verdict === 'remove' ? one.image : []));
        const free = ours.filter((id) => ![used, wanted, needed].some((list) => list.includes(id)));
        expect(gone.toSorted()).toEqual(free.map(reference).toSorted());
      },
    ),
  );
});
