import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nextLink } from '../../src/core/contract/next-link.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { deploy } from '../support/harness/node-flow.ts';
import { typeCommand } from '../support/harness/typed-command.ts';

interface Line {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly tenantId: string;
  readonly action: string;
  readonly subject: { readonly kind: string; readonly name: string };
}

type Tenant = Awaited<ReturnType<ControlPlane['tenant']>>;

const AUDIT = '/api/v1/audit';
const WEB = '/api/v1/deployments/web';

let plane: ControlPlane;
let shop: Tenant;
let bank: Tenant;
/** The token of a pipeline, and its id. */
let ci: { readonly id: string; readonly token: string };
let viewer: string;

beforeAll(async () => {
  plane = await startControlPlane();
  [shop, bank] = [await plane.tenant('shop'), await plane.tenant('bank')];
  ci = (await shop.call('POST', '/api/v1/tokens', { name: 'ci', role: 'deployer' })).body;
  viewer = (await shop.call('POST', '/api/v1/tokens', { name: 'look', role: 'viewer' })).body.token;
  const pipeline = plane.as(ci.token);
  await deploy(pipeline, 'web', { replicas: 0 });
  expect((await pipeline('PUT', WEB, { labels: { turn: '1' } })).status).toBe(200);
  await deploy(bank.call, 'web', { replicas: 0 });
  const stored = await shop.call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'x' } });
  expect(stored.status).toBeLessThan(300);
  expect((await shop.call('DELETE', WEB)).status).toBeLessThan(300);
});
afterAll(() => plane.close());

async function lines(query: string, tenant = shop): Promise<readonly Line[]> {
  const { status, body } = await tenant.call('GET', `${AUDIT}?${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}
const actions = async (query: string) => (await lines(query)).map(({ action }) => action);

const OF_CI = ['deployment.created', 'deployment.updated'];

describe('the audit', () => {
  it('is filtered by who, what, which record and since when', async () => {
    expect(await actions(`actor=${ci.id}`)).toEqual(OF_CI);
    expect(await actions('action=deployment.deleted')).toEqual(['deployment.deleted']);
    expect(await actions('action=token.*')).toEqual(expect.arrayContaining(['token.created']));
    for (const subject of ['web', 'Deployment/web', 'Deployment/*'])
      expect(await actions(`subject=${subject}`)).toEqual([...OF_CI, 'deployment.deleted']);
    expect(await actions('subject=Secret/resources/db')).toEqual(['secret.written']);
    expect(await actions('subject=resources/db')).toEqual(['secret.written']);
    const all = await lines('');
    const [, updated] = await lines(`actor=${ci.id}`);
    const from = all.findIndex(({ at }) => at >= (updated?.at ?? ''));
    expect(await lines(`since=${updated?.at}`)).toEqual(all.slice(from));
    expect(await lines('since=2020-01-01T00:00:00Z')).toEqual(all);
    expect(await lines('since=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await actions(`actor=${ci.id}&action=deployment.deleted`)).toEqual([]);
  });

  it.each(['2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-01T24:00:00Z', '2025-02-29T00:00:00Z'])(
    'knows no time %s, nor do events',
    async (since) => {
      for (const list of ['audit', 'events']) {
        const { status, body } = await shop.call('GET', `/api/v1/${list}?since=${since}`);
        expect([status, body.code, body.received]).toEqual([400, 'query_parameter_invalid', since]);
      }
    },
  );

  it('goes on page by page with its filter', async () => {
    const found: string[] = [];
    let path: string | undefined = `${AUDIT}?action=deployment.*&limit=1`;
    for (let pages = 0; path !== undefined && pages < 10; pages += 1) {
      const { body, headers } = await shop.call('GET', path);
      found.push(...body.map(({ action }: Line) => action));
      path = nextLink(headers.get('link'));
    }
    expect(found).toEqual([...OF_CI, 'deployment.deleted']);
  });

  it('has nothing of another tenant, whatever the filter names', async () => {
    expect(await lines(`actor=${ci.id}`, bank)).toEqual([]);
    const found = await lines('subject=web', bank);
    expect(found.map(({ tenantId, action }) => [tenantId, action])).toEqual([
      [bank.id, 'deployment.created'],
    ]);
    const foreign = await bank.call('GET', `${AUDIT}?actor=${ci.id}`, undefined, { 'x-tenant-id': shop.id });
    expect([foreign.status, foreign.body.code]).toEqual([403, 'tenant_forbidden']);
  });

  it('is for administrators', async () => {
    for (const token of [viewer, ci.token]) {
      const { status, body } = await plane.as(token)('GET', `${AUDIT}?actor=${ci.id}`);
      expect([status, body.code]).toEqual([403, 'role_forbidden']);
    }
  });
});

describe('berth audit', () => {
  const type = (line: string, token = shop.token, isEnough?: (out: string) => boolean) =>
    typeCommand(
      ['audit', ...line.split(' ')],
      { HOME: '/nowhere', BERTH_CLI_SERVER: plane.url, BERTH_CLI_TOKEN: token },
      '',
      isEnough,
    );

  it('says who by the name of the token', async () => {
    const { status, out, err } = await type('--actor ci');
    expect({ status, err }).toEqual({ status: 0, err: '' });
    const [header, ...rows] = out.trimEnd().split('\n');
    expect(header).toMatch(/^AGE +ACTOR +ACTION +SUBJECT +RESULT +FROM$/);
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatch(/ ci +deployment\.updated +deployment\/web +accepted +\S+$/);
    const wide = await type('--subject deployment/* --action deployment.deleted -o wide');
    expect(wide.out).toMatch(/^AGE +AT +ACTOR +TOKEN +ROLE +ACTION +SUBJECT +RESULT +FROM +REQUEST +DETAILS/);
  });

  it('prints fields for programs, and says where there is nothing', async () => {
    const { out } = await type(`--actor ${ci.id} -o jsonpath=[*].action`);
    expect(out.trimEnd().split('\n')).toEqual(OF_CI);
    expect(JSON.parse((await type('--since 1h --subject web -o json')).out)).toHaveLength(3);
    const none = await type('--since 2999-01-01T00:00:00Z');
    expect(none).toEqual({
      status: 0,
      out: '',
      err: 'nothing of this was done since 2999-01-01T00:00:00Z\n',
    });
  });

  it('follows what is done, each line once', async () => {
    const written = (seen: string) => seen.match(/"secret\.written"/g)?.length ?? 0;
    let writing: Promise<unknown> | undefined;
    const { status, out } = await type('-f --subject secret/* -o json', shop.token, (seen) => {
      writing ??= shop.call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'y' } });
      return written(seen) > 1;
    });
    await writing;
    expect([status, written(out)]).toEqual([130, 2]);
    const ids = out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as Line).id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await type('-f -o yaml')).toMatchObject({ status: 2, out: '' });
  });

  it('is refused with what is wrong', async () => {
    expect(await type('--action Deployment')).toMatchObject({
      status: 1,
      err: expect.stringContaining('query_parameter_invalid'),
    });
    expect(await type('--actor nobody')).toMatchObject({ status: 2, out: '' });
    expect(await type('--actor ci', viewer)).toMatchObject({
      status: 1,
      err: expect.stringContaining('role_forbidden'),
    });
  });
});
