import { libraries, machineFiles } from './machine-files.ts';
import { ensurePackages } from './packages.ts';
import type { ImageContent } from './registry.ts';

const PROGRAM = '/usr/sbin/nginx';
const FILES = ['/usr/share/nginx/html/index.html', '/etc/nginx/mime.types', '/etc/nginx/nginx.conf'];
const USERS = ['root:x:0:0:root:/root:/bin/sh', 'www-data:x:33:33:www-data:/var/www:/bin/sh'];
const GROUPS = ['root:x:0:', 'www-data:x:33:'];

/**
 * Debian's nginx on top of busybox, from the files of the installed package. It begins as root, as the image that most people
 * know does, writes below /var/lib/nginx and /var/log/nginx, and has no site.
 */
export function nginxImage(): ImageContent {
  ensurePackages(['nginx-light']);
  const folders = ['var/lib', 'var/lib/nginx', 'var/log', 'var/log/nginx'];
  return {
    files: [
      ...machineFiles([PROGRAM, ...FILES, ...libraries([PROGRAM])]),
      ...folders.map((path) => ({ path, type: 'dir' }) as const),
      { path: 'bin/nginx', link: PROGRAM },
      { path: 'etc/passwd', data: Buffer.from(`${USERS.join('\n')}\n`) },
      { path: 'etc/group', data: Buffer.from(`${GROUPS.join('\n')}\n`) },
    ],
    cmd: ['nginx', '-g', 'daemon off;'],
  };
}
