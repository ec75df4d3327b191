import { describe, expect, it } from 'vitest';
import { type IngressView, routeReport } from './route-report.ts';
import type { IngressRoute } from './route.ts';

const VIEW: IngressView = {
  nowMs: 0,
  caddyProblem: undefined,
  loaded: true,
  certificates: new Map(),
  certificateProblems: new Map(),
  portProblems: new Map(),
};
const FACTS = { issuer: 'An Authority', notAfter: '2030-01-01T00:00:00.000Z' };
const SECURE: IngressRoute = {
  deployment: 'web',
  protocol: 'http',
  host: 'a.example',
  address: '10.211.0.1',
  port: 80,
  tls: 'auto',
};
const PLAIN: IngressRoute = { ...SECURE, tls: 'off' };
const PORT: IngressRoute = {
  deployment: 'db',
  protocol: 'tcp',
  listen: 5432,
  address: '10.211.0.2',
  port: 5432,
  tls: 'off',
};
const refused = new Map([['a.example', 'rate limited']]);
const issued = new Map([['a.example', FACTS]]);

describe('what is reported of a route', () => {
  it.each<[string, IngressRoute, Partial<IngressView>, object]>([
    ['served without TLS', PLAIN, {}, { state: 'serving' }],
    ['not loaded yet', PLAIN, { loaded: false }, { state: 'waiting' }],
    ['no Caddy', PLAIN, { caddyProblem: 'missing' }, { state: 'failed', problem: 'missing' }],
    ['no certificate yet', SECURE, {}, { state: 'waiting' }],
    ['refused', SECURE, { certificateProblems: refused }, { state: 'failed', problem: 'rate limited' }],
    ['no room', SECURE, { diskProblem: 'full' }, { state: 'failed', problem: 'full' }],
    ['issued', SECURE, { certificates: issued }, { state: 'serving', certificate: FACTS }],
    [
      'renewal refused',
      SECURE,
      { certificates: issued, certificateProblems: refused },
      { state: 'serving', problem: 'rate limited', certificate: FACTS },
    ],
    [
      'ended',
      SECURE,
      { certificates: issued, nowMs: Date.parse(FACTS.notAfter) },
      {
        state: 'failed',
        problem: `its certificate was good until ${FACTS.notAfter}, by the clock of this node`,
        certificate: FACTS,
      },
    ],
    ['a problem of another kind of TLS', PLAIN, { certificateProblems: refused }, { state: 'serving' }],
  ])('%s', (_what, route, change, expected) => {
    expect(routeReport(route, { ...VIEW, ...change })).toEqual({
      deployment: 'web',
      host: 'a.example',
      ...expected,
    });
  });

  it('tells which port is in use', () => {
    const portProblems = new Map([['tcp/5432', 'in use']]);
    expect(routeReport(PORT, VIEW)).toEqual({ deployment: 'db', listen: 5432, state: 'serving' });
    expect(routeReport(PORT, { ...VIEW, portProblems })).toMatchObject({
      state: 'failed',
      problem: 'in use',
    });
  });
});
