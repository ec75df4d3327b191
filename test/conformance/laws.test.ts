import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES } from '../../src/core/model/tenant.ts';
import { type ControlPlane, startControlPlane, UNREACHABLE_IMAGE } from '../support/server-under-test.ts';
import { alterationProblem, LawBroken, recordProblem } from '../support/laws.ts';

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.close());

/** The laws are only worth something when they see a breach. */
describe('the harness', () => {
  it('has a tenant with a token of every role', async () => {
    const { tokens } = await plane.tenant('shop');
    expect(Object.keys(tokens).sort()).toEqual([...ROLES].sort());
    const seen = await plane.api.get('/api/v1/deployments', { token: tokens.viewer });
    expect(seen.status).toBe(200);
  });

  it('passes a write that is announced, over JSON and YAML', async () => {
    const { tokens } = await plane.tenant('shop');
    const created = await plane.api.post(
      '/api/v1/deployments',
      { name: 'web', image: UNREACHABLE_IMAGE, placement: { residency: { country: 'de' } } },
      { token: tokens.deployer },
    );
    expect(created.status, created.text).toBe(201);
    const updated = await plane.api.call('PUT', '/api/v1/deployments/web', {
      token: tokens.deployer,
      yaml: 'replicas: 3\nsecretsVersion: 4\nplacement: null\n',
    });
    expect(updated.status, updated.text).toBe(200);
    expect(updated.body['replicas']).toBe(3);
  });

  it('sees a rejection behind which something was stored', async () => {
    const { tokens, id } = await plane.tenant('shop');
    const planted = plane.laws.before('GET', '/api/v1/deployments/none', {});
    const memory = await planted;
    await plane.mintToken({ tenantId: id, role: 'viewer' });
    const answer = await plane.api.send('GET', '/api/v1/deployments/none', { token: tokens.viewer });
    await expect(plane.laws.after('GET', '/api/v1/deployments/none', {}, answer, memory)).rejects.toThrow(
      LawBroken,
    );
  });

  it('sees a silent alteration and a false announcement', () => {
    const announced = [{ field: 'replicas', from: '(absent)', to: '1', why: 'default' }];
    expect(
      alterationProblem(undefined, { name: 'a' }, { name: 'a', replicas: 1 }, announced),
    ).toBeUndefined();
    expect(alterationProblem(undefined, { name: 'a' }, { name: 'a', replicas: 1 }, [])).toContain('replicas');
    expect(alterationProblem(undefined, { name: 'a' }, { name: 'a', replicas: 2 }, announced)).toContain('2');
    expect(
      alterationProblem({ name: 'a', labels: { x: '1' } }, { replicas: 1 }, { name: 'a', replicas: 1 }, []),
    ).toContain('labels');
  });

  it('sees a malformed record', async () => {
    const good = await plane.api.get('/api/v1/deployments/none');
    expect(recordProblem(good, plane.url)).toBeUndefined();
    expect(recordProblem({ ...good, body: { ...good.body, extra: '1' } }, plane.url)).toBeDefined();
    expect(recordProblem({ ...good, body: { ...good.body, code: 'no_such_code' } }, plane.url)).toBeDefined();
    expect(recordProblem({ ...good, status: 400 }, plane.url)).toBeDefined();
    expect(recordProblem({ ...good, body: { ...good.body, doc: '/docs' } }, plane.url)).toBeDefined();
  });
});
