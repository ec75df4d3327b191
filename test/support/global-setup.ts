import { keepEgress } from './egress-traces.ts';
import { buildAll } from './harness/built.ts';
import { ALL_PACKAGES, ensurePackages } from './harness/packages.ts';

/** Of each project of the run. */
const endings: (() => void)[] = [];

/** Once per run, before any worker: two workers must not run the package manager or the same build at the same time. */
export function setup(): void {
  ensurePackages(ALL_PACKAGES);
  buildAll();
  endings.push(keepEgress());
}

export function teardown(): void {
  endings.pop()?.();
}
