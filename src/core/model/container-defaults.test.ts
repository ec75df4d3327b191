import { describe, expect, it } from 'vitest';
import {
  ACCEPTED_CONTAINER_DEFAULTS,
  appliedDefaults,
  CONTAINER_DEFAULT_FIELDS,
  containerBounds,
  PLATFORM_CONTAINER_DEFAULTS,
} from './container-defaults.ts';

const GI = 2 ** 30;

describe('defaults of containers', () => {
  it.each([
    [
      'memory',
      ['1%', '90%', '100%', '16Mi', '1.5Gi'],
      ['0%', '101%', '09%', '%', '15Mi', '', 512, null, '-1Mi'],
    ],
    ['pids', [16, 4096, 4_194_304], [15, 0, -1, 16.5, '4096', 4_194_305, Number.NaN]],
    ['cpuWeight', [1, 100, 10_000], [0, 10_001, '100', 1.5]],
    ['logSize', ['1M', '30M', '1T'], ['999k', '2T', '10', 30, '']],
  ] as const)('%s', (field, accepted, refused) => {
    for (const value of accepted)
      expect([value, ACCEPTED_CONTAINER_DEFAULTS[field].fits(value)]).toEqual([value, true]);
    for (const value of refused)
      expect([value, ACCEPTED_CONTAINER_DEFAULTS[field].fits(value)]).toEqual([value, false]);
  });

  it('of the platform are accepted ones', () => {
    for (const field of CONTAINER_DEFAULT_FIELDS)
      expect(ACCEPTED_CONTAINER_DEFAULTS[field].fits(PLATFORM_CONTAINER_DEFAULTS[field])).toBe(true);
  });

  it('are a part of the node, an amount, and never less than what is requested', () => {
    const bounds = (memory: string, nodeBytes: number, request?: string) =>
      containerBounds(
        { ...PLATFORM_CONTAINER_DEFAULTS, memory },
        nodeBytes,
        request === undefined ? undefined : { requests: { memory: request } },
      ).memoryBytes;
    expect(bounds('90%', 10 * GI)).toBe(9 * GI);
    expect(bounds('512Mi', 10 * GI)).toBe(GI / 2);
    expect(bounds('512Mi', 10 * GI, '2Gi')).toBe(2 * GI);
    expect(bounds('1%', GI / 1024)).toBe(16 * 2 ** 20);
    expect(containerBounds(PLATFORM_CONTAINER_DEFAULTS, GI, undefined)).toMatchObject({
      pids: 4096,
      cpuWeight: 100,
      logBytes: 30_000_000,
    });
  });

  it('do not apply to memory where the workload has a limit', () => {
    expect(appliedDefaults(PLATFORM_CONTAINER_DEFAULTS, undefined)).toEqual(PLATFORM_CONTAINER_DEFAULTS);
    const { memory: _limited, ...others } = PLATFORM_CONTAINER_DEFAULTS;
    expect(appliedDefaults(PLATFORM_CONTAINER_DEFAULTS, { limits: { memory: '1Gi' } })).toEqual(others);
  });
});
