import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { draftOfBody } from '../../src/core/contract/deployment-merge.ts';
import { specOfDraft } from '../../src/core/contract/deployment-spec.ts';
import { deploymentView } from '../../src/core/contract/deployment-view.ts';
import type { DeploymentRecord } from '../../src/core/model/deployment.ts';
import { DEFAULT_SECRET_POLICY } from '../../src/core/model/secret-limits.ts';
import { isRejection } from '../../src/core/rejections/reject.ts';
import { systemClock, timeText } from '../../src/server/clock.ts';
import { loadConfig } from '../../src/server/config.ts';
import { createIds } from '../../src/server/ids.ts';
import { Journal } from '../../src/server/journal/journal.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { Store } from '../../src/server/store/store.ts';
import type { Transaction } from '../../src/server/store/transaction.ts';
import { StoreView } from '../../src/server/store/view.ts';
import { admitDraft, readDeployment } from '../../src/server/writes/deployments/deployment-draft.ts';
import { identityOf } from '../../src/server/writes/images/image-answer.ts';

/**
 * The least that a create is: a bare node:http handler that reads the body, alters and judges it, hashes the spec, stores the rows of a
 * create without a node in one guarded commit and in the view, and answers with the deployment. It knows no callers, limits, registries,
 * nodes, controllers, readers of events, logs or figures. Prints its port; ends with its parent.
 */
const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
const kv = await openSqliteKv({ dir });
const view = await StoreView.open(kv, { onProblem: (problem) => console.error(problem) });
const store = new Store(kv, view);
const ids = createIds(systemClock);
const journal = new Journal(systemClock, ids);
const tenant = store.forTenant(ids.tenant());
const config = loadConfig(['--data-dir', dir], {});
const { maxReplicasPerDeployment, reservedNames, regions, volumesEnabled, containerDefaults } = config;
const secretPolicy = { ...DEFAULT_SECRET_POLICY, namespaces: config.secrets.namespaces };
const limits = { maxReplicasPerDeployment, reservedNames, secretPolicy, regions, volumesEnabled };
const DIGEST = `sha256:${'a'.repeat(64)}`;
const UNPLACED = '0 of 1 placed: the tenant has no node';

/** What the first plan of a deployment without a node leaves. */
function putPlan(transaction: Transaction, { id, spec, specHash, version }: DeploymentRecord): void {
  const at = idOf('deployments', spec.name);
  const counts = { desired: spec.replicas, placed: 0, running: 0, healthy: 0, updated: 0 };
  transaction.put('deployment-status', at, {
    specHash,
    phase: 'Pending',
    message: UNPLACED,
    ...counts,
    rollout: { deploymentId: id, specHash, version, state: 'progressing', placed: false, generation: 1 },
  });
  journal.event(transaction, tenant.tenantId, {
    kind: 'deployment.unschedulable',
    subject: { kind: 'Deployment', name: spec.name },
    message: UNPLACED,
    details: { missing: spec.replicas, nodes: [] },
  });
}

/** Undefined: it is none. */
function written(body: unknown): { readonly answer: object; readonly transaction: Transaction } | undefined {
  const sent = readDeployment(body);
  if (isRejection(sent)) return undefined;
  const admitted = admitDraft(draftOfBody(sent), sent, { secretsVersion: 0 }, limits);
  if (isRejection(admitted)) return undefined;
  const spec = specOfDraft(admitted.draft);
  const { name } = spec;
  const identity = identityOf(tenant, spec, DIGEST);
  const now = timeText(systemClock);
  const id = ids.next('deployment');
  const { tenantId } = tenant;
  const record = { id, tenantId, spec, ...identity, version: 1, createdAt: now, updatedAt: now };
  const { alterations } = admitted;
  const answer = { ...deploymentView({ record, revision: 0, defaults: containerDefaults }), alterations };
  const transaction = tenant
    .transaction()
    .expect('deployments', idOf('deployments', name), tenant.get('deployments', idOf('deployments', name)));
  const actor = { requestId: ids.request() };
  const subject = { kind: 'Deployment', name } as const;
  journal.version(transaction, actor, { previous: undefined, record, change: 'created' });
  journal.event(transaction, tenantId, {
    kind: 'deployment.created',
    subject,
    message: `${name} created: version 1`,
    details: { version: 1, ...identity, replicas: spec.replicas },
  });
  journal.audit(transaction, tenantId, actor, 'deployment.created', subject);
  putPlan(transaction, record);
  return { answer, transaction };
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const create = written(JSON.parse(Buffer.concat(chunks).toString()));
    if (create === undefined) {
      response.writeHead(400).end();
      return;
    }
    void store.commit(create.transaction).then(({ ok }) => {
      response.writeHead(ok ? 201 : 409, { 'content-type': 'application/json' });
      response.end(JSON.stringify(create.answer));
    });
  });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));
