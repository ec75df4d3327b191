import { describe, expect, it } from 'vitest';
import { isWanted, judge, retryDelayMs } from './delivery.ts';
import { tenantId } from '../../model/ids.ts';

const EVENT = {
  id: 'evt_1',
  at: '2026-01-01T00:00:00.000Z',
  kind: 'deployment.degraded',
  tenantId: tenantId('t1'),
  subject: { kind: 'Deployment', name: 'web' },
  message: '',
  details: {},
} as const;

describe('which events a webhook wants', () => {
  it.each([
    [{}, true],
    [{ kinds: [], subjects: [] }, true],
    [{ kinds: ['deployment.degraded'] }, true],
    [{ kinds: ['deployment.*'] }, true],
    [{ kinds: ['deploy.*', 'node.failed'] }, false],
    [{ subjects: ['web'] }, true],
    [{ subjects: ['Deployment/web'] }, true],
    [{ subjects: ['Deployment/*'] }, true],
    [{ subjects: ['Job/web', 'Node/*'] }, false],
    [{ kinds: ['deployment.*'], subjects: ['other'] }, false],
  ])('%j: %s', (filter, wanted) => {
    expect(isWanted(filter, EVENT)).toBe(wanted);
  });
});

describe('what an answer means', () => {
  it.each([
    [200, 'delivered'],
    [204, 'delivered'],
    [301, 'refused'],
    [404, 'refused'],
    [410, 'refused'],
    [429, 'refused'],
    [500, 'error'],
    [503, 'error'],
  ])('%d: %s', (status, outcome) => {
    expect(judge({ status }).outcome).toBe(outcome);
  });

  it('waits for an hour at most, whatever is asked for', () => {
    expect(judge({ status: 503, retryAfterMs: 60_000 })).toMatchObject({ retryAfterMs: 60_000 });
    expect(judge({ status: 429, retryAfterMs: 1e12 })).toMatchObject({ retryAfterMs: 3_600_000 });
  });

  it('waits twice as long each time, within bounds, at least as long as asked', () => {
    expect([1, 2, 3, 10, 11, 1000].map((attempts) => retryDelayMs(attempts, 1))).toEqual([
      1000, 2000, 4000, 512_000, 900_000, 900_000,
    ]);
    expect(retryDelayMs(1, 0)).toBe(500);
    expect(retryDelayMs(1, 1, 60_000)).toBe(60_000);
  });
});
