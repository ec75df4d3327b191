import { PLATFORM_CONTAINER_DEFAULTS } from '../../src/core/model/container-defaults.ts';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import {
  deploymentBody,
  type DeploymentDraft,
  type SentDeployment,
} from '../../src/core/contract/deployment-body.ts';
import { draftOfBody } from '../../src/core/contract/deployment-merge.ts';
import type { NodeName } from '../../src/core/model/ids.ts';
import { DEFAULT_SECRET_POLICY } from '../../src/core/model/secret-limits.ts';
import { isRejection } from '../../src/core/rejections/reject.ts';
import { ProvenTokens } from '../../src/server/access/authenticate.ts';
import { type Admission, commitAttempts } from '../../src/server/writes/admission.ts';
import { admitDraft } from '../../src/server/writes/deployments/deployment-draft.ts';
import { attemptDeploymentWrite } from '../../src/server/writes/deployments/deployment-write.ts';
import { createApp } from '../../src/server/api/app.ts';
import { Metrics } from '../../src/server/api/metrics.ts';
import type { Route } from '../../src/server/api/route.ts';
import { writeReply } from '../../src/server/api/write-reply.ts';
import { readOrCreateKey } from '../../src/server/bootstrap.ts';
import { parseSchedule } from '../../src/server/cron.ts';
import { systemClock } from '../../src/server/clock.ts';
import { createIds } from '../../src/server/ids.ts';
import { TenantEraser } from '../../src/server/writes/tenants/erase-tenants.ts';
import { TenantClusters } from '../../src/server/placement/tenant-clusters.ts';
import { Journal } from '../../src/server/journal/journal.ts';
import { CredentialWrites } from '../../src/server/secrets/credential-writes.ts';
import { openSecrets } from '../../src/server/secrets/open.ts';
import type { SecretsStore } from '../../src/server/secrets/port.ts';
import { SecretReferences } from '../../src/server/secrets/references.ts';
import { ADMIN_TOKEN, type ControlPlane } from './harness/server-under-test.ts';
import { ApiClient } from './harness/api-client.ts';
import { Laws } from './laws.ts';

/** The secrets store of a running control plane, opened once more on its data. */
export async function secretsOf(plane: ControlPlane): Promise<SecretsStore> {
  const { store, prepare } = await openSecrets({
    config: plane.config,
    kv: plane.store.kv,
    tenantIds: () => plane.store.listGlobal('tenants').map(({ record }) => record.id),
    readFile: () => '',
    say: () => undefined,
    warn: () => undefined,
  });
  await prepare(true);
  return store;
}

/** The write path's dependencies on the data of a running control plane; every image counts as found. */
export async function admissionOn(plane: ControlPlane): Promise<Admission> {
  const { config, store } = plane;
  const ids = createIds(systemClock);
  const policy = { ...DEFAULT_SECRET_POLICY, namespaces: config.secrets.namespaces };
  const secrets = await secretsOf(plane);
  const journal = new Journal(systemClock, ids);
  return {
    store,
    prefixes: config.network,
    eraser: new TenantEraser({ store, secrets, journal, clock: systemClock, warn: () => undefined }),
    clock: systemClock,
    ids,
    parseSchedule,
    clusters: new TenantClusters(store, {
      controlPlaneNode: config.nodeName as NodeName,
      regions: config.regions,
      residencyEnforcement: config.residencyEnforcement,
    }),
    journal,
    limits: {
      maxReplicasPerDeployment: config.maxReplicasPerDeployment,
      reservedNames: config.reservedNames,
      secretPolicy: policy,
      regions: config.regions,
      volumesEnabled: config.volumesEnabled,
    },
    imageCheck: {
      check: () => Promise.resolve({ kind: 'found', digest: '' }),
      signatures: () => Promise.resolve({ kind: 'read', signatures: [] }),
    },
    secrets: {
      store: secrets,
      references: new SecretReferences(store.view),
      policy,
      writes: new CredentialWrites(secrets),
    },
    residency: { enforcement: config.residencyEnforcement, regions: config.regions },
    containerDefaults: PLATFORM_CONTAINER_DEFAULTS,
  };
}

/** Material that a defective write path carries past the step that strips it: its list of entries maps to itself. */
export function withPlanted(
  draft: DeploymentDraft,
  planted: Readonly<Record<string, unknown>>,
): DeploymentDraft {
  const entry = { name: 'DB', vault_path: 'resources/planted', anchor: 'external', rotation: 'restart' };
  const secrets = [entry];
  Object.defineProperty(secrets, 'map', { value: () => [{ ...entry, ...planted }] });
  return { ...draft, secrets };
}

const MATERIAL = {
  values: { values: { password: 'planted-material-behind-the-write-path' } },
  generate: { generate: { keys: ['password'] } },
} as const;

function defectiveRoute(admission: Admission): Route {
  return {
    method: 'POST',
    path: '/api/v1/deployments',
    summary: 'A write path with a defect',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: deploymentBody },
    codes: [],
    success: { status: 201, description: 'Stored.' },
    handle: async ({ caller, body }) => {
      const admitted = admitDraft(
        draftOfBody(body as SentDeployment),
        body as SentDeployment,
        { secretsVersion: 0 },
        admission.limits,
      );
      if (isRejection(admitted)) return admitted;
      const kind = admitted.draft.labels?.['defect'] === 'generate' ? 'generate' : 'values';
      const draft = withPlanted(admitted.draft, MATERIAL[kind]);
      return writeReply(
        await commitAttempts(admission, caller, () =>
          attemptDeploymentWrite(admission, caller, {
            admitted: { ...admitted, draft },
            change: 'created',
            dryRun: false,
          }),
        ),
      );
    },
  };
}

export interface DefectiveServer {
  readonly api: ApiClient;
  close(): Promise<void>;
}

/** A second listener on the plane's store whose write path lets material through, to show that the guards hold. */
export async function startDefectiveServer(plane: ControlPlane): Promise<DefectiveServer> {
  const admission = await admissionOn(plane);
  const ids = createIds(systemClock);
  const app = createApp({
    access: {
      store: plane.store,
      tokenKey: readOrCreateKey(plane.config.tokenKeyFile),
      clock: systemClock,
      proven: new ProvenTokens(),
    },
    sessions: { ...plane.config.sessions, secure: false },
    routes: [defectiveRoute(admission)],
    limits: { ...plane.config.limits, rate: plane.config.rateLimit },
    freshId: () => ids.request(),
    log: pino({ level: 'silent' }),
    metrics: new Metrics(),
    ready: () => true,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const api = new ApiClient(`http://127.0.0.1:${port}`, ADMIN_TOKEN);
  api.observe(new Laws({ kv: plane.store.kv, api, adminToken: ADMIN_TOKEN, tenantOf: () => undefined }));
  return {
    api,
    close: async () => {
      api.close();
      await app.close();
      admission.clusters.close();
      await admission.secrets.store.close();
    },
  };
}
