import type { NodeRecord } from '../../../src/core/model/node.ts';
import type { VolumeRecord } from '../../../src/core/model/volume.ts';
import type { RejectionCode } from '../../../src/core/rejections/catalogue.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import type { Answer, CallOptions, Json } from '../../support/harness/api-client.ts';
import type { ControlPlane, TestTenant } from '../../support/harness/server-under-test.ts';
import type { Registry } from '../../support/harness/registry.ts';

/** What the control plane of a case is like. */
export type Setting =
  | 'default'
  /** The root key is gone: the embedded secrets store is sealed. */
  | 'sealed'
  /** Vault is configured and does not answer. */
  | 'vault-away'
  /** Vault answers, and its policy grants no documents. */
  | 'vault-denied'
  /** Vault answers, and has no namespace of the configured name. */
  | 'vault-elsewhere'
  | 'volumes-off'
  | 'store-closed'
  | 'slow-down'
  /** No streams, and few connections of one address. */
  | 'crowded'
  /** A token waits as long as it has read less than it was answered. */
  | 'impatient'
  /** Every use of the heap is too much. */
  | 'memory-low'
  /** The write path has a defect that lets material through; see guarded-write.ts. */
  | 'defect';

/** Where a case takes place: a control plane and a tenant of its own area. */
export interface Stage {
  readonly plane: ControlPlane;
  readonly tenant: TestTenant;
  /** An image that the registry holds. */
  readonly image: string;
  readonly registry: Registry;
  fresh(prefix?: string): string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly options?: CallOptions;
}

/** Brings about what the request needs, and says the request. */
export type Ask = (stage: Stage) => Asked | Promise<Asked>;

export interface Case {
  readonly code: RejectionCode;
  /** Absent: the request is just inside and is accepted. */
  readonly field?: string;
  readonly title: string;
  readonly setting: Setting;
  readonly ask: Ask;
}

type Asks = Readonly<Record<string, Ask>>;

export function refused(
  code: RejectionCode,
  field: string,
  asks: Asks,
  setting: Setting = 'default',
): readonly Case[] {
  return Object.entries(asks).map(([title, ask]) => ({ code, field, title, setting, ask }));
}

export function inside(code: RejectionCode, asks: Asks, setting: Setting = 'default'): readonly Case[] {
  return Object.entries(asks).map(([title, ask]) => ({ code, title, setting, ask }));
}

export const DEPLOYMENTS = '/api/v1/deployments';

/** POST of a deployment that is valid but for the given fields; `undefined` leaves a field out. */
export function post(fields: Json, options: CallOptions = {}): Ask {
  return (stage) => ({
    method: 'POST',
    path: DEPLOYMENTS,
    options: { ...options, body: { name: stage.fresh(), image: stage.image, ...fields } },
  });
}

/** PUT on a deployment that was made with `before`. */
export function put(before: Json, fields: Json, options: CallOptions = {}): Ask {
  return async (stage) => {
    const name = await stored(stage, before);
    return { method: 'PUT', path: `${DEPLOYMENTS}/${name}`, options: { ...options, body: fields } };
  };
}

export async function stored(stage: Stage, fields: Json = {}): Promise<string> {
  const body: Json = { name: stage.fresh(), image: stage.image, ...fields };
  const answer = await stage.call('POST', DEPLOYMENTS, { body });
  if (answer.status !== 201) throw new Error(`the deployment of the case was refused: ${answer.text}`);
  return String(body['name']);
}

export function ask(method: string, path: string, options: CallOptions = {}): Ask {
  return () => ({ method, path, options });
}

/** Write of a secret document of its own. */
export function secretWrite(body: Json, path?: string): Ask {
  return (stage) => ({
    method: 'PUT',
    path: `/api/v1/secrets/${path ?? `resources/${stage.fresh()}`}`,
    options: { body },
  });
}

/** A deployment with one secret entry; its path is its own unless the entry says otherwise. */
export function withSecret(entry: Json, fields: Json = {}, options: CallOptions = {}): Ask {
  return (stage) =>
    post(
      {
        secrets: [{ name: 'DB', vault_path: `resources/${stage.fresh()}`, anchor: 'external', ...entry }],
        ...fields,
      },
      options,
    )(stage);
}

/** Records that only controllers write are put where a controller would put them. */
export async function plantVolume(stage: Stage, fields: Partial<VolumeRecord> = {}): Promise<string> {
  const id = fields.id ?? `vol_${stage.fresh('v').replaceAll('-', '')}`;
  // Nothing is ever heard of this node, so no controller has a reason to change what is planted.
  const keeper = fields.primaryNodeId ?? `keeper-${stage.tenant.slug}`;
  const enrolled = stage.plane.store.forTenant(stage.tenant.id).get('nodes', idOf('nodes', keeper));
  if (enrolled === undefined) await plantNode(stage, keeper);
  const record: VolumeRecord = {
    id: id as VolumeRecord['id'],
    tenantId: stage.tenant.id,
    name: id.slice(4),
    class: 'replicated',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 2 ** 30,
    replicas: [],
    accessMode: 'ReadWriteOnce',
    epoch: 1,
    primaryNodeId: keeper as NodeRecord['name'],
    copies: 0,
    // One that is being deleted stays as long as a node has not said that its bytes are gone.
    leaving: fields.phase === 'Deleting' ? [keeper as NodeRecord['name']] : [],
    leaseMs: 15_000,
    createdAt: new Date(0).toISOString(),
    ...fields,
  };
  const tenant = stage.plane.store.forTenant(stage.tenant.id);
  await tenant.commit(tenant.transaction().put('volumes', idOf('volumes', id), record));
  return id;
}

export async function plantNode(
  stage: Stage,
  name: string,
  labels: NodeRecord['labels'] = {},
): Promise<void> {
  const record: NodeRecord = {
    name: name as NodeRecord['name'],
    tenantId: stage.tenant.id,
    claims: [stage.tenant.id],
    schedulable: true,
    labels,
    capacity: { cpu: 4, memoryBytes: 2 ** 33 },
    platform: 'linux/amd64',
    engine: { kind: 'docker', version: '20.10' },
    agentVersion: '0',
    publicKey: '',
    sessionEpoch: 0,
    createdAt: new Date(0).toISOString(),
  };
  const tenant = stage.plane.store.forTenant(stage.tenant.id);
  await tenant.commit(tenant.transaction().put('nodes', idOf('nodes', name), record));
}
