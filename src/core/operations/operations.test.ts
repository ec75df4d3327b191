import { describe, expect, expectTypeOf, it } from 'vitest';
import { announced } from '../contract/answers/field-shapes.ts';
import { OPERATIONS } from './index.ts';
import { LIST_QUERY } from './queries.ts';
import type {
  AnswerOf,
  BodyOf,
  IsBodyOptional,
  Operation,
  ParamsOf,
  QueryNameOf,
  QueryOf,
  StatusOf,
} from './operation.ts';

type All = typeof OPERATIONS;

describe('the table', () => {
  const all: readonly Operation[] = Object.values(OPERATIONS).flatMap((group) => Object.values(group));

  it('has every operation once', () => {
    const names = all.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it('says what was altered, warned of and removed on every write', () => {
    const silent = all.filter(({ method, success: { answer } }) => {
      const fields = answer?.type === 'object' ? answer.fields : {};
      return method !== 'GET' && Object.entries(announced).some(([name, field]) => fields[name] !== field);
    });
    // They run something, order it or log in: no record is their answer.
    expect(silent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /api/v1/deployments/{name}/exec',
      'POST /api/v1/nodes/{name}/clean',
      'POST /api/v1/nodes/{name}/rotate-key',
      'POST /api/v1/ingress/{host}/revoke',
      'POST /api/v1/tenants/{tenant}/volumes/{id}/snapshots',
      'POST /api/v1/apply',
      'POST /api/v1/webhooks/{name}/redeliver',
      'POST /api/v1/session',
      'DELETE /api/v1/session',
    ]);
  });

  it('pages every list', () => {
    const whole = all.filter(
      ({ success: { answer }, query = {} }) =>
        answer?.type === 'list' && !Object.keys(LIST_QUERY).every((name) => name in query),
    );
    expect(whole.map(({ path }) => path)).toEqual([]);
  });

  it('answers with JSON, or says what else it is', () => {
    for (const { path, success, ...more } of all) {
      if (success.answer === undefined && success.media === undefined && !('socket' in more))
        expect(path).toBe('/api/v1/tenants/{tenant}/volumes/{id}/snapshots');
    }
  });
});

describe('its types', () => {
  it('take parameters from the path', () => {
    expectTypeOf<ParamsOf<All['volumes']['removeReplica']>>().toEqualTypeOf<{
      readonly tenant: string;
      readonly id: string;
      readonly node: string;
    }>();
  });

  it('take the query from its schemas', () => {
    const between: QueryOf<All['archives']['compare']> = { from: 1, to: 2 };
    expect(between).toBeDefined();
    // @ts-expect-error both ends are required
    const half: QueryOf<All['archives']['compare']> = { from: 1 };
    expect(half).toBeDefined();
    expectTypeOf<QueryNameOf<All['nodes']['remove']>>().toEqualTypeOf<'force'>();
    expectTypeOf<QueryNameOf<All['nodes']['read']>>().toEqualTypeOf<never>();
    expectTypeOf<QueryOf<All['nodes']['remove']>['force']>().toEqualTypeOf<boolean | undefined>();
    expectTypeOf<QueryOf<All['nodes']['list']>['limit']>().toEqualTypeOf<number | undefined>();
  });

  it('take body, answer and statuses from the shapes', () => {
    expectTypeOf<BodyOf<All['tokens']['create']>['name']>().toEqualTypeOf<string | undefined>();
    expectTypeOf<BodyOf<All['tokens']['list']>>().toEqualTypeOf<never>();
    expectTypeOf<IsBodyOptional<All['joinTokens']['create']>>().toEqualTypeOf<true>();
    expectTypeOf<IsBodyOptional<All['tokens']['create']>>().toEqualTypeOf<false>();
    expectTypeOf<AnswerOf<All['deployments']['read']>['status']['phase']>().toExtend<string>();
    expectTypeOf<AnswerOf<All['instances']['logs']>>().toEqualTypeOf<undefined>();
    expectTypeOf<StatusOf<All['deployments']['create']>>().toEqualTypeOf<200 | 201>();
    expectTypeOf<StatusOf<All['secrets']['write']>>().toEqualTypeOf<200 | 201>();
    expectTypeOf<StatusOf<All['backups']['create']>>().toEqualTypeOf<201>();
  });
});
