import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';
import { eventually } from '../support/eventually.ts';
import { type Caller, callerTo } from '../support/harness/caller.ts';
import { nodeFacts } from '../support/harness/node-flow.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { rawExchange } from '../support/harness/raw-exchange.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';
import { type CellServers, Router } from '../support/harness/router.ts';

/** Three control planes with stores of their own behind one address. A slug is of its cell: all three have a tenant shop. */
const NAMES = ['eu1', 'eu2', 'us1'] as const;
type Name = (typeof NAMES)[number];
const DEPLOYMENTS = '/api/v1/deployments';

interface Stage {
  readonly plane: PlaneProcess;
  readonly token: string;
  /** Through the router. */
  readonly call: Caller;
}

const stages = new Map<Name, Stage>();
let registry: Registry;
let image = '';
let router: Router;
let agent: LiveAgent | undefined;

function stage(name: Name): Stage {
  const found = stages.get(name);
  if (found === undefined) throw new Error(`there is no cell ${name}`);
  return found;
}

function servers(names: readonly Name[]): CellServers {
  return Object.fromEntries(names.map((name) => [name, [stage(name).plane.url]]));
}

beforeAll(async () => {
  registry = await startRegistry();
  image = (await pushImage(registry, 'shop/web:1', {})).reference;
  await Promise.all(
    NAMES.map(async (name) => {
      const plane = await new PlaneProcess({ BERTH_CELL: name }).start();
      const { token } = await plane.tenant('shop');
      stages.set(name, { plane, token, call: callerTo(() => router.url, token) });
    }),
  );
  router = await Router.start(servers(['eu1', 'eu2']));
});

afterAll(async () => {
  await agent?.stop();
  await router?.stop();
  await Promise.all([...stages.values()].map(({ plane }) => plane.dispose()));
  await registry?.stop();
});

const names = async (call: Caller): Promise<readonly string[]> =>
  ((await call('GET', DEPLOYMENTS)).body as { name: string }[]).map(({ name }) => name);

describe('cells behind a router', () => {
  it('refuses a token of a cell that it was not told of, and takes the cell up by a reload that cuts no stream', async () => {
    const { status, body, headers } = await stage('us1').call('GET', DEPLOYMENTS);
    expect({ status, code: body.code, retry: headers.get('retry-after') }).toEqual({
      status: 503,
      code: 'cell_unknown',
      retry: '10',
    });
    expect(Object.keys(body).sort()).toEqual(['code', 'doc', 'expected', 'field', 'received', 'why']);
    const events = await fetch(`${router.url}/api/v1/events`, {
      headers: { authorization: `Bearer ${stage('eu2').token}`, accept: 'text/event-stream' },
    });
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
    router.reload(servers(NAMES));
    await eventually(
      'us1 is served',
      () => stage('us1').call('GET', DEPLOYMENTS),
      (answer) => answer.status === 200,
    );
    const made = await stage('eu2').call('POST', DEPLOYMENTS, { name: 'streamed', image, replicas: 0 });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    let text = '';
    while (!text.includes('"streamed"'))
      text += (await reader?.read())?.value ?? 'the stream ended "streamed"';
    expect(text).toContain('event: deployment.created');
    await reader?.cancel();
  });

  it('sends each tenant to its own cell, by token and by session', async () => {
    for (const name of NAMES) {
      const { call, token, plane } = stage(name);
      expect(token).toMatch(new RegExp(`^berth_pat_tok[0-9a-z]{26}${name}_`));
      expect((await call('POST', DEPLOYMENTS, { name: `only-${name}`, image, replicas: 0 })).status).toBe(
        201,
      );
      expect(await names(plane.as(token))).toContain(`only-${name}`);
      const signedIn = await call('POST', '/api/v1/session', {});
      const cookie = signedIn.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
      expect(cookie).toMatch(new RegExp(`^berth_session=[\\w-]{43}\\.${name}$`));
      const seen = await fetch(router.url + DEPLOYMENTS, { headers: { cookie } });
      expect(await seen.text()).toContain(`only-${name}`);
    }
    expect(await names(stage('us1').call)).toEqual(['only-us1']);
  });

  it('leaves it to the cell who is let in', async () => {
    const { token } = stage('eu2');
    const through = async (text: string) =>
      (await callerTo(() => router.url, text)('GET', DEPLOYMENTS)).body.code;
    // Of another cell by name, of the same secret: nobody's token there, and its checksum is wrong.
    expect(await through(token.replace('eu2_', 'eu1_'))).toBe('unauthenticated');
    expect(await through('a-strangers-token-of-no-form-at-all-0123')).toBe('unauthenticated');
    const foreign = await fetch(router.url + DEPLOYMENTS, {
      headers: { cookie: `berth_session=${'a'.repeat(43)}.nowhere` },
    });
    expect(foreign.status).toBe(401);
    const other = await stage('eu1').call('GET', DEPLOYMENTS, undefined, { 'x-tenant-id': 'platform' });
    expect(other.body.code).toBe('tenant_forbidden');
  });

  it('believes no header of a client, and reads a request with two lengths as one', async () => {
    const { token, plane } = stage('eu2');
    const hostile = (more: string, body: string) =>
      rawExchange(
        router.url,
        `POST ${DEPLOYMENTS} HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nConnection: close\r\n${more}\r\n\r\n${body}`,
        { untilClosed: true },
      );
    const named = await hostile(
      'X-Forwarded-For: 203.0.113.9\r\nBerth-Handed-On: 1\r\nX-Forwarded-Host: eu1\r\nContent-Length: 2',
      '{}',
    );
    expect(named.status).toBe(422);
    const made = await stage('eu2').call(
      'POST',
      DEPLOYMENTS,
      { name: 'sourced', image, replicas: 0 },
      {
        'x-forwarded-for': '203.0.113.9',
      },
    );
    expect(made.status).toBe(201);
    const audit = await plane.as(token)('GET', '/api/v1/audit?limit=1000');
    expect(JSON.stringify(audit.body)).toContain('"forwardedFor":"127.0.0.1"');
    expect(JSON.stringify(audit.body)).not.toContain('203.0.113.9');
    const inner = `POST ${DEPLOYMENTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stage('eu1').token}\r\nContent-Length: 2\r\n\r\n{}`;
    const smuggled = await hostile('Content-Length: 4\r\nTransfer-Encoding: chunked', `0\r\n\r\n${inner}`);
    expect(smuggled.text.match(/HTTP\/1\.1 \d{3}/g)).toHaveLength(1);
    const twice = await hostile('Content-Length: 2\r\nContent-Length: 40', '{}');
    expect(twice.text).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('carries an agent, its work, commands and a long body', async () => {
    const { call } = stage('us1');
    const join = await call('POST', '/api/v1/join-tokens', {});
    const token = String(join.body.token);
    expect(token).toMatch(/^berth_join_join[0-9a-z]{26}us1_/);
    const key = agentKey();
    const enrolled = await callerTo(() => router.url, token)('POST', '/api/v1/nodes', nodeFacts('n1', key));
    const nodeToken = String(enrolled.body.nodeToken);
    expect(nodeToken).toMatch(/^berth_node_tok[0-9a-z]{26}us1_/);
    agent = new LiveAgent({ node: 'n1', key, token: nodeToken }, [router.url]);
    expect((await call('POST', DEPLOYMENTS, { name: 'web', image, replicas: 2 })).status).toBe(201);
    await eventually(
      'both run',
      async () => (await call('GET', `${DEPLOYMENTS}/web/instances`)).body as { state: string }[],
      (all) => all.length === 2 && all.every(({ state }) => state === 'running'),
    );
    const ran = await call('POST', `${DEPLOYMENTS}/web/exec`, { command: ['echo', 'through'] });
    expect(JSON.stringify(ran.body)).toContain('echo through');
    const environment = Object.fromEntries(
      Array.from({ length: 3 }, (_, at) => [`LONG_${at}`, 'x'.repeat(60_000)]),
    );
    const long = await call('PUT', `${DEPLOYMENTS}/web`, { environment });
    expect([200, 422], JSON.stringify(long.body)).toContain(long.status);
  });

  it('answers for a cell that is away, and for that one alone', async () => {
    const { plane } = stage('eu2');
    await plane.end('SIGKILL');
    const away = await eventually(
      'eu2 is away',
      () => stage('eu2').call('GET', DEPLOYMENTS),
      (answer) => answer.status === 503,
    );
    expect(away.body.code).toBe('cell_unavailable');
    expect(away.body.doc).toBe(`${router.url}/docs/errors/cell_unavailable`);
    expect(away.headers.get('retry-after')).toBe('1');
    for (const name of ['eu1', 'us1'] as const)
      expect((await stage(name).call('GET', DEPLOYMENTS)).status, name).toBe(200);
    expect((await fetch(`${router.url}/docs/errors/cell_unavailable`)).status).toBe(200);
    expect(agent?.sessions).toBe(1);
    const metrics = await (await fetch(`${router.statusUrl}/metrics`)).text();
    expect(metrics).toContain('haproxy_backend_http_responses_total{proxy="cell_eu1",code="2xx"}');
    await plane.start();
    await eventually(
      'eu2 is back',
      () => names(stage('eu2').call).catch((): readonly string[] => []),
      (seen) => seen.includes('only-eu2'),
    );
  });

  it('says that nobody knows whether a write was stored when its cell ends meanwhile', async () => {
    const { plane, token } = stage('eu2');
    plane.pause();
    const body = JSON.stringify({ name: 'half', image, replicas: 0 });
    // Over a connection of its own: where it was used before, HAProxy ends it, and the client knows as little.
    const asked = rawExchange(
      router.url,
      `POST ${DEPLOYMENTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      { limitMs: 30_000 },
    );
    await eventually(
      'the request is under way',
      async () =>
        (await (await fetch(`${router.statusUrl}/metrics`)).text()).match(
          /haproxy_backend_current_sessions\{proxy="cell_eu2"\} (\d+)/,
        )?.[1],
      (sessions) => Number(sessions) > 0,
    );
    await plane.end('SIGKILL');
    const answer = await asked;
    expect(answer.text).toMatch(/^HTTP\/1\.1 502 /);
    expect(answer.body['code']).toBe('cell_unavailable');
    expect(answer.body['why']).toContain('not known');
  });
});

describe('the guide', () => {
  it('describes cells as the command reads them', async () => {
    const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/cells.md'), 'utf8');
    const described = /```yaml\n(listen:[\s\S]*?)```/.exec(guide)?.[1] ?? '';
    const { parse } = await import('yaml');
    const { readCells } = await import('../../src/cli/cells/cells-file.ts');
    expect(readCells(parse(described)).cells.map(({ name }) => name)).toEqual(['eu1', 'eu2', 'us1']);
  });
});
