import type { Deployment } from './records.ts';

const SETTLE_MS = 1_000;
const FALLS_MS = 15_000;

/** Without a health check an instance counts as healthy once it runs, also one that ends a moment later. */
export class Settling {
  #firstMs: number | undefined;
  #sinceMs: number | undefined;

  /** Whether it may be called healthy. */
  see(
    { healthCheck, replicas }: Pick<Deployment, 'healthCheck' | 'replicas'>,
    isHealthy: boolean,
    nowMs: number,
  ): boolean {
    if (healthCheck !== undefined || replicas === 0) return isHealthy;
    if (!isHealthy) {
      this.#sinceMs = undefined;
      return false;
    }
    this.#firstMs ??= nowMs;
    this.#sinceMs ??= nowMs;
    return nowMs - this.#sinceMs >= SETTLE_MS;
  }

  /** It ran, and has not stayed up since. */
  isOver(nowMs: number): boolean {
    return this.#firstMs !== undefined && this.#sinceMs === undefined && nowMs - this.#firstMs >= FALLS_MS;
  }
}
