import { it } from 'vitest';

/**
 * One attack and what holds against it: `npm run test:security` prints all of them as a table, and the guide's page on
 * security has the same rows (test/security/guide.test.ts). Who and what are literals, so that both can be read from the source.
 */
export function attack(who: string, what: string, run: () => Promise<void> | void, timeoutMs?: number): void {
  it(`${who}: ${what}`, run, timeoutMs);
}
