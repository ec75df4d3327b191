// Prints why the packages beside the lockfile are not those it names; nothing when they are. Runs on any Node since 20.
import { existsSync, readFileSync } from 'node:fs';

const NODE_MAJOR = 24;

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** npm leaves optional packages of other platforms out; the Node of this one is needed where the machine has none that will do. */
function mayBeMissing(path, { optional, cpu = [] }) {
  if (optional !== true) return false;
  const bundled = path.startsWith('node_modules/node-linux-') && cpu.includes(process.arch);
  return !bundled || Number(process.versions.node.split('.')[0]) >= NODE_MAJOR;
}

function problem() {
  const wanted = read('package-lock.json');
  const installed = read('node_modules/.package-lock.json');
  if (installed === undefined) return 'no packages are installed yet';
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue;
    const found = installed[path];
    if (found === undefined ? !mayBeMissing(path, entry) : !existsSync(path))
      return `${path.replace(/^.*node_modules\//, '')} is missing`;
    if (found !== undefined && (found.version !== entry.version || found.integrity !== entry.integrity))
      return `${path.replace(/^.*node_modules\//, '')} differs from the lockfile`;
  }
  return Object.keys(installed).find((path) => !Object.hasOwn(wanted, path)) === undefined
    ? ''
    : 'packages are installed that the lockfile does not name';
}

process.stdout.write(problem());
