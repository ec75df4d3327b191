import { afterAll, describe, expect, it } from 'vitest';
import { CATALOGUE, isRejectionCode, type RejectionCode } from '../../src/core/rejections/catalogue.ts';
import { routeTable } from '../support/route-table.ts';
import { AREAS } from './cases/areas.ts';
import type { Case } from './cases/case.ts';
import { PENDING } from './pending.ts';
import { Stages } from './stages.ts';

/** Every code over HTTP, with its field; what lies just inside is accepted. The laws hold around every call. */

const STAYS: readonly string[] = [
  'volume_binding_unavailable',
  'exec_unavailable',
  'secrets_store_forbidden',
  'secrets_store_unusable',
];

const stages = new Stages();
const reached = new Set<string>();
afterAll(() => stages.close());

async function run(area: string, one: Case): Promise<void> {
  const stage = await stages.stage(one.setting, area);
  const { method, path, options } = await one.ask(stage);
  let answer = await stage.call(method, path, options);
  // The limit is reached by asking until it is.
  for (let more = 0; one.setting === 'slow-down' && answer.status !== 429 && more < 10; more += 1)
    answer = await stage.call(method, path, options);
  if (one.field === undefined) {
    expect(answer.status, answer.text).toBeLessThan(300);
    return;
  }
  const { code, field } = answer.body;
  reached.add(String(code));
  expect({ code, field }, answer.text).toEqual({ code: one.code, field: one.field });
  // What is away says when to ask again; what is switched off or stopped does not come back by waiting.
  if (answer.status === 503 && !STAYS.includes(String(code)))
    expect(Number(answer.headers['retry-after']), String(code)).toBeGreaterThan(0);
  if (STAYS.includes(String(code))) expect(answer.headers['retry-after'], String(code)).toBeUndefined();
}

for (const [area, cases] of Object.entries(AREAS)) {
  describe(area, () => {
    for (const one of cases) {
      const verdict = one.field === undefined ? `just inside ${one.code}` : one.code;
      it(`${verdict}: ${one.title}`, () => run(area, one));
    }
  });
}

describe('the catalogue', () => {
  const all = Object.values(AREAS).flat();
  const covered = new Set<RejectionCode>(all.filter((one) => one.field !== undefined).map((one) => one.code));
  const pending = Object.values(PENDING).flat();

  it('has a case for every code, or names the feature that is not there yet', () => {
    const codes = Object.keys(CATALOGUE).filter(isRejectionCode);
    expect(codes.filter((code) => !covered.has(code) && !pending.includes(code))).toEqual([]);
    expect(pending.filter((code) => covered.has(code))).toEqual([]);
    expect(new Set(pending).size).toBe(pending.length);
  });

  it('was reached in every case', () => {
    expect([...covered].filter((code) => !reached.has(code))).toEqual([]);
    expect(pending.filter((code) => reached.has(code))).toEqual([]);
  });

  it('waits for no feature that has come: a route that can answer a code has a case for it', () => {
    const answered = new Set<RejectionCode>(routeTable().flatMap((route) => route.codes));
    expect(pending.filter((code) => answered.has(code))).toEqual([]);
  });

  it('is covered at its boundaries', () => {
    const sections = ['7.1', '7.2', '7.3'];
    const few = [...covered].filter(
      (code) =>
        sections.includes(CATALOGUE[code].origin) &&
        CATALOGUE[code].status < 500 &&
        all.filter((one) => one.code === code && one.field !== undefined).length < 3,
    );
    expect(few).toEqual(['secret_compose_template_empty']);
    console.log(`${all.length} cases, ${covered.size} codes reached, ${pending.length} pending`);
  });
});
