// The import table of ARCHITECTURE.md. What is not allowed here is an error.
const only = (name, from, to) => ({
  name,
  severity: 'error',
  from: { path: `^src/(${from})/`, pathNot: '\\.test\\.ts$' },
  to: { path: '^src/', pathNot: `^src/(${from}|${to})(/|\\.ts$)` },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: { path: '^src/' }, to: { circular: true } },
    { name: 'core-is-pure', severity: 'error', from: { path: '^src/core/', pathNot: '\\.test\\.ts$' }, to: { pathNot: '^src/core/' } },
    only('core-model', 'core/model', 'core/none'),
    only('core-rejections', 'core/rejections', 'core/model'),
    only('core-contract', 'core/contract', 'core/(model|rejections)'),
    only('core-operations', 'core/operations', 'core/(model|rejections|contract)'),
    only('core-rules', 'core/rules', 'core/(model|rejections|contract)'),
    only('core-alterations', 'core/alterations', 'core/(model|rejections|contract)'),
    only('core-scheduler', 'core/scheduler', 'core/(model|contract)'),
    only('core-planner', 'core/planner', 'core/(model|scheduler|contract)'),
    only('store', 'server/store', 'core|server/config'),
    only('journal', 'server/journal', 'core|server/(store|access|clock|ids)'),
    only('access', 'server/access', 'core|server/(store|clock)'),
    only('secrets', 'server/secrets', 'core|server/(store|config|clock)'),
    only('registry', 'server/registry', 'core|server/(store|secrets)'),
    only('placement', 'server/placement', 'core|server/(store|clock)'),
    only('admission', 'server/admission', 'core|server/(store|secrets|registry|journal|access|placement|clock|ids|memory-brake)'),
    only('controllers', 'server/controllers', 'core|server/(store|journal|placement|clock|cron|ids)'),
    only('dispatch', 'server/dispatch', 'core|server/(store|secrets|registry|journal|access|clock|ids)'),
    only('planes', 'server/planes', 'core|server/(store|dispatch|clock)'),
    only('api', 'server/api', 'core|server/(admission|dispatch|journal|access|placement|store|registry|secrets|clock|version)'),
    only('agent', 'agent', 'core/(model|contract|rejections)'),
    only('sdk', 'sdk', 'core/(model|contract|operations|rejections)'),
    { name: 'sdk-is-portable', severity: 'error', from: { path: '^src/sdk/', pathNot: '\\.test\\.ts$' }, to: { pathNot: '^src/(sdk|core)/' } },
    only('cli', 'cli', 'core|sdk'),
    only('dashboard', 'dashboard', 'core/(model|contract|operations|rejections)|sdk'),
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js'] },
  },
};
