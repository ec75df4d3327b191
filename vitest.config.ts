import { defineConfig } from 'vitest/config';

// Two projects: unit tests are pure or in-process and share threads; system tests start real
// engines, stores and servers, so each file gets a process and they run a few at a time.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/support/**/*.test.ts'],
          pool: 'threads',
          isolate: false,
          sequence: { groupOrder: 0 },
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/{suites,flow,system,conformance,faults}/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          // Real engines on a shared machine: CI repeats a failed system test once and says so (retry x1) in its output.
          // At home nothing is repeated, so that a race is seen.
          retry: process.env['CI'] === 'true' ? 1 : 0,
          hookTimeout: 300_000,
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
    ],
  },
});
