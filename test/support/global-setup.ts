import { buildDashboard } from './browser.ts';
import { ALL_PACKAGES, ensurePackages } from './packages.ts';

/** Once per run, before any worker: two workers must not run the package manager or the same build at the same time. */
export function setup(): void {
  ensurePackages(ALL_PACKAGES);
  buildDashboard();
}
