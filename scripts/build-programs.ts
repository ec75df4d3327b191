import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { BuildOptions, Plugin } from 'rolldown';
import { ROOT } from './run.ts';
import { filesOf, isStale } from './stale.ts';
import { writeNoticesOf } from './third-party-notices.ts';

/**
 * The programs as an installation runs them, and a checkout while no source is newer: each program is one file, with what several share in
 * `chunks`, because hundreds of small modules are what a start would spend its time on. The command line is CommonJS with chunks of its own, because
 * somebody waits for each of its starts (`docs/decisions/0122`). What is loaded at each start is joined to them (`docs/decisions/0137`); other
 * dependencies stay what npm installs. Files that are
 * started by their name stand where the sources have them. Last comes `built.json`, without which the build does not count. With
 * `--if-stale` nothing is done while no source is newer than the last build.
 */
const SRC = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');
const MARK = join(DIST, 'built.json');
/** Code of the build as Node compiled it, kept by `bin/berth`. */
const COMPILED = join(ROOT, 'node_modules/.cache/berth');
/** `bin/berth` asks the same before each start. */
const SOURCES = ['src', 'package-lock.json', 'scripts/build-programs.ts'];
const DASHBOARD = 'src/dashboard';
const STARTED = ['server/main', 'agent/main', 'agent/volumes/watchdog', 'sdk/index'];
/** Loaded at each start, and joined to what loads them with all that they load themselves; the package brings them all the same. */
const JOINED = {
  server: ['croner', 'fastify', 'pino', 'prom-client', 'ws'],
  cli: ['commander', 'picocolors'],
};
const LIBRARY = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const MARKED_URL = /BERTH_URL_OF\("([^"]{1,200})"\)/g;

/** Besides the programs: threads, which are started by their file. */
function entries(): Record<string, string> {
  const threads = filesOf(SRC)
    .filter((file) => file.endsWith('-thread.ts'))
    .map((file) => relative(SRC, file).slice(0, -'.ts'.length));
  return Object.fromEntries([...STARTED, ...threads].map((name) => [name, join(SRC, `${name}.ts`)]));
}

/** What npm installs beside us stays outside. Anything else that is imported and is not ours ends the build. */
function isOutside(joined: readonly string[]): (id: string) => boolean {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const names = Object.keys(dependencies).filter((name) => !joined.includes(name));
  return (id) => id.startsWith('node:') || names.some((name) => id === name || id.startsWith(`${name}/`));
}

/** Notes whose code is in the files. */
function noting(libraries: Set<string>): Plugin {
  return {
    name: 'libraries',
    renderChunk(_code, { moduleIds }) {
      for (const id of moduleIds) {
        const [, library] = LIBRARY.exec(id) ?? [];
        if (library !== undefined) libraries.add(library);
      }
      return null;
    },
  };
}

/** A module goes on to see the address that it would have by itself, whatever file it is put into: threads and files are found by it. */
function ownAddresses(here: string): Plugin {
  return {
    name: 'own-addresses',
    transform(code, id) {
      if (!id.startsWith(`${SRC}/`) || !code.includes('import.meta.url')) return null;
      const file = relative(SRC, id).replace(/\.ts$/, '.js');
      // Lines stay where they are, and more is not asked of the source maps.
      return { code: code.replaceAll('import.meta.url', `BERTH_URL_OF(${JSON.stringify(file)})`), map: null };
    },
    renderChunk(code, { fileName }) {
      if (!code.includes('BERTH_URL_OF')) return null;
      const addressed = code.replaceAll(MARKED_URL, (_, file: string) => {
        const path = relative(dirname(fileName), file);
        return `new URL(${JSON.stringify(path.startsWith('.') ? path : `./${path}`)}, ${here}).href`;
      });
      return { code: addressed, map: null };
    },
  };
}

/**
 * A module of Node is loaded when something of it is used first. `import` would load it with all that its exports are got from: of `node:http` the
 * platform's `fetch`, of `node:fs` its streams and watchers, of `node:process` worker threads.
 */
const lateBuiltins: Plugin = {
  name: 'late-builtins',
  renderChunk(code, { fileName }) {
    let late = code;
    for (const [, name = '', module = ''] of code.matchAll(
      /^let (node_\w+) = require\("(node:[\w/]+)"\);$/gm,
    )) {
      const [used, interop] = [
        new RegExp(`(?<![\\w$.])${name}\\.(?:default\\.)?(?=[\\w$])`, 'g'),
        new RegExp(`\\n${name} = [\\w$.]+\\(${name}, 1\\);`),
      ];
      late = late
        .replace(interop, '')
        // In brackets: `new name().Class()` would make an object of the function.
        .replaceAll(used, `(${name}()).`)
        .replace(
          `let ${name} = require("${module}");`,
          `const ${name} = () => process.getBuiltinModule("${module}");`,
        );
      const left = new RegExp(`.{0,40}(?<![\\w$.]|const )${name}(?!\\(\\)\\)\\.)\\b.{0,40}`).exec(late)?.[0];
      if (left !== undefined) throw new Error(`${fileName}: ${module} is used as a whole: ${left}`);
    }
    return { code: late, map: null };
  },
};

const SHARED_OUTPUT = {
  // One character outside of ASCII, and V8 keeps a whole file with two bytes for each of them.
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  comments: false,
  // For this checkout: the package goes without.
  sourcemap: true,
} satisfies BuildOptions['output'];

/** Answers with the libraries in the files of either build. */
async function bundle(folder: string): Promise<Record<keyof typeof JOINED, ReadonlySet<string>>> {
  // Only when there is something to build: loading it takes longer than to see that there is nothing.
  const { build } = await import('rolldown');
  const libraries = { server: new Set<string>(), cli: new Set<string>() };
  const shared = { cwd: ROOT, platform: 'node', transform: { target: 'node24' } } satisfies BuildOptions;
  await build({
    ...shared,
    input: entries(),
    external: isOutside(JOINED.server),
    plugins: [ownAddresses('import.meta.url'), noting(libraries.server)],
    output: {
      ...SHARED_OUTPUT,
      dir: folder,
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
    },
  });
  await build({
    ...shared,
    input: { 'cli/main': join(SRC, 'cli/main.ts') },
    external: isOutside(JOINED.cli),
    plugins: [
      ownAddresses('require("node:url").pathToFileURL(__filename)'),
      lateBuiltins,
      noting(libraries.cli),
    ],
    output: {
      ...SHARED_OUTPUT,
      dir: folder,
      format: 'cjs',
      strict: true,
      entryFileNames: '[name].cjs',
      chunkFileNames: 'cli/chunks/[name]-[hash].cjs',
    },
  });
  return libraries;
}

/** What cannot be escaped is in the text of a tagged template. */
function refuseWide(folder: string): void {
  for (const file of filesOf(folder).filter((one) => /\.c?js$/.test(one))) {
    const wide = /.{0,40}[^\0-\x7f]/.exec(readFileSync(file, 'utf8'))?.[0];
    if (wide !== undefined)
      throw new Error(`${relative(folder, file)}: not ASCII, write it as an escape: ${wide}`);
  }
}

async function main(): Promise<void> {
  if (process.argv.includes('--if-stale') && !isStale(MARK, SOURCES, DASHBOARD)) return;
  const began = new Date();
  const folder = join(DIST, `programs-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    const libraries = await bundle(folder);
    refuseWide(folder);
    writeNoticesOf(join(folder, 'server'), 'Control plane and agent hold', libraries.server);
    writeNoticesOf(join(folder, 'cli'), 'The command line holds', libraries.cli);
    const names = readdirSync(folder);
    // Without it `bin/berth` runs the sources, so nothing starts from half a build.
    rmSync(MARK, { force: true });
    rmSync(COMPILED, { recursive: true, force: true });
    for (const name of names) {
      rmSync(join(DIST, name), { recursive: true, force: true });
      renameSync(join(folder, name), join(DIST, name));
    }
    writeFileSync(MARK, `${JSON.stringify({ parts: names }, null, 2)}\n`);
    // What was written while it was being built may be in it or not.
    utimesSync(MARK, began, began);
    process.stdout.write(`programs: ${filesOf(DIST).filter((file) => /\.c?js$/.test(file)).length} files\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
