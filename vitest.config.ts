import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { FileOrder } from './test/support/order/file-order.ts';

// Every store and control plane of a test starts threads, from sources: compiled once, not at each of thousands of starts.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/berth-tests');

// Engines, etcd and registries: Docker's daemon starts itself three times for each container, and each start would collect garbage several times
// before it does anything, a third of its processor time.
process.env['GOGC'] ??= '400';

// Unit tests are pure or in-process and share threads. The others start real stores, engines and servers: each file
// gets a process, a few at a time, after the unit tests.
const started = {
  pool: 'forks' as const,
  maxWorkers: 4,
  testTimeout: 120_000,
  hookTimeout: 300_000,
  globalSetup: ['test/support/global-setup.ts'],
  // Several agents share the network of this machine; those in namespaces of their own are told otherwise.
  env: { BERTH_AGENT_MESH: 'off' },
};

/** What computes: a browser, simulations, a heap that is filled. */
const computing = { ...started, sequence: { groupOrder: 1 } };
/** What waits: for engines, stores, leases, processes that start. */
const waiting = {
  ...started,
  // Many more than cores: less than half of their time is on a processor. With six, when it was more than half, requests to a container took 15 s in a slow hour and
  // files failed three times that pass by themselves.
  maxWorkers: 5,
  sequence: { groupOrder: 2 },
};

const DASHBOARD = 'test/system/dashboard*.test.ts';
/** With those of `system`: a browser drops its requests whenever a network interface comes or goes on the machine. */
const ENGINES = [
  'test/flow/node-to-container.test.ts',
  'test/security/{between-tenants,binds,containers,hostile-copies,network-access,node-network}.test.ts',
];
/**
 * A process of their own each, because they plant bugs in modules, change the process (its environment), measure it, or gain nothing
 * from a warm one. All others of `flow` share processes: loading the control plane anew and running it cold took more than the cases.
 */
const APART = [
  'test/faults/{planted-bugs,planted-crashes,promises-1,promises-2,promises-planted,simulation}.test.ts',
  'test/security/{costs,descriptors,full-store,headers,held-loop,large-assignment,renewed-certificates,terminal}.test.ts',
];
/** Measures what one tenant has to wait for another: nothing else may run meanwhile. */
const ALONE = ['test/security/cost-fuzz.test.ts', 'test/security/agent-floods.test.ts'];

export default defineConfig({
  test: {
    sequence: { sequencer: FileOrder },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/support/**/*.test.ts'],
          pool: 'threads',
          isolate: false,
          // Unless told, one less than cores: on two of them a single thread.
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
          testTimeout: 20_000,
        },
      },
      {
        // The control plane itself: what fails once in a while is a race of ours. CI repeats it once, so that a busy machine does not
        // hold up everybody, and `scripts/test.ts` names at the end what passed only then: it is to be looked into, like a failure.
        test: {
          ...waiting,
          name: 'flow',
          include: ['test/{flow,conformance,faults,security}/**/*.test.ts'],
          exclude: [...ALONE, ...APART, ...ENGINES],
          isolate: false,
          retry: process.env['CI'] === 'true' ? 1 : 0,
        },
      },
      {
        test: {
          ...computing,
          name: 'apart',
          include: APART,
          retry: process.env['CI'] === 'true' ? 1 : 0,
        },
      },
      {
        // Other programs on a shared machine: CI repeats a failed test up to twice and says so in its output (retry x1).
        test: {
          ...waiting,
          name: 'system',
          include: ['test/{suites,system}/**/*.test.ts', ...ENGINES],
          exclude: [DASHBOARD],
          retry: process.env['CI'] === 'true' ? 2 : 0,
        },
      },
      {
        // Before the tests of engines, which add interfaces to the machine and take them away.
        test: {
          ...computing,
          name: 'browser',
          include: [DASHBOARD],
          // Makes pictures for the guide rather than a judgement.
          exclude:
            process.env['BERTH_SCREENSHOTS'] === '1' ? [] : ['test/system/dashboard-pictures*.test.ts'],
          retry: process.env['CI'] === 'true' ? 2 : 0,
        },
      },
      {
        test: {
          ...started,
          name: 'alone',
          maxWorkers: 1,
          include: ALONE,
          sequence: { groupOrder: 3 },
          retry: process.env['CI'] === 'true' ? 1 : 0,
        },
      },
    ],
  },
});
