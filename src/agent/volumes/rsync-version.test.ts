import { expect, it } from 'vitest';
import { judgeRsync } from './rsync-version.ts';

it.each([
  ['rsync  version 3.2.5  protocol version 31\nCopyright', undefined],
  ['rsync  version v3.4.0dev  protocol version 32', undefined],
  ['rsync  version 4.0  protocol version 33', undefined],
  ['rsync  version 3.2.3  protocol version 31', /rsync 3\.2\.3 is too old.*3\.2\.5/],
  ['rsync  version 2.6.9  protocol version 29', /2\.6\.9 is too old/],
  ['openrsync: protocol version 29', /not known; 3\.2\.5 or newer/],
])('%s', (printed, problem) => {
  if (problem === undefined) expect(judgeRsync(printed)).toBeUndefined();
  else expect(judgeRsync(printed)).toMatch(problem);
});
