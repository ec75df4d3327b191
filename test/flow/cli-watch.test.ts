import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deploy } from '../support/harness/node-flow.ts';
import { typeCommand } from '../support/harness/typed-command.ts';
import { WebStage } from '../support/harness/web-stage.ts';

let stage: WebStage;
let here: Record<string, string>;

beforeAll(async () => {
  stage = await WebStage.start();
  here = { HOME: '/nowhere', BERTH_CLI_SERVER: stage.plane.url, BERTH_CLI_TOKEN: stage.shop.token };
});
afterAll(() => stage.close());

/** What it prints until it is enough; the change is made once the first records were printed. */
async function watched(line: string, change: () => Promise<unknown>, isEnough: (out: string) => boolean) {
  let changing: Promise<unknown> | undefined;
  const outcome = await typeCommand(line.split(' '), here, '', (out) => {
    changing ??= change();
    return isEnough(out);
  });
  await changing;
  return outcome;
}

describe('get --watch', () => {
  it('prints the table, then rows that changed, and what is gone', async () => {
    await deploy(stage.shop.call, 'short', { replicas: 0 });
    const { status, out, err } = await watched(
      'get deployments --watch',
      () => stage.shop.call('DELETE', '/api/v1/deployments/short'),
      (text) => text.includes('deployment/short is gone'),
    );
    expect({ status, err }).toEqual({ status: 130, err: '' });
    expect(out).toMatch(/^NAME +PHASE/);
    expect(out.match(/^NAME/gm)).toHaveLength(1);
    expect(out.match(/^web /gm)).toHaveLength(1);
  });

  it('prints one object a line for programs, of one record too', async () => {
    const { status, out } = await watched(
      'get deployment web --watch -o json',
      () => typeCommand(['scale', 'web', '1', '--no-wait'], here),
      (text) => text.includes('"replicas":1,'),
    );
    expect(status).toBe(130);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((one) => JSON.parse(one) as { name: string; revision: number });
    expect(lines.length).toBeGreaterThan(1);
    expect(new Set(lines.map(({ name }) => name))).toEqual(new Set(['web']));
  });

  it('is refused like get when there is nothing of that name', async () => {
    const { status, err } = await typeCommand(['get', 'deployment', 'nobody', '--watch'], here);
    expect([status, err]).toEqual([1, expect.stringContaining('deployment_not_found')]);
  });
});
