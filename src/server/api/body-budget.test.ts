import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { BodyBudget, bodyBudget } from './body-budget.ts';

const KIB = 1024;

function ask(budget: BodyBudget, headers: Readonly<Record<string, string>>) {
  const answer = new EventEmitter();
  return { refused: budget.admit({ headers }, answer as never), end: () => answer.emit('close') };
}

describe('the budget of bodies', () => {
  it('takes large ones until it is used up, and small ones always', () => {
    const budget = new BodyBudget(2048 * KIB, 1024 * KIB);
    const one = ask(budget, { 'content-length': String(1024 * KIB) });
    const two = ask(budget, { 'transfer-encoding': 'chunked' });
    const three = ask(budget, { 'content-length': String(17 * KIB) });
    expect([one.refused, two.refused]).toEqual([undefined, undefined]);
    expect(three.refused).toMatchObject({ code: 'memory_low', retryAfterSeconds: 1 });
    expect(ask(budget, { 'content-length': String(16 * KIB) }).refused).toBeUndefined();
    expect(ask(budget, {}).refused).toBeUndefined();
    one.end();
    expect(ask(budget, { 'content-length': String(17 * KIB) }).refused).toBeUndefined();
    two.end();
    expect(budget.inFlight).toBe(17 * KIB);
  });

  it('counts no more than a body may have, and nothing for a length that is none', () => {
    const budget = new BodyBudget(1, 1024 * KIB);
    expect(ask(budget, { 'content-length': '99999999999' }).refused).toBeUndefined();
    expect(budget.inFlight).toBe(1024 * KIB);
    expect(ask(budget, { 'content-length': 'x' }).refused).toBeUndefined();
  });

  it('follows the heap', () => {
    expect([0, 256, 8192].map((mib) => bodyBudget(mib * KIB * KIB) / KIB / KIB)).toEqual([4, 8, 64]);
  });
});
