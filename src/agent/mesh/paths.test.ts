import { describe, expect, it } from 'vitest';
import { nextPath, type PeerSigns } from './paths.ts';

const [A, B] = ['192.0.2.1:51820', '198.51.100.1:51820'];

function signs(more: Partial<PeerSigns> = {}): PeerSigns {
  return {
    candidates: [A, B],
    answeredMs: new Map(),
    carriedMs: undefined,
    sinceMs: 0,
    path: { kind: 'none' },
    distrustedMs: new Map(),
    relayed: true,
    heardFrom: undefined,
    answeredByRelayMs: undefined,
    heardMs: undefined,
    askedMs: undefined,
    askingMs: undefined,
    ...more,
  };
}

const direct = (address: string) => ({ kind: 'direct', address }) as const;

describe('the path to a peer', () => {
  it.each<[string, Partial<PeerSigns>, ReturnType<typeof nextPath>]>([
    ['is the relay while nothing answers', {}, { path: { kind: 'relay' } }],
    ['is none where there is no relay either', { relayed: false }, { path: { kind: 'none' } }],
    ['is the first address that answers', { answeredMs: new Map([[B, 99_000]]) }, { path: direct(B) }],
    [
      'is the most likely one of two that answer',
      {
        answeredMs: new Map([
          [A, 98_000],
          [B, 99_900],
        ]),
      },
      { path: direct(A) },
    ],
    [
      'stays while the tunnel carries, whatever pings do',
      { path: direct(B), sinceMs: 0, carriedMs: 99_000, answeredMs: new Map([[A, 99_000]]) },
      { path: direct(B) },
    ],
    [
      'is the relay when the peer has been heard from there alone for five seconds, although the tunnel carries',
      { path: direct(A), carriedMs: 99_900, answeredByRelayMs: 95_000, answeredMs: new Map([[A, 94_000]]) },
      { path: { kind: 'relay' } },
    ],
    [
      'stays while the peer comes back from the relay',
      { path: direct(A), carriedMs: 99_900, answeredByRelayMs: 96_000, answeredMs: new Map([[A, 99_000]]) },
      { path: direct(A) },
    ],
    [
      'stays while WireGuard is heard there and nobody asks: the agent of the peer is away',
      { path: direct(A), carriedMs: 94_000, heardMs: 99_000, askedMs: 94_000 },
      { path: direct(A) },
    ],
    [
      'is the relay when the agent of the peer asks and is not reached: packets go in one direction only',
      { path: direct(A), carriedMs: 94_000, heardMs: 99_000, askedMs: 99_000, askingMs: 50_000 },
      { path: { kind: 'relay' } },
    ],
    [
      'stays when the agent of the peer is back and has not answered yet',
      { path: direct(A), carriedMs: 60_000, heardMs: 99_900, askedMs: 99_900, askingMs: 99_900 },
      { path: direct(A) },
    ],
    [
      'is the relay when the machine of the peer is silent too',
      { path: direct(A), carriedMs: 94_000, heardMs: 94_500, askedMs: 94_000 },
      { path: { kind: 'relay' } },
    ],
    ['has five seconds to prove itself', { path: direct(A), sinceMs: 97_000 }, { path: direct(A) }],
    [
      'goes to the relay when it is cut',
      { path: direct(A), sinceMs: 0, carriedMs: 94_000, answeredMs: new Map([[A, 94_000]]) },
      { path: { kind: 'relay' } },
    ],
    [
      'is not trusted when it answers and carries nothing',
      { path: direct(A), sinceMs: 90_000, carriedMs: 90_000, answeredMs: new Map([[A, 99_000]]) },
      { path: { kind: 'relay' }, distrust: A },
    ],
    [
      'is another address meanwhile',
      {
        path: { kind: 'relay' },
        answeredMs: new Map([
          [A, 99_000],
          [B, 99_000],
        ]),
        distrustedMs: new Map([[A, 150_000]]),
      },
      { path: direct(B) },
    ],
    [
      'comes back from the relay when the address answers again',
      { path: { kind: 'relay' }, carriedMs: 99_900, answeredMs: new Map([[A, 99_900]]) },
      { path: direct(A) },
    ],
    [
      'is where the peer came from, if it found us',
      { path: { kind: 'relay' }, carriedMs: 99_900, heardFrom: '203.0.113.1:4711' },
      { path: direct('203.0.113.1:4711') },
    ],
    [
      'is that no longer when nothing comes from there',
      { path: direct('203.0.113.1:4711'), carriedMs: 90_000, heardFrom: '203.0.113.1:4711' },
      { path: { kind: 'relay' } },
    ],
    [
      'leaves an address that the peer no longer names',
      { path: direct('203.0.113.1:51820'), carriedMs: 99_900 },
      { path: { kind: 'relay' } },
    ],
  ])('%s', (_, more, expected) => {
    expect(nextPath(signs(more), 100_000)).toEqual(expected);
  });
});
