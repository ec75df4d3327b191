import { DEFAULT_PREFIXES } from '../../../src/core/model/mesh.ts';
import { PLATFORM_CONTAINER_DEFAULTS } from '../../../src/core/model/container-defaults.ts';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { NodeName, TenantId, TokenId } from '../../../src/core/model/ids.ts';
import { DEFAULT_SECRET_POLICY } from '../../../src/core/model/secret-limits.ts';
import type { Tenant, TokenRecord } from '../../../src/core/model/tenant.ts';
import { DEFAULT_REGIONS } from '../../../src/core/scheduler/regions.ts';
import { type AccessDependencies, ProvenTokens } from '../../../src/server/access/authenticate.ts';
import { hashSecret, mintToken } from '../../../src/server/access/token.ts';
import { type Admission, specHash } from '../../../src/server/writes/admission.ts';
import { TenantEraser } from '../../../src/server/writes/tenants/erase-tenants.ts';
import { createApp } from '../../../src/server/api/app.ts';
import type { Route } from '../../../src/server/api/route.ts';
import { EventFeeds } from '../../../src/server/api/event-feed.ts';
import { apiRoutes } from '../../../src/server/api/routes/index.ts';
import { type Controllers, createControllers } from '../../../src/server/reconcile/index.ts';
import { FakeTime } from '../simulation/controllers.ts';
import { parseSchedule } from '../../../src/server/cron.ts';
import type { Dispatch } from '../../../src/server/agents/dispatch.ts';
import { PlacedInstances } from '../../../src/server/agents/assignments/placed-instances.ts';
import { PlacedVolumes } from '../../../src/server/agents/assignments/placed-volumes.ts';
import { Reports } from '../../../src/server/agents/reports/reports.ts';
import { MaterialResolver } from '../../../src/server/agents/assignments/material-resolver.ts';
import { VolumeReports } from '../../../src/server/agents/volumes/volume-reports.ts';
import { Journal } from '../../../src/server/journal/journal.ts';
import { TenantClusters } from '../../../src/server/placement/tenant-clusters.ts';
import { createRegistryCredentials } from '../../../src/server/registry/credentials.ts';
import { rootKeyFrom } from '../../../src/server/secrets/embedded/root-keys.ts';
import { createEmbeddedSecrets } from '../../../src/server/secrets/embedded/store.ts';
import type { SecretsStore } from '../../../src/server/secrets/port.ts';
import { credentialOf, CredentialWrites } from '../../../src/server/secrets/credential-writes.ts';
import { SecretReferences } from '../../../src/server/secrets/references.ts';
import type { Kv } from '../../../src/server/store/kv.ts';
import { createMemoryKv } from '../../../src/server/store/memory.ts';
import { Store } from '../../../src/server/store/store.ts';
import { Transaction } from '../../../src/server/store/transaction.ts';
import { StateTallies } from '../../../src/server/figures/state-tallies.ts';
import { tenantStanding } from '../../../src/server/figures/tenant-standing.ts';
import { StoreView } from '../../../src/server/store/view.ts';
import { countingIds } from '../simulation/world.ts';

/** The control plane's own machine: a node of this name is no candidate for anybody but the platform. */
export const CONTROL_PLANE_NODE = 'control-plane';

/** What can be replaced by something that is wrong; the product has no switch for it. */
export interface Parts {
  readonly secrets: (store: SecretsStore) => SecretsStore;
  readonly kv: (kv: Kv) => Kv;
}

export const SOUND: Parts = { secrets: (store) => store, kv: (kv) => kv };

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface PlaneTenant {
  readonly id: TenantId;
  readonly slug: string;
  readonly token: string;
}

const SILENT = new Proxy({}, { get: () => () => undefined }) as Logger;
const TOKEN_KEY = Buffer.alloc(32, 7);
const ROOT_KEY = rootKeyFrom(Buffer.alloc(32, 9));
const CREATED_AT = '2026-01-01T00:00:00.000Z';
/** Texts of tokens do not depend on the run: making them is not what is tried here. */
const TENANTS = ['platform', 'shop', 'bank'].map((slug, at) => {
  const { token, secret } = mintToken('pat', `tok${slug}`);
  return { slug, token, secret, id: `${at}1111111-1111-4111-8111-111111111111` as TenantId };
});

/** One application for all runs: its routes lead to the run that is under way. */
let shared: { readonly app: FastifyInstance; plane: Plane } | undefined;

function appFor(plane: Plane): FastifyInstance {
  if (shared !== undefined) {
    shared.plane = plane;
    return shared.app;
  }
  const held = { plane };
  const now = (): Plane => held.plane;
  const access = {
    get store() {
      return now().access.store;
    },
    get clock() {
      return now().time;
    },
    get proven() {
      return now().access.proven;
    },
    tokenKey: TOKEN_KEY,
  };
  const app = createApp({
    access,
    sessions: { idleMs: 3_600_000, lifetimeMs: 3_600_000, secure: false },
    routes: plane.routes.map((route, at) => ({
      ...route,
      handle: (request) => (now().routes[at] as Route).handle(request),
    })),
    limits: { bodyBytes: 1_048_576, jsonDepth: 32, rate: { perSecond: 1e9, burst: 1e9 } },
    freshId: () => 'req',
    baseUrl: 'http://berth.test',
    log: SILENT,
    metrics: { request: () => undefined, rejected: () => undefined },
    ready: () => true,
  });
  shared = Object.assign(held, { app });
  return app;
}

/**
 * A control plane in this process: the whole API down to its store in memory, controllers, resolution of secrets and reports as they
 * are, on a clock that moves when it is told to. Sockets and the agent's own loop are left out.
 */
export class Plane {
  readonly time = new FakeTime();
  readonly ids = countingIds();
  readonly kv: Kv;
  readonly store: Store;
  readonly access: AccessDependencies;
  readonly secrets: SecretsStore;
  /** The same store as it is, for whoever judges. */
  readonly witness: SecretsStore;
  readonly journal: Journal;
  readonly placed: PlacedInstances;
  readonly volumes: PlacedVolumes;
  readonly reports: Reports;
  readonly volumeReports: VolumeReports;
  readonly resolver: MaterialResolver;
  readonly controllers: Controllers;
  readonly routes: readonly Route[];
  readonly tenants: readonly PlaneTenant[] = TENANTS;
  readonly problems: string[] = [];
  readonly #clusters: TenantClusters;
  readonly #app: FastifyInstance;
  /** May be changed while it runs, as an operator does between two starts. */
  readonly namespaces: string[] = ['deployments', 'resources'];

  private constructor(kv: Kv, store: Store, parts: Parts) {
    const { time, ids } = this;
    this.kv = kv;
    this.store = store;
    this.access = { store, tokenKey: TOKEN_KEY, clock: time, proven: new ProvenTokens() };
    this.journal = new Journal(time, ids);
    this.witness = createEmbeddedSecrets({
      kv,
      rootKeys: () => ({ sealed: false, active: ROOT_KEY, retired: [] }),
      now: () => time.now(),
    });
    this.secrets = parts.secrets(this.witness);
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        time.after(ms, resolve);
      });
    this.placed = new PlacedInstances(store.view);
    this.volumes = new PlacedVolumes(store.view);
    const policy = { ...DEFAULT_SECRET_POLICY, namespaces: this.namespaces };
    this.#clusters = new TenantClusters(store, {
      controlPlaneNode: CONTROL_PLANE_NODE as NodeName,
      regions: DEFAULT_REGIONS,
      residencyEnforcement: true,
    });
    this.controllers = createControllers({
      regions: DEFAULT_REGIONS,
      controlPlaneNode: CONTROL_PLANE_NODE as NodeName,
      volumeLeaseMs: 15_000,
      store,
      clock: time,
      timers: time,
      ids,
      journal: this.journal,
      clusters: this.#clusters,
      hashSpec: specHash,
      owns: () => true,
      parseSchedule,
      scaling: { measured: async () => new Map(), intervalMs: 15_000, maxReplicas: 100 },
      metrics: { decided: () => undefined, reconciled: () => undefined, committed: () => undefined },
      log: (problem, details) => this.problems.push(`${problem} ${JSON.stringify(details)}`),
    });
    const log = SILENT;
    const { placed, journal, secrets } = this;
    const credentials = createRegistryCredentials(
      secrets,
      (tenantId, path) => credentialOf(store.forTenant(tenantId), path)?.record,
    );
    this.reports = new Reports({ store, placed, journal, log, pause });
    this.volumeReports = new VolumeReports({
      store,
      placed: this.volumes,
      journal,
      clock: time,
      signs: this.controllers.volumeSigns,
      log,
      pause,
    });
    const references = new SecretReferences(store.view);
    const writes = new CredentialWrites(secrets);
    this.resolver = new MaterialResolver({
      store,
      placed,
      volumes: this.volumes,
      secrets,
      references,
      writes,
      policy,
      credentials,
      journal,
      log,
    });
    const admission: Admission = {
      store,
      prefixes: DEFAULT_PREFIXES,
      eraser: new TenantEraser({ store, secrets, journal, clock: time, warn: () => undefined }),
      clock: time,
      ids,
      journal,
      clusters: this.#clusters,
      firstPlan: this.controllers.planFirst,
      limits: {
        maxReplicasPerDeployment: 100,
        reservedNames: ['berth-database'],
        secretPolicy: policy,
        regions: DEFAULT_REGIONS,
        volumesEnabled: true,
      },
      parseSchedule,
      imageCheck: {
        check: async () => ({ kind: 'found', digest: 'sha256:0' }),
        signatures: async () => ({ kind: 'read', signatures: [] }),
      },
      secrets: { store: secrets, references, policy, writes },
      residency: { enforcement: true, regions: DEFAULT_REGIONS },
      containerDefaults: PLATFORM_CONTAINER_DEFAULTS,
    };
    const standing = {
      store,
      tallies: new StateTallies(store.view),
      runsControlPlane: () => false,
      placed: () => [],
      stored: () => [],
    };
    this.routes = apiRoutes({
      admission,
      standings: (tenantId) => tenantStanding(standing, tenantId),
      tokenKey: TOKEN_KEY,
      sessions: { idleMs: 3_600_000, lifetimeMs: 3_600_000, secure: false, signInsPerMinute: 1_000 },
      dispatch: this.#dispatch(),
      volumeLeaseMs: 15_000,
      scalingViews: (tenantId, deployment) => this.controllers.scalingView(tenantId, deployment),
      questions: { self: undefined, nodeName: 'cp', ask: () => 'not here' },
      joinAddress: () => ({ baseUrl: 'http://berth.test' }),
      histories: {
        own: { part: () => undefined },
        others: async () => ({ parts: [], isPartial: false }),
        now: () => new Date(),
      },
      eventFeeds: new EventFeeds(),
    });
    this.#app = appFor(this);
  }

  static async start(parts: Parts = SOUND): Promise<Plane> {
    const kv = parts.kv(createMemoryKv());
    const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
    const plane = new Plane(kv, store, parts);
    await plane.#bootstrap();
    await plane.controllers.start();
    return plane;
  }

  /** What the routes ask of the agents' side, of which there are no sockets here. */
  #dispatch(): Dispatch {
    const asked: Partial<Dispatch> = {
      placedOn: (tenantId, node) => this.placed.on(tenantId, node),
      lastSeenAt: () => undefined,
      volumeSeen: (tenantId, volumeId, node) => this.volumeReports.seen(tenantId, volumeId, node),
      connected: () => true,
      stream: () => undefined,
      usageOn: async () => new Map(),
    };
    return asked as Dispatch;
  }

  async #bootstrap(): Promise<void> {
    for (const { id, slug, secret } of TENANTS) {
      const tenant: Tenant = { id, slug, name: slug, createdAt: CREATED_AT };
      const token: TokenRecord = {
        id: `tok${slug}` as TokenId,
        kind: 'pat',
        tenantId: id,
        role: slug === 'platform' ? 'platform-admin' : 'tenant-admin',
        name: slug,
        hash: hashSecret(TOKEN_KEY, secret),
        createdAt: CREATED_AT,
        createdBy: 'test',
      };
      await this.store.commit(
        new Transaction(id)
          .putGlobal('tenants', id, tenant)
          .putGlobal('tenant-slugs', slug, { tenantId: id })
          .putGlobal('tokens', token.id, token),
      );
    }
  }

  async call({ token }: PlaneTenant, method: string, url: string, body?: unknown): Promise<Answer> {
    const answer = await this.#app.inject({
      method: method as 'GET',
      url,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return {
      status: answer.statusCode,
      body: answer.payload === '' ? {} : (JSON.parse(answer.payload) as Answer['body']),
    };
  }

  async close(): Promise<void> {
    this.reports.close();
    this.volumeReports.close();
    await this.controllers.stop();
    this.#clusters.close();
    this.store.view.close();
    await this.secrets.close();
    await this.kv.close();
  }
}
