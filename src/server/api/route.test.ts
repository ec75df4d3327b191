import { describe, expect, it } from 'vitest';
import { exactly } from '../../core/schema/shape.ts';
import { DEPLOYMENTS } from '../../core/operations/deployments.ts';
import { NODES, SCHEDULER } from '../../core/operations/nodes.ts';
import type { AnswerOf } from '../../core/operations/operation.ts';
import { TOKENS } from '../../core/operations/tokens.ts';
import { acceptedOf } from '../writes/admission.ts';
import { serve } from './route.ts';

const asRegions = exactly<AnswerOf<typeof SCHEDULER.readRegions>>();
const region = { name: 'eu', countries: ['de'] };
const whole = { enforcement: true, regions: [region] };

/** Each line below an expected error is one that `npm run check` has to refuse: without the error it fails there. */
describe('a handler that does not compile', () => {
  it('answers with a field that the shape does not know', () => {
    // @ts-expect-error at the top
    asRegions({ ...whole, more: 1 });
    // @ts-expect-error in an item of a list, spread from elsewhere
    asRegions({ ...whole, regions: [{ ...region, more: 1 }] });
    // @ts-expect-error added to a copy of what was exact
    serve(SCHEDULER.readRegions, () => ({ status: 200, body: { ...asRegions(whole), more: 1 } }));
    // @ts-expect-error past the only way to an answer
    serve(SCHEDULER.readRegions, () => ({ status: 200, body: whole }));
    const accepted = acceptedOf<typeof NODES.releaseClaim>();
    const released = { name: 'n', tenantId: 't', released: true, deleted: false };
    const announced = { alterations: [], warnings: [], removed: [] };
    // @ts-expect-error of a write
    accepted(200, { ...released, ...announced, more: 1 });
    expect(accepted(200, { ...released, ...announced })).toEqual({
      status: 200,
      body: { ...released, ...announced },
    });
  });

  it('answers without a field that the shape wants', () => {
    // @ts-expect-error at the top
    asRegions({ enforcement: true });
    // @ts-expect-error in an item of a list
    asRegions({ ...whole, regions: [{ name: 'eu' }] });
    // @ts-expect-error of a write
    acceptedOf<typeof NODES.releaseClaim>()(200, { name: 'n', tenantId: 't' });
    expect(asRegions(whole)).toBe(whole);
  });

  it('answers with a status that is not documented', () => {
    // @ts-expect-error not 202
    serve(SCHEDULER.readRegions, () => ({ status: 202, body: asRegions(whole) }));
    // @ts-expect-error an update creates nothing
    expect(acceptedOf<typeof DEPLOYMENTS.update>()(201, {} as never).status).toBe(201);
    expect(acceptedOf<typeof DEPLOYMENTS.create>()(201, {} as never).status).toBe(201);
  });

  it('answers with another operation’s answer, or with a stream that it does not have', () => {
    const token = exactly<AnswerOf<typeof TOKENS.list>>()([]);
    // @ts-expect-error a list of tokens is no list of nodes
    serve(NODES.list, () => ({ status: 200, body: token }));
    // @ts-expect-error nodes are not streamed
    serve(NODES.list, () => ({ status: 200, contentType: 'text/plain', stream: () => undefined }));
    expect(serve(TOKENS.list, () => ({ status: 200, body: token })).path).toBe('/api/v1/tokens');
  });

  it('asks for what the operation does not take', () => {
    const body = asRegions(whole);
    const { path } = serve(SCHEDULER.readRegions, ({ params, query }) => {
      // @ts-expect-error no such parameter of the path
      expect(params.name).toBeUndefined();
      // @ts-expect-error no such parameter of the query
      expect(query.kind).toBeUndefined();
      return { status: 200, body };
    });
    expect(path).toBe('/api/v1/scheduler/regions');
    serve(TOKENS.create, ({ body: sent }) => {
      expect(sent.name).toBeUndefined();
      // @ts-expect-error no such field of the body
      return sent.nickname;
    });
  });
});
