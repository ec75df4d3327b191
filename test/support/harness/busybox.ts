import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { TarEntry } from '../tar.ts';

const FOLDERS = ['bin', 'etc', 'proc', 'sys', 'dev', 'var', 'root'];

/** Debian's static busybox with a link for each of its applets, as the root file system of a test image: about 2 MB. */
export function busyboxEntries(): readonly TarEntry[] {
  const applets = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).split('\n');
  return [
    ...FOLDERS.map((path): TarEntry => ({ path, type: 'dir' })),
    { path: 'tmp', type: 'dir', mode: 0o1777 },
    {
      path: 'etc/passwd',
      data: Buffer.from('root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n'),
    },
    { path: 'etc/group', data: Buffer.from('root:x:0:\nnogroup:x:65534:\n') },
    { path: 'bin/busybox', mode: 0o755, data: readFileSync('/bin/busybox') },
    ...applets
      .filter((applet) => applet !== '' && applet !== 'busybox')
      .map((applet): TarEntry => ({ path: `bin/${applet}`, link: 'busybox' })),
  ];
}
