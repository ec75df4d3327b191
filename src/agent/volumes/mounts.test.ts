import { describe, expect, it } from 'vitest';
import { parseMountInfo } from './mounts.ts';

describe('mountinfo', () => {
  it('is read with and without optional fields', () => {
    const text = [
      '42 27 7:0 / /a/mnt rw,relatime shared:1 master:2 - xfs /dev/loop0 rw,inode64',
      '43 27 0:39 /data-1 /data rw - btrfs /dev/loop3 rw,subvol=/data-1',
      '',
    ].join('\n');
    expect(parseMountInfo(text)).toEqual([
      { device: '7:0', root: '/', mountPoint: '/a/mnt', source: '/dev/loop0' },
      { device: '0:39', root: '/data-1', mountPoint: '/data', source: '/dev/loop3' },
    ]);
  });

  it('is read with blanks in names', () => {
    const [one] = parseMountInfo('1 2 7:1 / /a\\040b\\011c rw - ext4 /dev/loop1 rw');
    expect(one?.mountPoint).toBe('/a b\tc');
  });
});
