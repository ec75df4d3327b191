import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caddy } from '../src/agent/ingress/caddy.ts';
import { type CaddyPlace, caddyConfig } from '../src/agent/ingress/caddy-config.ts';
import { selfSigned } from '../test/support/harness/certificates.ts';
import { ensurePackages } from '../test/support/harness/packages.ts';
import { inTurns, median, overStarts } from './support/turns.ts';

/**
 * Requests and connections through Caddy as the agent configures it, against Caddy with a configuration of a few lines, both with the same
 * certificate and the same instance behind them, in turns within one run. Both are started several times: the median of the starts counts.
 *   node bench/ingress.ts [seconds per measurement] [starts]
 */
const SECONDS = Number(process.argv[2] ?? 2);
const STARTS = Number(process.argv[3] ?? 5);
const ROUNDS = 4;
const CONNECTIONS = 16;
const HOST = 'shop.example.com';
const INSTANCE = 18_190;
const BARE = 18_543;

ensurePackages(['caddy']);
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-ingress-'));
const pair = selfSigned([`DNS:${HOST}`]);

const body = 'x'.repeat(512);
const instance = startCaddy(
  'instance',
  `{
  admin off
}
http://127.0.0.1:${INSTANCE} {
  respond "${body}" 200
}
`,
);

async function startIngress(): Promise<{ readonly caddy: Caddy; readonly port: number }> {
  const place: CaddyPlace = {
    socket: join(folder, 'admin.sock'),
    storage: join(folder, 'storage'),
    logs: join(folder, 'logs'),
    http: 18_180,
    https: 18_443,
  };
  const caddy = new Caddy('/usr/bin/caddy', folder, place);
  await caddy.start();
  const route = {
    deployment: 'web',
    protocol: 'http',
    host: HOST,
    address: '127.0.0.1',
    port: INSTANCE,
    tls: 'secret',
  } as const;
  const certificates = new Map([[HOST, { certificate: pair.cert, key: pair.key }]]);
  await caddy.load(JSON.stringify(caddyConfig({ place, routes: [route], certificates })));
  return { caddy, port: place.https };
}

/** As somebody would write it who needs nothing but this. */
function startBare(): ChildProcess {
  const [cert = '', key = ''] = ['cert.pem', 'key.pem'].map((name) => join(folder, name));
  writeFileSync(cert, pair.cert);
  writeFileSync(key, pair.key);
  return startCaddy(
    'bare',
    `{
  admin off
  auto_https disable_redirects
}
https://${HOST}:${BARE} {
  tls ${cert} ${key}
  log {
    output file ${join(folder, 'bare.log')}
  }
  reverse_proxy 127.0.0.1:${INSTANCE}
}
`,
  );
}

function startCaddy(name: string, caddyfile: string): ChildProcess {
  const file = join(folder, name);
  writeFileSync(file, caddyfile);
  return spawn('/usr/bin/caddy', ['run', '--adapter', 'caddyfile', '--config', file], {
    stdio: 'ignore',
    env: { HOME: folder, PATH: '/usr/bin:/bin' },
  });
}

function ask(port: number, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      servername: HOST,
      headers: { host: `${HOST}:${port}` },
      agent,
      ca: pair.cert,
    };
    get(options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`answered ${response.statusCode}`));
      response.resume().on('end', resolve);
    }).on('error', reject);
  });
}

/** With `kept`, one connection for many requests; else one for each, from its first packet on. */
async function perSecond(port: number, kept: boolean): Promise<number> {
  const agent = new Agent({ keepAlive: kept, maxSockets: CONNECTIONS, maxCachedSessions: kept ? 100 : 0 });
  const endMs = performance.now() + SECONDS * 1000;
  let done = 0;
  const asking = async (): Promise<void> => {
    while (performance.now() < endMs) {
      await ask(port, agent);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, asking));
  agent.destroy();
  return done / SECONDS;
}

async function answers(port: number): Promise<void> {
  const agent = new Agent();
  for (let tries = 0; ; tries += 1) {
    const problem = await ask(port, agent).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (problem === undefined) return;
    if (tries > 100) throw problem;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function oneStart(): Promise<ReadonlyMap<string, readonly (readonly number[])[]>> {
  const bare = startBare();
  const { caddy, port } = await startIngress();
  try {
    await Promise.all([answers(BARE), answers(port)]);
    const compare = (kept: boolean): Promise<readonly (readonly number[])[]> =>
      inTurns(
        ROUNDS,
        [BARE, port].map((at) => () => perSecond(at, kept)),
      );
    return new Map([
      ['connection set-up', await compare(false)],
      ['requests', await compare(true)],
    ]);
  } finally {
    const gone = once(bare, 'exit');
    bare.kill('SIGKILL');
    await Promise.all([gone, caddy.stop()]);
  }
}

try {
  for (const [what, starts] of await overStarts(STARTS, oneStart)) {
    const of = (side: number): number => median(starts.flatMap((sides) => sides[side] ?? []));
    const ratios = starts.map(([theirs = [], ours = []]) =>
      median(ours.map((one, at) => one / (theirs[at] ?? one))),
    );
    process.stdout.write(
      `${what.padEnd(18)} ingress ${Math.round(of(1))}/s  bare Caddy ${Math.round(of(0))}/s  ${median(ratios).toFixed(2)} of the bare one (by start ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')})\n`,
    );
  }
} finally {
  instance.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
