import { mkdir, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import type { NodeIngress } from '../../core/model/ingress.ts';
import { addressAt, parseCidr } from '../../core/model/ipv4.ts';
import { Once } from '../../core/model/once.ts';
import type { AgentMessage, IngressMaterial, MeshMap } from '../../core/protocol/agent-protocol.ts';
import { type Log } from '../log.ts';
import { AccessCounts } from './access-counts.ts';
import { Caddy } from './caddy.ts';
import { type CaddyInput, type CaddyPlace, caddyConfig } from './caddy-config.ts';
import { CaddyKeeper } from './caddy-keeper.ts';
import { CertificateFiles, directoryId } from './certificate-files.ts';
import { CertificateNews } from './certificate-news.ts';
import type { CertificateFacts } from './certificates.ts';
import { HostCertificates } from './host-certificates.ts';
import { MaterialQuestions } from './ingress-material.ts';
import { Revocations } from './revocations.ts';
import { RuleSet } from '../mesh/rule-set.ts';
import { Layer4, LAYER4_TABLES } from './layer4.ts';
import { routeReport } from './route-report.ts';
import { type HttpRoute, isHttp, type RouteReport, type RouteTraffic } from './route.ts';

/** Caddy's end is seen within this time, and a certificate that is awaited. */
const LOOK_MS = 500;
/** Requests are counted so often. */
const COUNT_MS = 2_000;
/** What others change on the machine is set right again so often. */
const REPAIR_MS = 10_000;
/** Of certificates, locks and logs. */
const NEEDED_BYTES = 256 * 1024;

export interface IngressOptions {
  readonly node: string;
  readonly dataDir: string;
  readonly http: number;
  readonly https: number;
  /** Ports that workloads may name; absent: all. */
  readonly hostPorts: readonly string[] | undefined;
  readonly send: (message: AgentMessage) => boolean;
  /** What is reported of it has changed. */
  readonly onChange: () => void;
  readonly log: Log;
}

/** Of the certificate that was revoked; empty: another node issues. */
export type RevokedCertificate = Partial<CertificateFacts>;

/**
 * The tenant's way in through this machine. Level-triggered: every round compares what the map says with Caddy and with the rules of nftables,
 * and sets right what differs. Both outlive the agent.
 */
export class Ingress {
  readonly #options: IngressOptions;
  readonly #folder: string;
  readonly #questions: MaterialQuestions;
  readonly #given: HostCertificates;
  readonly #keeper: CaddyKeeper;
  readonly #layer4: Layer4;
  readonly #news: CertificateNews;
  readonly #counts: AccessCounts;
  readonly #revocations = new Revocations();
  #map: MeshMap | undefined;
  readonly #beganMs = performance.now();
  #facts: NodeIngress | undefined;
  #factsMs = -Infinity;
  #files: { readonly directory: string; readonly files: CertificateFiles } | undefined;
  #fileProblem: string | undefined;
  #reports: readonly RouteReport[] | undefined;
  #timers: readonly NodeJS.Timeout[] = [];
  readonly #rounds = new Once<'all'>(() => this.#round(), {
    onFault: (fault) =>
      this.#options.log.warn('the ingress could not be set up', { reason: messageOf(fault) }),
  });

  readonly #counting = new Once<'all'>(() => this.#counts.look((this.#map?.ingress ?? []).filter(isHttp)), {
    onFault: (fault) =>
      this.#options.log.debug('requests could not be counted', { reason: messageOf(fault) }),
  });

  constructor(options: IngressOptions) {
    this.#options = options;
    this.#folder = ingressFolder(options.dataDir);
    this.#questions = new MaterialQuestions(options.send);
    this.#given = new HostCertificates(this.#questions);
    this.#keeper = new CaddyKeeper(this.#folder, options.log, () => this.#tell());
    this.#layer4 = new Layer4(options.hostPorts);
    this.#counts = new AccessCounts(join(this.#folder, 'logs', 'access.log'));
    this.#news = new CertificateNews(join(this.#folder, 'logs', 'caddy.log'));
  }

  /** For `hello`. */
  async facts(): Promise<NodeIngress> {
    const { http, https } = this.#options;
    this.#facts = { http, https, ...(await this.#keeper.version()) };
    return this.#facts;
  }

  /** As they were last found. */
  get lastFacts(): NodeIngress | undefined {
    return this.#facts;
  }

  /** Undefined: nothing is known yet, and what was said before holds. */
  routes(): readonly RouteReport[] | undefined {
    return this.#reports;
  }

  /** Since it was last asked for. */
  traffic(): readonly RouteTraffic[] {
    return this.#counts.take();
  }

  begin(): void {
    if (this.#timers.length > 0) return;
    const look = setInterval(() => void this.#look(), LOOK_MS).unref();
    const repair = setInterval(() => this.#rounds.ask('all'), REPAIR_MS).unref();
    const count = setInterval(() => this.#counting.ask('all'), COUNT_MS).unref();
    this.#timers = [look, repair, count];
  }

  take(map: MeshMap): void {
    this.#map = map;
    this.#rounds.ask('all');
  }

  answer(material: IngressMaterial): void {
    this.#questions.answer(material);
  }

  /**
   * The node that issued it has it revoked by the authority; the others look for the next one. Caddy has it with another key.
   * Throws with why not.
   */
  async revoke(host: string): Promise<RevokedCertificate> {
    const map = this.#map;
    const isAutomatic = map?.ingress?.some((route) => route.host === host && route.tls === 'auto') === true;
    const files = map && this.#filesOf(map);
    if (!isAutomatic || map.acme === undefined || files === undefined)
      throw new Error('this node serves no certificate of an authority for it');
    const isIssuer = this.#issuerOf(map) === this.#options.node;
    if (!isIssuer) this.#given.revoked(host);
    const facts = isIssuer ? await this.#revocations.revoke(host, files, map.acme) : undefined;
    this.#rounds.ask('all');
    return { ...facts };
  }

  /** The session has ended; what is served stays. */
  lost(): void {
    this.#questions.lost();
  }

  end(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    this.#questions.lost();
  }

  async #look(): Promise<void> {
    const awaited = this.#reports?.some(({ state }) => state === 'waiting') ?? this.#map !== undefined;
    if (awaited || (await this.#keeper.isDue(this.#place()))) this.#rounds.ask('all');
  }

  async #round(): Promise<void> {
    const map = this.#map;
    if (map === undefined) return;
    const http = (map.ingress ?? []).filter(isHttp);
    const { withheld } = this.#revocations;
    await this.#keeper.ensure(this.#place(), http.length > 0, (taken) =>
      this.#configure(map, http, { taken, withheld }),
    );
    if (this.#keeper.problem === undefined && this.#revocations.loaded(withheld)) this.#rounds.ask('all');
    await this.#layer4.ensure(map, gatewayOf(map, this.#options.node));
    await this.#lookAtCaddy();
    await this.#tell();
  }

  /** A Caddy that was missing may be there now, or the other way round. */
  async #lookAtCaddy(): Promise<void> {
    const isOdd = this.#facts?.problem !== undefined || this.#keeper.problem !== undefined;
    if (!isOdd || performance.now() - this.#factsMs < REPAIR_MS) return;
    this.#factsMs = performance.now();
    const before = JSON.stringify(this.#facts);
    if (JSON.stringify(await this.facts()) !== before) this.#options.onChange();
  }

  /** The first of the tenant's ingress nodes. */
  #issuerOf({ ingressNodes: [first = this.#options.node] = [] }: MeshMap): string {
    return first;
  }

  async #configure(
    map: MeshMap,
    http: readonly HttpRoute[],
    { taken, withheld }: { readonly taken: boolean; readonly withheld: ReadonlySet<string> },
  ): Promise<string | undefined> {
    const { node, http: port } = this.#options;
    const issuer = this.#issuerOf(map);
    const issues = issuer === node;
    const files = this.#filesOf(map);
    await this.#given.ensure(http, issues ? undefined : files);
    // It serves what this agent does not know yet: nothing is taken from it.
    if (taken && !this.#given.isKnown(performance.now() - this.#beganMs)) return undefined;
    if (issues && files !== undefined) await this.#exchange(files, http);
    await this.#revocations
      .settle(issues ? automaticHosts(http) : new Set(), files, map.acme)
      .catch((error: unknown) =>
        this.#options.log.warn('a certificate is not revoked yet', { reason: messageOf(error) }),
      );
    const gateway = issues ? undefined : gatewayOf(map, issuer);
    const config = caddyConfig({
      place: this.#place(),
      routes: http,
      certificates: new Map([...this.#given.pems, ...this.#revocations.pems]),
      withheld,
      ...(issues && map.acme !== undefined && { issuing: await this.#issuing(map.acme) }),
      ...(gateway !== undefined && { challengesTo: `${gateway}:${port}` }),
    });
    return JSON.stringify(config);
  }

  #filesOf({ acme }: MeshMap): CertificateFiles | undefined {
    if (acme === undefined) return undefined;
    if (this.#files?.directory !== acme.directory)
      this.#files = {
        directory: acme.directory,
        files: new CertificateFiles(this.#place().storage, acme.directory, this.#questions),
      };
    return this.#files.files;
  }

  async #exchange(files: CertificateFiles, http: readonly HttpRoute[]): Promise<void> {
    const hosts = automaticHosts(http);
    if (hosts.size === 0) return;
    const problem = await files.exchange([...hosts]).then(
      () => undefined,
      (error: unknown) => messageOf(error),
    );
    if (problem !== undefined && problem !== this.#fileProblem)
      this.#options.log.warn('certificates are not shared with other ingress nodes', { reason: problem });
    this.#fileProblem = problem;
  }

  async #issuing(acme: NonNullable<MeshMap['acme']>): Promise<NonNullable<CaddyInput['issuing']>> {
    if (acme.caPem === undefined) return acme;
    const caFile = join(this.#folder, 'acme-ca.pem');
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(caFile, acme.caPem, { mode: 0o600 });
    return { ...acme, caFile };
  }

  async #tell(): Promise<void> {
    const map = this.#map;
    if (map === undefined || this.#keeper.taken) return;
    const routes = map.ingress ?? [];
    const { certificates, problems, isNew } = await this.#news.read(
      routes.filter(isHttp),
      this.#given,
      this.#filesOf(map),
    );
    // It came after this round's exchange: the other nodes have it now, not after the next repair.
    if (isNew) this.#rounds.ask('all');
    const view = {
      nowMs: Date.now(),
      caddyProblem: this.#keeper.problem,
      loaded: this.#keeper.loaded,
      certificates,
      certificateProblems: problems,
      diskProblem: await fullDisk(this.#place().storage),
      portProblems: this.#layer4.problems,
    };
    const reports = routes.map((route) => routeReport(route, view));
    if (JSON.stringify(reports) === JSON.stringify(this.#reports)) return;
    this.#reports = reports;
    this.#options.onChange();
  }

  #place(): CaddyPlace {
    const { http, https } = this.#options;
    const directory = this.#map?.acme?.directory ?? '';
    const storage = join(this.#folder, 'certificates', directoryId(directory));
    return { ...folders(this.#folder), storage, http, https };
  }
}

/** Caddy can neither keep a certificate then nor say so in its log. */
async function fullDisk(folder: string): Promise<string | undefined> {
  const { bavail, bsize } = await statfs(folder).catch(() => ({ bavail: Infinity, bsize: 1 }));
  return bavail * bsize < NEEDED_BYTES
    ? `the disk of ${folder} is full, so that no certificate can be kept: make room on it`
    : undefined;
}

function automaticHosts(http: readonly HttpRoute[]): ReadonlySet<string> {
  return new Set(http.flatMap(({ tls, host }) => (tls === 'auto' ? [host] : [])));
}

function ingressFolder(dataDir: string): string {
  return join(dataDir, 'ingress');
}

function folders(folder: string): Pick<CaddyPlace, 'socket' | 'logs'> {
  return { socket: join(folder, 'admin.sock'), logs: join(folder, 'logs') };
}

/** The address of a node within the tenant's network. */
function gatewayOf({ nodes }: MeshMap, node: string): string | undefined {
  const network = parseCidr(nodes.find(({ name }) => name === node)?.subnet ?? '');
  return network && addressAt(network, 1);
}

/** An agent that serves no ingress any more ends what an earlier start of it has left. */
export async function endIngress(dataDir: string, log: Log): Promise<void> {
  const folder = ingressFolder(dataDir);
  const caddy = new Caddy('', folder, { ...folders(folder), storage: folder, http: 80, https: 443 });
  if (!(await caddy.isUp())) return;
  log.info('this node serves no ingress any more: Caddy is ended');
  await caddy
    .stop()
    .catch((error: unknown) => log.warn('Caddy could not be ended', { reason: messageOf(error) }));
  await new RuleSet(LAYER4_TABLES).remove();
}
