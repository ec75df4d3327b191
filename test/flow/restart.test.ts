import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { TestTenant } from '../support/harness/node-flow.ts';
import { WEB, WebStage } from '../support/harness/web-stage.ts';

let stage: WebStage;
let shop: TestTenant;

beforeAll(async () => {
  stage = await WebStage.start();
  ({ shop } = stage);
});
afterAll(() => stage.close());

const ids = () => stage.ids();

describe('a restart', () => {
  it('replaces every instance, changes nothing else, and is on record', async () => {
    const before = await ids();
    const stored = (await shop.call('GET', WEB)).body;
    const answer = await shop.call('POST', `${WEB}/restart`);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    await eventually(ids, (now) => now.length === 2 && now.every((id) => !before.includes(id)));
    const after = (await shop.call('GET', WEB)).body;
    expect([after.specHash, after.version, after.replicas]).toEqual([stored.specHash, stored.version, 2]);
    const events = (await shop.call('GET', '/api/v1/events?kind=deployment.restart_requested')).body;
    expect(events).toHaveLength(1);
    expect(JSON.stringify((await shop.call('GET', '/api/v1/audit')).body)).toContain(
      'deployment.restart-requested',
    );
  });

  it('is of one instance where one is named', async () => {
    const [first = '', second = ''] = await ids();
    expect((await shop.call('POST', `${WEB}/restart`, { instance: first })).status).toBe(200);
    const now = await eventually(ids, (list) => list.length === 2 && !list.includes(first));
    expect(now).toContain(second);
  });

  it('is refused for what is not there', async () => {
    const before = await ids();
    const unknown = await shop.call('POST', `${WEB}/restart`, { instance: 'ins_none' });
    expect(unknown.body).toMatchObject({ code: 'instance_not_found', field: 'instance' });
    expect((await shop.call('POST', '/api/v1/deployments/none/restart')).body.code).toBe(
      'deployment_not_found',
    );
    expect(await ids()).toEqual(before);
  });

  it('is kept by an update: what was replaced is not replaced again', async () => {
    const before = await ids();
    expect((await shop.call('PUT', WEB, { replicas: 3 })).status).toBe(200);
    const after = await eventually(ids, (now) => now.length === 3);
    expect(after).toEqual(expect.arrayContaining([...before]));
  });
});
