import { describe, expect, it } from 'vitest';
import { limits } from '../../../test/support/samples/deployment.ts';
import { isMountPath, volumeMountsRule } from './volumes.ts';

const GOOD = { volumeId: 'vol_1', mountPath: '/data', readOnly: false };

function refuse(volumes: readonly unknown[], volumesEnabled = true) {
  const rejection = volumeMountsRule({ draft: { volumes }, limits: { ...limits, volumesEnabled } });
  return rejection && [rejection.code, rejection.field];
}

describe('volume mounts', () => {
  it('accepts none, one, several, and read-only left out', () => {
    expect(refuse([])).toBeUndefined();
    expect(refuse([GOOD, { volumeId: 'vol_2', mountPath: '/data/inner' }])).toBeUndefined();
  });

  it.each<readonly [unknown, string]>([
    [null, 'volumes[0]'],
    [5, 'volumes[0]'],
    ['vol_1', 'volumes[0]'],
    [[], 'volumes[0]'],
    [{}, 'volumes[0].volumeId'],
    [{ ...GOOD, hostPath: '/etc' }, 'volumes[0].hostPath'],
    [{ ...GOOD, constructor: 1 }, 'volumes[0].constructor'],
    [{ ...GOOD, volumeId: 'data' }, 'volumes[0].volumeId'],
    [{ ...GOOD, volumeId: 'vol_../x' }, 'volumes[0].volumeId'],
    [{ ...GOOD, volumeId: `vol_${'a'.repeat(65)}` }, 'volumes[0].volumeId'],
    [{ ...GOOD, volumeId: 1 }, 'volumes[0].volumeId'],
    [{ volumeId: 'vol_1' }, 'volumes[0].mountPath'],
    [{ ...GOOD, mountPath: 'data' }, 'volumes[0].mountPath'],
    ...['/', '/proc', '/proc/self', '/sys', '/sys/fs', '/dev', '/dev/', '/data/', '//data', '/a/./b'].map(
      (mountPath) => [{ ...GOOD, mountPath }, 'volumes[0].mountPath'] as const,
    ),
    [{ ...GOOD, volume: 'another' }, 'volumes[0].volume'],
    [{ ...GOOD, volume: 1 }, 'volumes[0].volume'],
    [{ ...GOOD, readOnly: 'true' }, 'volumes[0].readOnly'],
    [{ ...GOOD, readOnly: null }, 'volumes[0].readOnly'],
  ])('refuses %j', (mount, field) => {
    expect(refuse([mount])).toEqual(['volume_mount_shape', field]);
  });

  it.each(['/process', '/system', '/dev/shm', '/devices', '/data/proc'])(
    'accepts the path %j',
    (mountPath) => {
      expect(refuse([{ ...GOOD, mountPath }])).toBeUndefined();
    },
  );

  it('refuses a name that is no volume', () => {
    expect(refuse([{ volume: 'nothing', mountPath: '/data' }])).toEqual([
      'volume_not_found',
      'volumes[0].volume',
    ]);
  });

  it('refuses a path or a volume used twice', () => {
    expect(refuse([GOOD, { ...GOOD, volumeId: 'vol_2' }])).toEqual([
      'volume_mount_shape',
      'volumes[1].mountPath',
    ]);
    expect(refuse([GOOD, { ...GOOD, mountPath: '/b' }])).toEqual([
      'volume_mount_shape',
      'volumes[1].volumeId',
    ]);
  });

  it('is unavailable before anything else when volumes are switched off', () => {
    expect(refuse([], false)).toBeUndefined();
    expect(refuse([null], false)).toEqual(['volume_binding_unavailable', 'volumes']);
  });

  it('does not echo what an unknown field holds', () => {
    const rejection = volumeMountsRule({ draft: { volumes: [{ ...GOOD, password: 'hunter2' }] }, limits });
    expect(JSON.stringify(rejection)).not.toContain('hunter2');
  });

  it.each(['/a', '/a/b', '/a b', '/ä', `/${'a'.repeat(4095)}`])('takes the path %j', (path) => {
    expect(isMountPath(path)).toBe(true);
  });

  it.each([
    '',
    '/',
    'a',
    '//',
    '/a/',
    '/a//b',
    '/.',
    '/a/..',
    '/../a',
    '/a:b',
    '/a\n',
    '/a\u0000',
    '/\ud800',
  ])('refuses the path %j', (path) => {
    expect(isMountPath(path)).toBe(false);
  });

  it.each(['/a:b', '/d/', `/${'a'.repeat(5000)}`])('says what a path must not have', (mountPath) => {
    const rejection = volumeMountsRule({ draft: { volumes: [{ ...GOOD, mountPath }] }, limits });
    for (const part of ['4096 characters', 'colons', 'a slash at its end'])
      expect(rejection?.expected).toContain(part);
  });

  it('refuses a path that is too long', () => {
    expect(isMountPath(`/${'a'.repeat(4096)}`)).toBe(false);
  });
});
