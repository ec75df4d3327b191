import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { libraries, machineFiles } from './machine-files.ts';
import { ensurePackages } from './packages.ts';
import type { ImageContent } from './registry.ts';
import type { TarEntry } from '../tar.ts';

const PROGRAMS = '/usr/lib/postgresql/15/bin';
const MODULES = '/usr/lib/postgresql/15/lib';
const SHARED = '/usr/share/postgresql/15';
/** Libraries that the server loads by name: initdb makes plpgsql and the word lists of full text search. */
const LOADED = ['plpgsql.so', 'dict_snowball.so', 'libpqwalreceiver.so', 'amcheck.so'];
/** With what backups are made by and checked with. */
const PROVIDED = [
  'postgres',
  'initdb',
  'psql',
  'pg_dump',
  'pg_isready',
  'pg_basebackup',
  'pg_ctl',
  'pg_amcheck',
];
/** The server looks its time zone up here and takes GMT when there is none. */
const ZONES = ['/usr/share/zoneinfo/UTC', '/usr/share/zoneinfo/GMT'];

/**
 * Makes the cluster on the first start. As with the image that most people know: `POSTGRES_PASSWORD` is that of the
 * superuser `postgres`, `PGDATA` is where the cluster lives. Every connection over the network needs a password.
 */
const START = `#!/bin/sh
set -e
PGDATA=\${PGDATA:-/var/lib/postgresql/data}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  umask 077
  printf '%s\\n' "$POSTGRES_PASSWORD" > /tmp/password
  initdb -D "$PGDATA" -U postgres --pwfile=/tmp/password --auth-local=peer --auth-host=scram-sha-256 \\
    --no-locale --encoding=UTF8 --no-sync > /tmp/initdb.log || { cat /tmp/initdb.log; exit 1; }
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp -c max_connections=200 "$@"
`;

const PASSWD =
  'root:x:0:0:root:/root:/bin/sh\npostgres:x:70:70:postgres:/var/lib/postgresql:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n';

/**
 * Debian's PostgreSQL 15 on top of busybox, from the files of the installed package and the libraries they are linked
 * with: server (the command of the image, `postgres-start`), `psql`, `pg_dump`, `pg_isready`, `pg_basebackup`,
 * `pg_ctl` and `pg_amcheck` with its extension. For `pushImage` and `buildTestImage`.
 */
export function postgresImage(): ImageContent {
  return { files: postgresFiles(), cmd: ['postgres-start'], user: 'postgres', env: ['PGCONNECT_TIMEOUT=5'] };
}

function postgresFiles(): readonly TarEntry[] {
  ensurePackages(['postgresql-15']);
  const programs = PROVIDED.map((name) => join(PROGRAMS, name));
  const modules = LOADED.map((name) => join(MODULES, name));
  const paths = [
    ...programs,
    ...modules,
    ...libraries([...programs, ...modules]),
    ...under(SHARED),
    ...ZONES,
  ];
  return [
    ...machineFiles(paths),
    ...programs.map((path): TarEntry => ({ path: `bin/${path.slice(PROGRAMS.length + 1)}`, link: path })),
    { path: 'bin/postgres-start', data: Buffer.from(START), mode: 0o755 },
    { path: 'etc/passwd', data: Buffer.from(PASSWD) },
    { path: 'etc/group', data: Buffer.from('root:x:0:\npostgres:x:70:\nnogroup:x:65534:\n') },
    { path: 'var/lib', type: 'dir' },
    { path: 'var/lib/postgresql', type: 'dir', mode: 0o1777 },
  ];
}

/** Manual pages and word lists of languages stay behind. */
function under(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/^(?:man|contrib)\//.test(name) && !/^extension\/(?!plpgsql|amcheck)/.test(name))
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}
