import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { manPages } from '../reference/man.ts';
import { ROOT } from '../run.ts';
import { copyright } from './copyright.ts';

/** Debian's names, with Node's. */
export const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' } as const;
export type Architecture = keyof typeof ARCHITECTURES;

export function isArchitecture(name: string): name is Architecture {
  return Object.hasOwn(ARCHITECTURES, name);
}

interface Content {
  readonly tarball: string;
  readonly version: string;
  readonly architecture: Architecture;
  /** Seconds since 1970. */
  readonly date: number;
}

const DEBIAN = join(ROOT, 'packaging/debian');
const UNITS = join(ROOT, 'packaging/systemd');
const LIBRARY = 'usr/lib/berth';
const DOCUMENTS = 'usr/share/doc/berth';
const CONFFILES = ['berth.yaml', 'agent.env'];
const MAN_PAGES = await manPages(packageVersion());

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return version;
}

/** What packages carry for those who work on them: settings of tools, tests, pages and scripts that nothing here runs. */
const UNUSED =
  /(?:^|\/)(?:\.[^/]+|tests?|spec|integration|scripts|examples?|docs|bench(?:mark)?s?|[^/]+\.(?:sh|html))$/;

function trim(modules: string): void {
  const unused = readdirSync(modules, { recursive: true, encoding: 'utf8' }).filter((path) =>
    UNUSED.test(path),
  );
  for (const path of unused) rmSync(join(modules, path), { recursive: true, force: true });
  // Started by nobody, so no programs.
  for (const path of readdirSync(modules, { recursive: true, encoding: 'utf8' })) {
    const file = join(modules, path);
    if (!/\.(?:js|mjs|cjs)$/.test(path) || !lstatSync(file).isFile()) continue;
    const text = readFileSync(file, 'utf8');
    if (text.startsWith('#!')) writeFileSync(file, text.replace(/^#!.*/, ''));
  }
}

/** Programs and what they depend on, as npm installs them for that architecture, and of its Node the program alone. */
function programs(stage: string, { tarball, architecture }: Content): void {
  const library = join(stage, LIBRARY);
  mkdirSync(library, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', library, '--strip-components=1', '--no-same-owner']);
  // The lock in the package has none of them, and npm wants both to agree.
  const manifest = join(library, 'package.json');
  const { devDependencies: _ours, ...rest } = JSON.parse(readFileSync(manifest, 'utf8')) as Record<
    string,
    unknown
  >;
  writeFileSync(manifest, `${JSON.stringify(rest, null, 2)}\n`);
  const cpu = ARCHITECTURES[architecture];
  const platform = ['--os=linux', `--cpu=${cpu}`, '--libc=glibc'];
  execFileSync(
    'npm',
    ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', ...platform],
    {
      cwd: library,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const runtime = join(library, `node_modules/node-linux-${cpu}`);
  for (const name of readdirSync(runtime))
    if (!['bin', 'package.json', 'LICENSE'].includes(name)) rmSync(join(runtime, name), { recursive: true });
  trim(join(library, 'node_modules'));
  mkdirSync(join(stage, 'usr/bin'), { recursive: true });
  symlinkSync('../lib/berth/bin/berth', join(stage, 'usr/bin/berth'));
}

function put(stage: string, path: string, content: string | Uint8Array): void {
  const file = join(stage, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function services(stage: string): void {
  for (const name of readdirSync(UNITS)) {
    const path = name.endsWith('.service')
      ? `usr/lib/systemd/system/${name}`
      : 'usr/lib/sysusers.d/berth.conf';
    put(stage, path, readFileSync(join(UNITS, name)));
  }
  rmSync(join(stage, LIBRARY, 'packaging/systemd'), { recursive: true });
  for (const name of CONFFILES) put(stage, `etc/berth/${name}`, readFileSync(join(DEBIAN, name)));
}

/** What the shell completes: printed by the program itself, run from the package on the Node of this machine. */
function completions(stage: string): void {
  const places = {
    bash: 'usr/share/bash-completion/completions/berth',
    zsh: 'usr/share/zsh/vendor-completions/_berth',
    fish: 'usr/share/fish/vendor_completions.d/berth.fish',
  };
  for (const [shell, path] of Object.entries(places))
    put(
      stage,
      path,
      execFileSync(process.execPath, [join(stage, LIBRARY, 'dist/cli/main.cjs'), 'completion', shell]),
    );
}

/** Whoever builds it is its maintainer, by the variables that Debian's own tools read. */
function maintainer(): string {
  const { DEBFULLNAME: name = 'Berth', DEBEMAIL: address = 'berth@localhost' } = process.env;
  return `${name} <${address}>`;
}

function documents(stage: string, { version, date }: Content): void {
  for (const [name, text] of MAN_PAGES) {
    const section = name.slice(name.lastIndexOf('.') + 1);
    put(stage, `usr/share/man/man${section}/${name}.gz`, gzipSync(text, { level: 9 }));
  }
  const day = new Date(date * 1000).toUTCString().replace('GMT', '+0000');
  const entry = `berth (${version}-1) unstable; urgency=medium\n\n  * Berth ${version}; changelog.gz has what is new.\n\n -- ${maintainer()}  ${day}\n`;
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'));
  put(stage, `${DOCUMENTS}/changelog.gz`, gzipSync(changelog, { level: 9 }));
  put(stage, `${DOCUMENTS}/changelog.Debian.gz`, gzipSync(entry, { level: 9 }));
  put(stage, `${DOCUMENTS}/copyright`, copyright(join(stage, LIBRARY), `/${LIBRARY}`));
  put(stage, 'usr/share/lintian/overrides/berth', readFileSync(join(DEBIAN, 'lintian-overrides')));
}

function pathsBelow(stage: string): readonly string[] {
  return readdirSync(stage, { recursive: true, encoding: 'utf8' }).toSorted();
}

function control(stage: string, { version, architecture }: Content): void {
  const files = pathsBelow(stage).filter((path) => lstatSync(join(stage, path)).isFile());
  const bytes = files.reduce((sum, path) => sum + lstatSync(join(stage, path)).size, 0);
  const sums = files
    .filter((path) => !path.startsWith('etc/'))
    .map(
      (path) =>
        `${createHash('md5')
          .update(readFileSync(join(stage, path)))
          .digest('hex')}  ${path}\n`,
    );
  const values: Readonly<Record<string, string>> = {
    VERSION: `${version}-1`,
    ARCHITECTURE: architecture,
    MAINTAINER: maintainer(),
    SIZE: String(Math.ceil(bytes / 1024)),
  };
  const text = readFileSync(join(DEBIAN, 'control'), 'utf8');
  put(
    stage,
    'DEBIAN/control',
    text.replace(/@([A-Z]+)@/g, (_, key: string) => values[key] ?? ''),
  );
  put(stage, 'DEBIAN/conffiles', CONFFILES.map((name) => `/etc/berth/${name}\n`).join(''));
  put(stage, 'DEBIAN/md5sums', sums.join(''));
  for (const name of ['postinst', 'prerm', 'postrm']) {
    copyFileSync(join(DEBIAN, name), join(stage, 'DEBIAN', name));
    chmodSync(join(stage, 'DEBIAN', name), 0o755);
  }
}

/** The same modes and times wherever and whenever it is made. */
function settle(stage: string, date: number): void {
  for (const path of [...pathsBelow(stage), '']) {
    const file = join(stage, path);
    const found = lstatSync(file);
    if (!found.isSymbolicLink())
      chmodSync(file, found.isDirectory() || isProgram(relative(stage, file)) ? 0o755 : 0o644);
    lutimesSync(file, date, date);
  }
}

function isProgram(path: string): boolean {
  return /^DEBIAN\/(?:pre|post)|\/lib\/berth\/bin\/berth$|\/node-linux-[^/]+\/bin\/node$/.test(path);
}

/** Everything of the package below a folder, ready for dpkg-deb. */
export function stagePackage(stage: string, content: Content): void {
  mkdirSync(stage, { recursive: true });
  programs(stage, content);
  services(stage);
  completions(stage);
  documents(stage, content);
  control(stage, content);
  settle(stage, content.date);
}
