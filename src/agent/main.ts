import { messageOf, parsedRecord } from '../core/model/values.ts';
import { FolderError } from '../shared/folders.ts';
import { type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from './agent.ts';
import { type AgentConfig, type JoinSource, readConfig } from './config.ts';
import { detectEngine } from './engine/detect.ts';
import { DockerEngine } from './engine/docker-engine.ts';
import type { Engine, EngineInfo } from './engine/engine.ts';
import { Egress } from './networks/egress.ts';
import { endIngress } from './ingress/ingress.ts';
import { MeshDevice } from './mesh/device.ts';
import { deviceName } from './mesh/machine.ts';
import { releaseVolumes } from './volumes/release.ts';
import { removeMesh } from './mesh/mesh.ts';
import { enrol } from './session/enrol.ts';
import { reach } from './session/reach.ts';
import { helpText } from './flags.ts';
import {
  type Identity,
  lockDataDir,
  prepareDataDir,
  readIdentity,
  readOrMakeKey,
  writeIdentity,
} from './session/identity.ts';
import { type Log, makeLog } from './log.ts';
import { nodeFacts, readyLine } from './session/node-facts.ts';
import { Pins } from './session/pins.ts';
import type { WayOut } from './session/proxy.ts';
import { readSavedSettings, writeSavedSettings } from './saved-settings.ts';
import { detectVolumeEngines } from './volumes/detect.ts';

const EXIT_REFUSED = 1;
const EXIT_DISMISSED = 2;
const ENGINE_RETRY_MS = 2_000;
/** A connection that does not close in this time is left to the kernel. */
const SHUTDOWN_MS = 1_500;

interface Found {
  readonly engine: Engine;
  readonly info: EngineInfo;
}

/** Ends the program with a message for the person who started it. */
class Refusal extends Error {}

async function main(): Promise<number> {
  const reading = readConfig(process.argv.slice(2), process.env, hostname(), readSavedSettings);
  switch (reading.kind) {
    case 'help':
      process.stdout.write(helpText());
      return 0;
    case 'version':
      process.stdout.write(`${version()}\n`);
      return 0;
    case 'problem':
      process.stderr.write(`berth agent: ${reading.message}\n`);
      return EXIT_REFUSED;
    case 'config':
      return await runAgent(reading.config);
  }
}

async function runAgent(config: AgentConfig): Promise<number> {
  const log = makeLog(config.logLevel, (line) => process.stdout.write(line));
  for (const warning of config.warnings) log.warn(warning);
  const way = wayOut(config);
  if (config.purpose === 'check') return await check(config, way);
  if (config.purpose === 'leave' && (await readIdentity(config.dataDir)) === undefined)
    throw new Refusal(`${config.dataDir} holds no identity of a node: there is nothing to leave`);
  await prepareDataDir(config.dataDir);
  if ((await lockDataDir(config.dataDir)) === undefined) {
    throw new Refusal(`another agent runs with ${config.dataDir}`);
  }
  if (config.purpose === 'leave') return await leave(config, log);
  if (config.purpose === 'repin') return await repin(config, way);
  const stored = await storedIdentity(config, log);
  // A machine that joins must have an engine; one that has joined waits for its engine to come up.
  const found = stored === undefined ? await findEngine(config) : await awaitEngine(config, log);
  const key = await readOrMakeKey(config.dataDir);
  const identity = stored ?? (await join(config, way, found, key));
  await writeSavedSettings(config.dataDir, config.saved);
  if (config.purpose === 'enrol') {
    if (stored !== undefined) await writeIdentity(config.dataDir, identity);
    const how = stored === undefined ? 'registered' : 'registered already';
    process.stdout.write(`node ${identity.nodeName} ${how}: ${identity.server}\n`);
    return 0;
  }
  if (config.recalled.length > 0)
    log.info('settings of an earlier start are used; an empty value takes one away, e.g. --label=', {
      settings: config.recalled.join(' '),
    });
  warnIfPlain(identity.server, log);

  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.once(name, () => {
      stop.abort();
      setTimeout(() => process.exit(0), SHUTDOWN_MS).unref();
    });
  }
  const keep = keeper(config.dataDir, identity);
  const tryToKeep = (changes: Partial<Identity>): void => {
    keep(changes).catch((error: unknown) =>
      log.warn('settings from the control plane could not be saved', { reason: messageOf(error) }),
    );
  };
  const volumeEngines = await detectVolumeEngines(log, config.volumeEngine);
  const agent = new Agent({
    ...found,
    dataDir: config.dataDir,
    volumeEngines,
    copyIntervalMs: config.copyIntervalMs,
    cleaning: config.cleaning,
    identity,
    way,
    key,
    labels: config.labels,
    bindRoots: config.bindRoots,
    hostPorts: config.hostPorts,
    egress: new Egress(config.metadataAllowed, log),
    ...(config.mesh && { mesh: config.mesh }),
    ...(config.ingress && { ingress: config.ingress }),
    version: version(),
    log,
    feed: log.feed,
    onServers: (learnedServers) => tryToKeep({ learnedServers }),
    onAnchors: (anchors) => tryToKeep({ anchors }),
    onCredential: (nodeToken, previousToken) => keep({ nodeToken, previousToken }),
    onRefused: rejoiner(config, way, identity, found, key, keep, log),
    onFirstWelcome: (facts) => {
      // A compiled program needs no compiler in memory: some 25 MiB. Written now, since a killed process writes nothing.
      flushCompileCache();
      process.stdout.write(`${readyLine(identity.nodeName, facts)}\n`);
    },
  });
  const farewell = await agent.run(stop.signal);
  if (farewell === undefined) return 0;
  process.stderr.write(
    `berth agent: dismissed by the control plane: ${farewell.code}: ${farewell.message}\nContainers are left running.\n`,
  );
  return EXIT_DISMISSED;
}

/** What a first start would stumble over, before a token is spent on it. */
async function check(config: AgentConfig, way: WayOut): Promise<number> {
  const stored = await readIdentity(config.dataDir);
  const servers = config.servers.length > 0 ? config.servers : stored === undefined ? [] : [stored.server];
  if (servers.length === 0) throw new Refusal('--check: not registered yet, so --server is needed');
  const { engine, info } = await findEngine(config);
  const folder = await mkdtemp(`${tmpdir()}/berth-trial-`);
  try {
    const problem = await engine.creationProblem({ name: `berth-trial-${config.name}`, folder });
    if (problem !== undefined) throw new Refusal(problem);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const pins = new Pins(config.caDigest ?? stored?.caDigest, stored?.anchors, way);
  for (const server of servers) {
    const reached = await reach(server, pins);
    if (!reached.ok) throw new Refusal(reached.problem);
    const skew = reached.skewMs === undefined ? '' : `, clocks ${Math.round(reached.skewMs / 1000)} s apart`;
    process.stdout.write(`${server} answers${skew}\n`);
  }
  process.stdout.write(`engine ${info.kind} ${info.version}\n`);
  return 0;
}

/** By hand, where the keys that the control plane announced ahead did not reach this machine. Nothing is kept that was not proven by a connection. */
async function repin({ dataDir, caDigest }: AgentConfig, way: WayOut): Promise<number> {
  const stored = await readIdentity(dataDir);
  if (stored === undefined)
    throw new Refusal(`${dataDir} holds no identity of a node: there is nothing to repin`);
  if (caDigest === undefined)
    throw new Refusal(
      'repin: --ca-digest sha256:… is needed; berth node token prints that of the control plane',
    );
  const { anchors: _forgotten, ...kept } = stored;
  const reached = await reach(stored.server, new Pins(caDigest, [], way));
  if (!reached.ok) throw new Refusal(`${reached.problem}\nNothing was changed.`);
  await writeIdentity(dataDir, { ...kept, caDigest });
  process.stdout.write(`node ${stored.nodeName} knows ${stored.server} by ${caDigest} from now on\n`);
  return 0;
}

function wayOut({ caFile, proxyFor }: AgentConfig): WayOut {
  if (caFile === undefined) return { ca: [], proxyFor };
  try {
    const ca =
      readFileSync(caFile, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    if (ca.length === 0) throw new Error('it has no certificate in PEM form');
    return { ca: ca.map((pem) => new X509Certificate(pem).toString()), proxyFor };
  } catch (error) {
    throw new Refusal(`--ca-file ${caFile}: ${messageOf(error)}`);
  }
}

/** Also of an agent that was killed. */
async function leave({ dataDir }: AgentConfig, log: Log): Promise<number> {
  const stored = await readIdentity(dataDir);
  await endIngress(dataDir, log);
  await releaseVolumes(dataDir, log);
  if (stored !== undefined) await removeMesh(new MeshDevice(deviceName(stored.nodeName, dataDir), 0), log);
  return 0;
}

/** Saves settings from the control plane for the next start: one write after the other. */
function keeper(dataDir: string, known: Identity): (changes: Partial<Identity>) => Promise<void> {
  let identity = known;
  let before = Promise.resolve();
  return (changes) => {
    identity = { ...identity, ...changes };
    const next = identity;
    const written = before.then(() => writeIdentity(dataDir, next));
    before = written.catch(() => undefined);
    return written;
  };
}

/** A join token that is not needed is left alone; when the stored credential has ended it is used, once, with the same key. */
function rejoiner(
  config: AgentConfig,
  way: WayOut,
  identity: Identity,
  found: Found,
  key: KeyObject,
  keep: (changes: Partial<Identity>) => Promise<void>,
  log: Log,
): () => Promise<string | undefined> {
  let source = config.join;
  return async () => {
    if (source === undefined) return undefined;
    const token = await joinToken(source);
    source = undefined;
    const enrolled = await enrol({
      servers: [identity.server, ...(identity.moreServers ?? [])],
      pins: new Pins(identity.caDigest, identity.anchors, way),
      joinToken: token,
      nodeName: identity.nodeName,
      key,
      facts: nodeFacts(found.info, config.labels, version()),
    });
    if (!enrolled.ok) {
      log.warn('could not join again', { reason: enrolled.problem });
      return undefined;
    }
    const { nodeToken } = enrolled.identity;
    await keep({ nodeToken });
    log.info('joined again with the same key', { node: identity.nodeName });
    return nodeToken;
  };
}

async function storedIdentity(config: AgentConfig, log: Log): Promise<Identity | undefined> {
  const stored = await readIdentity(config.dataDir);
  if (stored === undefined) return undefined;
  const [server = stored.server, ...moreServers] = config.servers;
  const { moreServers: before = [], learnedServers = [], anchors, ...kept } = stored;
  const moved = ![stored.server, ...before, ...learnedServers].includes(server);
  if (config.join !== undefined && moved) return undefined;
  if (config.nameGiven && config.name !== stored.nodeName) {
    throw new Refusal(
      `${config.dataDir} holds the identity of node ${stored.nodeName}, not of ${config.name}: use another --data-dir, or remove that one`,
    );
  }
  if (config.join !== undefined)
    log.info('already registered; the join token is used only if the credential has ended', {
      node: stored.nodeName,
    });
  if (moved) log.info('the control plane has another address than at the last start', { server });
  const caDigest = config.caDigest ?? stored.caDigest;
  return {
    ...kept,
    server,
    moreServers: config.servers.length === 0 ? before : moreServers,
    // What was learned from a control plane elsewhere does not count for this one.
    ...(moved ? {} : { learnedServers }),
    // Another digest than at the last start is a new beginning.
    ...(moved || anchors === undefined || caDigest !== stored.caDigest ? {} : { anchors }),
    ...(caDigest === undefined ? {} : { caDigest }),
  };
}

async function join(config: AgentConfig, way: WayOut, found: Found, key: KeyObject): Promise<Identity> {
  const [server, ...moreServers] = config.servers;
  if (server === undefined || config.join === undefined) {
    throw new Refusal('not registered yet: --server and a join token are needed; see berth agent --help');
  }
  const enrolled = await enrol({
    servers: [server, ...moreServers],
    pins: new Pins(config.caDigest, [], way),
    joinToken: await joinToken(config.join),
    nodeName: config.name,
    key,
    facts: nodeFacts(found.info, config.labels, version()),
  });
  if (!enrolled.ok) throw new Refusal(enrolled.problem);
  await writeIdentity(config.dataDir, enrolled.identity);
  return enrolled.identity;
}

async function joinToken(source: JoinSource): Promise<string> {
  if (source.kind === 'token') return source.token;
  try {
    const content = source.path === '-' ? await readText(process.stdin) : await readFile(source.path, 'utf8');
    return content.trim();
  } catch (error) {
    throw new Refusal(`--join-file ${source.path}: ${messageOf(error)}`);
  }
}

async function findEngine(config: AgentConfig): Promise<Found> {
  try {
    const { socketPath } = await detectEngine(config.engine);
    const engine = new DockerEngine(socketPath);
    return { engine, info: await engine.info() };
  } catch (error) {
    throw new Refusal(messageOf(error));
  }
}

async function awaitEngine(config: AgentConfig, log: Log): Promise<Found> {
  for (;;) {
    try {
      return await findEngine(config);
    } catch (error) {
      log.error('waiting for the container engine', { reason: messageOf(error) });
      await pause(ENGINE_RETRY_MS);
    }
  }
}

function warnIfPlain(server: string, log: Log): void {
  const { protocol, hostname: host } = new URL(server);
  if (protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(host)) {
    log.warn('the connection to the control plane is not encrypted', { server });
  }
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return String(parsedRecord(readFileSync(file, 'utf8'))['version']);
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`berth agent: ${messageOf(error)}\n`);
  const isDefect = !(error instanceof Refusal || error instanceof FolderError);
  if (isDefect && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
  process.exit(EXIT_REFUSED);
}
