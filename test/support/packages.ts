import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Debian packages that the system tests stand on, with the program that shows that each is there. */
const PACKAGES = {
  'docker.io': '/usr/sbin/dockerd',
  'docker-registry': '/usr/bin/docker-registry',
  'etcd-server': '/usr/bin/etcd',
  'busybox-static': '/bin/busybox',
<<<<<<< HEAD
  chromium: '/usr/bin/chromium',
=======
  curl: '/usr/bin/curl',
  faketime: '/usr/bin/faketime',
>>>>>>> dbccdb2 (Terminal captures, doctor tested by breaking what it checks, shorter plans; events of deployment/web)
  iproute2: '/usr/sbin/ip',
  iptables: '/usr/sbin/iptables',
  jq: '/usr/bin/jq',
  openssl: '/usr/bin/openssl',
  podman: '/usr/bin/podman',
  runc: '/usr/sbin/runc',
} as const;

export type TestPackage = keyof typeof PACKAGES;

let updated = false;

function apt(...args: string[]): void {
  execFileSync('apt-get', args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}

/** Installs what is missing. Without root it fails with the command to run: nothing is skipped in silence. */
export function ensurePackages(names: readonly TestPackage[]): void {
  const missing = names.filter((name) => !existsSync(PACKAGES[name]));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new Error(
      `tests need Debian packages; run: apt-get install -y --no-install-recommends ${missing.join(' ')}`,
    );
  }
  if (!updated) apt('update');
  updated = true;
  apt('install', '-y', '--no-install-recommends', ...missing);
}

export const ALL_PACKAGES = Object.keys(PACKAGES) as TestPackage[];
