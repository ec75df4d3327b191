import { expect, it } from 'vitest';
import { isRejection } from '../rejections/reject.ts';
import { readVolume, readVolumeSize } from './volume-record.ts';

it.each<readonly [unknown, string]>([
  [2 ** 53, 'so large'],
  ['134217728', 'not a text'],
  [1, '128 MiB'],
])('says what is wrong with the size %j, and up to what it is taken', (sizeBytes, why) => {
  const read = readVolumeSize('replicated', sizeBytes);
  expect(read).toMatchObject({
    code: 'volume_size_invalid',
    expected: 'an integer number of bytes from 134217728 to 9007199254740991',
    why: expect.stringContaining(why),
  });
});

it('says of a host path what a path must not have', () => {
  const volume = { name: 'media', class: 'ephemeral', type: 'bind', sizeBytes: 1 };
  const read = readVolume({ ...volume, hostPath: '/srv/media/' });
  expect(isRejection(read) && read.expected).toContain('a slash at its end');
  const none = readVolume({ ...volume, type: 'volume', hostPath: '/srv/media' });
  expect(isRejection(none) && none.expected).not.toContain('a slash at its end');
});
