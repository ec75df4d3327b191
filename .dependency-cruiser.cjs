// The import table is that of ARCHITECTURE.md: it is read from there, so that the two cannot differ. What it does not allow is an error.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const [, section = ''] = readFileSync(join(__dirname, 'ARCHITECTURE.md'), 'utf8').split(/^## Who may import whom$/m);
const [table, ...after] = section.split(/^## /m)[0].split(/^The programs never/m);
const named = (text) => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name);

/** `core/{model,contract}` as an expression. */
const expression = (name) => name.replace('{', '(').replace('}', ')').replaceAll(',', '|');

/** Single files of the server that each of its folders may use. */
const leaves = named(after.join('')).map((file) => `server/${file.replace(/\.ts$/, '')}`);

const only = (folder, allowed) => ({
  name: folder.replaceAll('/', '-'),
  severity: 'error',
  from: { path: `^src/${folder}/`, pathNot: '\\.test\\.ts$' },
  to: {
    path: '^src/',
    pathNot: `^src/(${[folder, ...allowed.map(expression), ...(folder.startsWith('server/') ? leaves : [])].join('|')})(/|\\.ts$)`,
  },
});

const rules = table
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => {
    const [, folders, allowed] = line.split('|');
    return named(folders).map((folder) => only(folder, named(allowed)));
  });
if (rules.length < 20 || leaves.length === 0) throw new Error('the import table of ARCHITECTURE.md was not understood');

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: { path: '^src/' }, to: { circular: true } },
    { name: 'core-is-pure', severity: 'error', from: { path: '^src/core/', pathNot: '\\.test\\.ts$' }, to: { pathNot: '^src/core/' } },
    { name: 'sdk-is-portable', severity: 'error', from: { path: '^src/sdk/', pathNot: '\\.test\\.ts$' }, to: { pathNot: '^src/(sdk|core)/' } },
    {
      name: 'controllers-meet-in-records',
      severity: 'error',
      from: { path: '^src/server/reconcile/([^/]+)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/server/reconcile/[^/]+/', pathNot: '^src/server/reconcile/$1/' },
    },
    ...rules,
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js'] },
  },
};
