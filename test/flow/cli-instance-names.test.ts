import { expect, describe, it } from 'vitest';
import { answeringAs } from '../support/harness/answering-as.ts';
import { type CommandOutcome, typeCommand } from '../support/harness/typed-command.ts';

const IDS = ['ins_01m7msz4mr99gh0hdz038j1695', 'ins_01m7msz6c62pq09hnz03ws8jag'] as const;
const instances = IDS.map((id) => ({ id, deployment: 'web', nodeId: 'vm', state: 'running', specHash: 'a' }));
const web = {
  name: 'web',
  specHash: 'a',
  replicas: 2,
  status: { phase: 'Running', message: '', desired: 2, healthy: 2, instances },
};
const starting = {
  ...web,
  status: {
    ...web.status,
    phase: 'Progressing',
    instances: instances.map((one) => ({ ...one, state: 'starting' })),
  },
};
const absent = {
  code: 'deployment_not_found',
  field: 'name',
  received: '',
  expected: '',
  why: 'not there',
  doc: '',
};

type Answers = Readonly<Record<string, () => unknown>>;

/** A command to a control plane that answers so, and what else it was asked for. */
async function told(
  line: string,
  answers: Answers = {},
): Promise<CommandOutcome & { asked: readonly string[] }> {
  const all: Answers = {
    '/api/v1/deployments': () => [web],
    '/api/v1/deployments/web': () => web,
    '/api/v1/deployments/web/instances': () => instances,
    ...answers,
  };
  const asked: string[] = [];
  let outcome: CommandOutcome = { status: -1, out: '', err: '' };
  await answeringAs(
    (to, { url = '' }) => {
      const answer = all[url.split('?')[0] ?? ''];
      if (answer === undefined) asked.push(url);
      to.statusCode = answer === undefined ? 404 : 200;
      to.setHeader('content-type', 'application/json');
      to.end(JSON.stringify(answer === undefined ? absent : answer()));
    },
    async (url) => {
      const here = { HOME: '/nowhere', BERTH_CLI_SERVER: url, BERTH_CLI_TOKEN: 'token' };
      outcome = await typeCommand(line.split(' '), here);
    },
  );
  return { ...outcome, asked };
}

describe('what people call an instance', () => {
  it('is taken where one is listed and where files are copied', async () => {
    expect((await told('get instances web-03ws8jag -o name')).out).toBe(`instance/${IDS[1]}\n`);
    expect((await told('get instances web -o name')).out.split('\n')).toHaveLength(3);
    expect(await told('get instances shop')).toMatchObject({
      status: 1,
      err: expect.stringContaining('deployment_not_found'),
    });
    const { asked } = await told('cp web/web-03ws8jag:/x /nowhere/x');
    expect(asked).toEqual([expect.stringContaining(`instance=${IDS[1]}`)]);
  });

  it('is shown where instances are measured and explained', async () => {
    expect((await told('top instances')).out).toMatch(/\nweb-038j1695 .*\nweb-03ws8jag /);
    const explanation = {
      summary: 'none',
      instances: [{ id: IDS[0], node: 'vm' }],
      misplaced: [{ id: IDS[1], node: 'vm', reasons: [{ message: 'moved' }] }],
    };
    const { out } = await told('explain web', { '/api/v1/deployments/web/explain': () => explanation });
    expect(out).toMatch(/^runs: web-038j1695 on vm\nmisplaced: web-03ws8jag on vm: moved\n/);
  });

  it('has how it is below a wait, also while it is looked at whether it stays up', async () => {
    let looks = 0;
    const { status, err } = await told('rollout status web', {
      '/api/v1/deployments/web': () => ((looks += 1) < 3 ? starting : web),
    });
    expect({ status, err }).toEqual({ status: 0, err: expect.stringContaining('looking whether it stays') });
    expect(err).toMatch(/web-03ws8jag on vm: starting\n[^]*web-03ws8jag on vm: running\n/);
  });
});

describe('a way between nodes', () => {
  it('has the word that it has elsewhere', async () => {
    const path = (to: string, kind: string) => ({ from: 'a', to, path: kind, why: 'so' });
    const paths = [path('a', 'local'), path('b', 'direct'), path('c', 'relay'), path('d', 'none')];
    const { out } = await told('explain web --from shop', {
      '/api/v1/deployments/web/explain': () => ({
        access: { from: 'shop', allowed: true, rule: 'r', paths },
      }),
    });
    const words = out.split('\n').flatMap((line) => / {2}(\w+): so$/.exec(line)?.slice(1) ?? []);
    expect(words).toEqual(['local', 'direct', 'relayed', 'unreachable']);
  });
});
