import type { HttpRoute, IngressAcme, Pem } from './route.ts';

/** Where Caddy keeps what, and on which ports it listens. */
export interface CaddyPlace {
  readonly socket: string;
  /** Of files about certificates. */
  readonly storage: string;
  readonly logs: string;
  readonly http: number;
  readonly https: number;
}

export interface CaddyInput {
  readonly place: CaddyPlace;
  readonly routes: readonly HttpRoute[];
  /** By host: from a secret, issued by another node, or revoked and served until there is another. */
  readonly certificates: ReadonlyMap<string, Pem>;
  /** Present: this node asks for certificates. `caFile`: what its connection has to lead to. */
  readonly issuing?: IngressAcme & { readonly caFile?: string };
  /** Hosts that it asks for none now. */
  readonly withheld?: ReadonlySet<string>;
  /** Another node does: where it answers to the authority. */
  readonly challengesTo?: string;
}

type Json = Readonly<Record<string, unknown>>;

const CHALLENGES = '/.well-known/acme-challenge/*';
const MAX_BODY_BYTES = 1024 ** 3;
const MAX_IDLE = 32;
/** What Caddy tries again of its own. */
const READING = ['GET'];
const MAX_HEADER_BYTES = 64 * 1024;
/** For such names Caddy has an authority of its own at hand, and would put it among those that the machine trusts. */
const INWARD = /^[^.]{0,253}$|\.(?:localhost|local|internal|arpa)$|^[0-9.]{7,15}$/;
const UNKNOWN_HOST = 'No deployment answers to this host and path.\n';

/**
 * Everything that Caddy is told, as it takes it. Instances are not in it: they come and go behind the virtual address. So the same hosts,
 * paths and certificates give the same text, and nothing is loaded.
 */
export function caddyConfig(input: CaddyInput): Json {
  const { place, routes } = input;
  const served = [...routes].toSorted(byPrecedence);
  const secured = served.filter(({ tls }) => tls !== 'off');
  const ids = new Set<string>();
  const plain = [
    ...challengeRoutes(input, secured),
    ...served.map((route) => (route.tls === 'off' ? proxyRoute(route, ids) : redirect(route, place.https))),
  ];
  return {
    ...baseConfig(place),
    apps: {
      ...(served.length > 0 && {
        http: {
          http_port: place.http,
          https_port: place.https,
          grace_period: '10s',
          servers: {
            http: server(place.http, plain),
            ...(secured.length > 0 && {
              https: {
                ...server(
                  place.https,
                  secured.map((route) => proxyRoute(route, ids)),
                ),
                tls_connection_policies: [{}],
              },
            }),
          },
        },
      }),
      ...(secured.length > 0 && { tls: tlsApp(input, secured) }),
      ...(automatic(secured).some((host) => INWARD.test(host)) && {
        pki: { certificate_authorities: { local: { install_trust: false } } },
      }),
    },
  };
}

/** What it is started with. The rest is sent: keys of certificates are on no disk but those of ACME. */
export function baseConfig({ socket, storage, logs }: CaddyPlace): Json {
  const file = (name: string, megabytes: number, keep: number): Json => ({
    output: 'file',
    filename: `${logs}/${name}`,
    roll_size_mb: megabytes,
    roll_keep: keep,
  });
  return {
    admin: { listen: `unix/${socket}`, origins: ['localhost'], config: { persist: false } },
    storage: { module: 'file_system', root: storage },
    logging: {
      logs: {
        default: { writer: file('caddy.log', 8, 3), level: 'WARN', exclude: ['http.log.access'] },
        access: { writer: file('access.log', 64, 8), include: ['http.log.access'] },
      },
    },
  };
}

/** Of a host, the longest path first. */
function byPrecedence(one: HttpRoute, other: HttpRoute): number {
  const key = ({ host, path = '/', deployment }: HttpRoute): string =>
    [host, String(10_000 - path.length).padStart(5, '0'), path, deployment].join('\0');
  const [a, b] = [key(one), key(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

function server(port: number, routes: readonly Json[]): Json {
  return {
    listen: [`:${port}`],
    protocols: ['h1', 'h2'],
    // Which certificates there are, and what is redirected, is said below, host by host.
    automatic_https: { disable: true },
    read_header_timeout: '10s',
    idle_timeout: '2m',
    max_header_bytes: MAX_HEADER_BYTES,
    logs: {},
    routes: [...routes, { handle: [{ handler: 'static_response', status_code: 404, body: UNKNOWN_HOST }] }],
  };
}

/**
 * Connections to instances are kept for reading requests. They are shorter idle than an instance goes on after it has left the network, and one
 * that was never idle and breaks is tried again. Another request cannot be tried again: it has a connection of its own, which leads
 * to no instance that has left.
 */
function proxyRoute(route: HttpRoute, ids: Set<string>): Json {
  const kept = { idle_timeout: '1s', probe_interval: '30s', max_idle_conns_per_host: MAX_IDLE };
  return {
    '@id': freeId(route.deployment, ids),
    match: [matcher(route)],
    handle: [
      { handler: 'request_body', max_size: MAX_BODY_BYTES },
      {
        handler: 'subroute',
        routes: [
          { match: [{ method: READING }], handle: [proxy(route, kept)], terminal: true },
          { handle: [proxy(route, { enabled: false })] },
        ],
      },
    ],
    terminal: true,
  };
}

function proxy({ address, port }: HttpRoute, keepAlive: Json): Json {
  return {
    handler: 'reverse_proxy',
    upstreams: [{ dial: `${address}:${port}` }],
    // While instances change: whatever could not connect, and reading requests whose connection broke, are tried again.
    load_balancing: { try_duration: '5s', try_interval: '100ms' },
    // What an instance writes is with the client by then; streams of events at once.
    flush_interval: '20ms',
    // Well within the time for tries: the kernel keeps to what it did with the first packet of a connection, another one may get through.
    transport: { protocol: 'http', dial_timeout: '2s', response_header_timeout: '2m', keep_alive: keepAlive },
  };
}

/** The deployment's name; no name has a `~`. */
function freeId(deployment: string, ids: Set<string>): string {
  let id = deployment;
  for (let count = 2; ids.has(id); count += 1) id = `${deployment}~${count}`;
  ids.add(id);
  return id;
}

function matcher({ host, path = '/' }: HttpRoute): Json {
  const prefix = path.endsWith('/') ? path.slice(0, -1) : path;
  return {
    host: [host],
    ...(prefix !== '' && { path: [prefix, `${prefix}/*`] }),
  };
}

function redirect(route: HttpRoute, https: number): Json {
  const port = https === 443 ? '' : `:${https}`;
  const location = `https://{http.request.host}${port}{http.request.uri}`;
  return {
    match: [matcher(route)],
    handle: [{ handler: 'static_response', status_code: 308, headers: { Location: [location] } }],
    terminal: true,
  };
}

function challengeRoutes({ challengesTo }: CaddyInput, secured: readonly HttpRoute[]): readonly Json[] {
  const host = automatic(secured);
  if (challengesTo === undefined || host.length === 0) return [];
  return [
    {
      match: [{ host, path: [CHALLENGES] }],
      handle: [{ handler: 'reverse_proxy', upstreams: [{ dial: challengesTo }] }],
      terminal: true,
    },
  ];
}

function tlsApp({ certificates, issuing, withheld, place }: CaddyInput, secured: readonly HttpRoute[]): Json {
  const hosts = new Set(secured.map(({ host }) => host));
  const loaded = [...certificates]
    .filter(([host]) => hosts.has(host))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const subjects =
    issuing === undefined ? [] : automatic(secured).filter((host) => withheld?.has(host) !== true);
  return {
    certificates: {
      load_pem: loaded.map(([host, { certificate, key }]) => ({ certificate, key, tags: [host] })),
      ...(subjects.length > 0 && { automate: subjects }),
    },
    ...(issuing !== undefined &&
      subjects.length > 0 && {
        automation: {
          policies: [{ subjects, issuers: [issuer(issuing, place.http)] }],
          renew_interval: '5s',
        },
      }),
  };
}

function automatic(secured: readonly HttpRoute[]): readonly string[] {
  return [...new Set(secured.flatMap(({ tls, host }) => (tls === 'auto' ? [host] : [])))].toSorted();
}

/** By the plain port alone: it is the one that other ingress nodes pass on. */
function issuer({ directory, email, caFile }: NonNullable<CaddyInput['issuing']>, http: number): Json {
  return {
    module: 'acme',
    ca: directory,
    ...(email !== undefined && { email }),
    ...(caFile !== undefined && { trusted_roots_pem_files: [caFile] }),
    challenges: { http: { alternate_port: http }, 'tls-alpn': { disabled: true } },
  };
}
