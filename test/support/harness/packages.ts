import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Debian packages that the system tests stand on, with the program that shows that each is there. */
const PACKAGES = {
  'docker.io': '/usr/sbin/dockerd',
  'docker-registry': '/usr/bin/docker-registry',
  'etcd-server': '/usr/bin/etcd',
  'btrfs-progs': '/usr/bin/btrfs',
  'busybox-static': '/bin/busybox',
  caddy: '/usr/bin/caddy',
  'chromium-headless-shell': '/usr/bin/chromium-headless-shell',
  curl: '/usr/bin/curl',
  'docker-compose': '/usr/bin/docker-compose',
  e2fsprogs: '/usr/sbin/mkfs.ext4',
  faketime: '/usr/bin/faketime',
  fish: '/usr/bin/fish',
  'groff-base': '/usr/bin/groff',
  haproxy: '/usr/sbin/haproxy',
  iperf3: '/usr/bin/iperf3',
  iproute2: '/usr/sbin/ip',
  iptables: '/usr/sbin/iptables',
  jq: '/usr/bin/jq',
  lintian: '/usr/bin/lintian',
  'man-db': '/usr/bin/lexgrog',
  mmdebstrap: '/usr/bin/mmdebstrap',
  mount: '/usr/sbin/losetup',
  nftables: '/usr/sbin/nft',
  'nginx-light': '/usr/sbin/nginx',
  'openssh-client': '/usr/bin/ssh',
  'openssh-server': '/usr/sbin/sshd',
  openssl: '/usr/bin/openssl',
  podman: '/usr/bin/podman',
  prometheus: '/usr/bin/prometheus',
  'prometheus-alertmanager': '/usr/bin/prometheus-alertmanager',
  pebble: '/usr/bin/pebble',
  'postgresql-15': '/usr/lib/postgresql/15/bin/postgres',
  python3: '/usr/bin/python3.11',
  'python3-psycopg2': '/usr/lib/python3/dist-packages/psycopg2/__init__.py',
  rclone: '/usr/bin/rclone',
  restic: '/usr/bin/restic',
  rsync: '/usr/bin/rsync',
  runc: '/usr/sbin/runc',
  'systemd-container': '/usr/bin/systemd-nspawn',
  tcpdump: '/usr/bin/tcpdump',
  'wireguard-go': '/usr/bin/wireguard-go',
  'wireguard-tools': '/usr/bin/wg',
  xfsprogs: '/usr/sbin/mkfs.xfs',
  zsh: '/usr/bin/zsh',
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

/** Large, and asked for by the long tier alone. */
const OF_LONG_TIER = ['lintian', 'mmdebstrap'];

export const ALL_PACKAGES = (Object.keys(PACKAGES) as TestPackage[]).filter(
  (name) => !OF_LONG_TIER.includes(name),
);
