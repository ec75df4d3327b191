import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answeringAs } from '../support/harness/answering-as.ts';
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

const refusal = {
  code: 'store_unavailable',
  field: '',
  received: '',
  expected: '',
  why: 'away',
  doc: '',
};

/** What it prints until it is enough; the change is made once the first records were printed. */
async function watched(
  line: string,
  change: () => Promise<unknown>,
  isEnough: (out: string, err: string) => boolean,
) {
  let changing: Promise<unknown> | undefined;
  const outcome = await typeCommand(line.split(' '), here, '', (out, err) => {
    changing ??= change();
    return isEnough(out, err);
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

  it('goes on when the one record that was named is gone, also where one is found in the list', async () => {
    let asked = 0;
    await answeringAs(
      (to, { url }) => {
        const isList = url?.startsWith('/api/v1/join-tokens') === true;
        if (isList) asked += 1;
        to.statusCode = isList ? 200 : 403;
        to.setHeader('content-type', 'application/json');
        to.end(JSON.stringify(!isList ? refusal : asked === 2 ? [] : [{ id: 'join1' }]));
      },
      async (url) => {
        const { status, out, err } = await typeCommand(
          ['get', 'join-token', 'join1', '--watch', '-o', 'name'],
          { ...here, BERTH_CLI_SERVER: url },
          '',
          (printed) => printed.split('join1').length > 2,
        );
        expect([status, out, err]).toEqual([
          130,
          'join-token/join1\njoin-token/join1\n',
          'join-token/join1 is gone\n',
        ]);
      },
    );
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

  it('gives an expression what get gives it: a list, or the one record that was named', async () => {
    const ended = (text: string) => text.includes('web');
    const list = await watched('get deployments --watch -o jsonpath=[*].name', async () => undefined, ended);
    expect(list.out).toBe('web\n');
    const one = await watched('get deployment web --watch -o jsonpath=.name', async () => undefined, ended);
    expect(one.out).toBe('web\n');
  });

  it('prints names alone for programs', async () => {
    await deploy(stage.shop.call, 'short', { replicas: 0 });
    const { out, err } = await watched(
      'get deployments --watch -o name',
      () => stage.shop.call('DELETE', '/api/v1/deployments/short'),
      (printed, said) => `${printed}${said}`.includes('deployment/short is gone'),
    );
    expect(new Set(out.trimEnd().split('\n'))).toEqual(new Set(['deployment/short', 'deployment/web']));
    expect(err).toBe('deployment/short is gone\n');
  });

  it('waits for a control plane that is in trouble, and says so', async () => {
    let asked = 0;
    await answeringAs(
      (to, { url }) => {
        const isList = url?.startsWith('/api/v1/deployments') === true;
        if (isList) asked += 1;
        const isAway = isList && asked === 2;
        to.statusCode = isAway ? 503 : isList ? 200 : 403;
        to.setHeader('content-type', 'application/json');
        to.end(
          JSON.stringify(to.statusCode === 200 ? [{ name: asked === 1 ? 'before' : 'after' }] : refusal),
        );
      },
      async (url) => {
        const line = ['get', 'deployments', '--watch', '-o', 'name'];
        const { status, out, err } = await typeCommand(
          line,
          { ...here, BERTH_CLI_SERVER: url },
          '',
          (printed) => printed.includes('deployment/after'),
        );
        expect([status, out]).toEqual([130, 'deployment/before\ndeployment/after\n']);
        expect(err).toBe('store_unavailable: away; trying again\ndeployment/before is gone\n');
      },
    );
  });

  it('is refused like get when there is nothing of that name', async () => {
    const { status, err } = await typeCommand(['get', 'deployment', 'nobody', '--watch'], here);
    expect([status, err]).toEqual([1, expect.stringContaining('deployment_not_found')]);
  });
});
