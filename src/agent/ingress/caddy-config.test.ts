import { describe, expect, it } from 'vitest';
import { type CaddyInput, caddyConfig } from './caddy-config.ts';
import type { HttpRoute } from './route.ts';

const PLACE = { socket: '/d/admin.sock', storage: '/d/certificates', logs: '/d/logs', http: 80, https: 443 };
const ACME = { directory: 'https://acme.example/dir', email: 'ops@example.com' };

function route(change: Partial<HttpRoute> = {}): HttpRoute {
  const fixed = { deployment: 'web', protocol: 'http', host: 'a.example', address: '10.211.0.1', port: 80 };
  return { ...fixed, protocol: 'http', tls: 'off', ...change };
}

// oxlint-disable-next-line typescript/no-explicit-any
function config(routes: readonly HttpRoute[], change: Partial<CaddyInput> = {}): any {
  const input = { place: PLACE, routes, certificates: new Map(), ...change };
  return JSON.parse(JSON.stringify(caddyConfig(input)));
}

// oxlint-disable-next-line typescript/no-explicit-any
const ids = ({ routes }: any): readonly string[] => routes.flatMap((one: any) => one['@id'] ?? []);

describe('the configuration of Caddy', () => {
  it('is kept from disk, and listens for orders on its socket alone', () => {
    expect(config([]).admin).toEqual({
      listen: 'unix//d/admin.sock',
      origins: ['localhost'],
      config: { persist: false },
    });
    expect(config([]).apps).toEqual({});
  });

  it('leads a host and a path to the virtual address', () => {
    const [first, last] = config([route({ path: '/shop/', port: 8080 })]).apps.http.servers.http.routes;
    expect(first.match).toEqual([{ host: ['a.example'], path: ['/shop', '/shop/*'] }]);
    expect(first['@id']).toBe('web');
    const [reading, others] = first.handle[1].routes;
    expect(reading.match).toEqual([{ method: ['GET'] }]);
    expect(reading.handle[0].upstreams).toEqual([{ dial: '10.211.0.1:8080' }]);
    expect(reading.handle[0].transport.keep_alive.idle_timeout).toBe('1s');
    expect(others.handle[0].upstreams).toEqual([{ dial: '10.211.0.1:8080' }]);
    expect(others.handle[0].transport.keep_alive).toEqual({ enabled: false });
    expect(last.handle[0].status_code).toBe(404);
  });

  it('tries the longest path of a host first, whatever the order of deployments', () => {
    const routes = [
      route({ deployment: 'all' }),
      route({ deployment: 'api', path: '/api' }),
      route({ deployment: 'old', path: '/api/v1' }),
    ];
    const one = config(routes).apps.http.servers.http;
    expect(ids(one)).toEqual(['old', 'api', 'all']);
    expect(config(routes.toReversed()).apps.http.servers.http).toEqual(one);
  });

  it('names further routes of a deployment after it', () => {
    const { http } = config([route(), route({ host: 'b.example' })]).apps.http.servers;
    expect(ids(http)).toEqual(['web', 'web~2']);
  });

  it('redirects to HTTPS, but not what is served without', () => {
    const routes = [route({ tls: 'auto' }), route({ path: '/plain', deployment: 'plain' })];
    const { http, https } = config(routes, { issuing: ACME }).apps.http.servers;
    expect(ids(http)).toEqual(['plain']);
    expect(http.routes[1].handle[0]).toMatchObject({
      status_code: 308,
      headers: { Location: ['https://{http.request.host}{http.request.uri}'] },
    });
    expect(ids(https)).toEqual(['web']);
    expect(https.tls_connection_policies).toEqual([{}]);
  });

  it('names another port in redirects', () => {
    const place = { ...PLACE, https: 8443 };
    const { http } = config([route({ tls: 'auto' })], { place }).apps.http.servers;
    expect(http.routes[0].handle[0].headers.Location[0]).toContain('{http.request.host}:8443{');
  });

  it('asks for certificates where it issues them', () => {
    const routes = [route({ tls: 'auto' }), route({ tls: 'auto', path: '/x' })];
    const { tls } = config(routes, { issuing: { ...ACME, caFile: '/d/ca.pem' } }).apps;
    expect(tls.certificates).toEqual({ load_pem: [], automate: ['a.example'] });
    expect(tls.automation.policies).toEqual([
      {
        subjects: ['a.example'],
        issuers: [
          {
            module: 'acme',
            ca: ACME.directory,
            email: ACME.email,
            trusted_roots_pem_files: ['/d/ca.pem'],
            challenges: { http: { alternate_port: 80 }, 'tls-alpn': { disabled: true } },
          },
        ],
      },
    ]);
  });

  it('passes on what an authority asks where another node issues', () => {
    const certificates = new Map([['a.example', { certificate: 'C', key: 'K' }]]);
    const { apps } = config([route({ tls: 'auto' })], { certificates, challengesTo: '10.210.0.1:80' });
    const [challenge] = apps.http.servers.http.routes;
    expect(challenge.match).toEqual([{ host: ['a.example'], path: ['/.well-known/acme-challenge/*'] }]);
    expect(challenge.handle[0].upstreams).toEqual([{ dial: '10.210.0.1:80' }]);
    expect(apps.tls).toEqual({
      certificates: { load_pem: [{ certificate: 'C', key: 'K', tags: ['a.example'] }] },
    });
  });

  it('gives certificates of secrets with the configuration, and only of hosts that are served', () => {
    const pem = { certificate: 'C', key: 'K' };
    const certificates = new Map([
      ['a.example', pem],
      ['gone.example', pem],
    ]);
    const { tls } = config([route({ tls: 'secret' })], { certificates, issuing: ACME }).apps;
    expect(tls).toEqual({ certificates: { load_pem: [{ ...pem, tags: ['a.example'] }] } });
  });

  it.each(['localhost', 'shop.localhost', 'shop.internal', '192.0.2.7'])(
    'keeps an authority of its own away from the machine: %s',
    (host) => {
      const { pki } = config([route({ tls: 'auto', host })], { issuing: ACME }).apps;
      expect(pki.certificate_authorities.local.install_trust).toBe(false);
    },
  );
});
