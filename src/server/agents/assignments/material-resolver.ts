import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  MAX_FRAME_BYTES,
  type Resolve,
  type Resolved,
  type ResolveImage,
} from '../../../core/protocol/agent-protocol.ts';
import type { ConfigFile } from '../../../core/model/config-file.ts';
import type { Workload } from '../../../core/model/deployment.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { ownerOf } from '../../../core/model/owner.ts';
import { parseImageReference } from '../../../core/model/image-reference.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import type { Journal } from '../../journal/journal.ts';
import {
  CredentialStoreDeniedError,
  CredentialStoreUnavailableError,
  type RegistryCredentialSource,
} from '../../registry/credentials.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import { Transaction } from '../../store/transaction.ts';
import { deliverMaterial, type MaterialOptions } from './material.ts';
import type { PlacedInstances } from './placed-instances.ts';
import type { PlacedVolumes } from './placed-volumes.ts';
import type { AgentSession } from '../sessions/session.ts';

/** Answers under way for one session; an agent makes a few containers at a time. */
const MAX_RESOLVING = 64;
/** An agent ends a session that sends it more at once; the rest is the head of the message. */
const MAX_MATERIAL_BYTES = MAX_FRAME_BYTES - 1024;
const CREDENTIALS_DEADLINE_MS = 3000;
/** Deployments whose last failure is remembered, so that a retry does not publish it again. */
const MAX_REMEMBERED = 10_000;

export interface MaterialResolverOptions extends MaterialOptions {
  readonly store: Store;
  readonly placed: PlacedInstances;
  readonly volumes: PlacedVolumes;
  readonly credentials: RegistryCredentialSource;
  readonly journal: Journal;
  readonly log: Logger;
}

type Failure = { readonly ok: false; readonly reason: string; readonly message: string };
type Answer =
  | Failure
  | {
      readonly ok: true;
      readonly environment: Readonly<Record<string, string>>;
      readonly registry?: { readonly username: string; readonly password: string };
      readonly files?: readonly ConfigFile[];
    };

/**
 * Material for a container that is about to be created, over the session that asked, in memory only. Fails closed: any gap
 * means no container.
 */
export class MaterialResolver {
  readonly #options: MaterialResolverOptions;
  readonly #failures = new Map<string, string>();

  constructor(options: MaterialResolverOptions) {
    this.#options = options;
  }

  async answer(session: AgentSession, request: Resolve): Promise<void> {
    await this.#answer(session, request, () => this.#resolve(session, request));
  }

  /** To the node that a volume is about to move to, for what will run there: the registry's credential and nothing else. */
  async answerImage(session: AgentSession, request: ResolveImage): Promise<void> {
    await this.#answer(session, request, () => this.#resolveImage(session, request));
  }

  async #answer(
    session: AgentSession,
    request: Resolve | ResolveImage,
    resolve: () => Promise<Answer>,
  ): Promise<void> {
    if (session.resolving >= MAX_RESOLVING) {
      this.#send(session, request, {
        ok: false,
        reason: 'unavailable',
        message: 'too many questions at once; ask again',
      });
      return;
    }
    session.resolving += 1;
    try {
      this.#send(session, request, await resolve());
    } catch (error) {
      const what = request.type === 'resolve' ? { instance: request.instanceId } : { image: request.image };
      this.#options.log.error({ err: error, ...what }, 'secrets could not be resolved');
      this.#send(session, request, {
        ok: false,
        reason: 'unavailable',
        message: 'the control plane failed on this request',
      });
    } finally {
      session.resolving -= 1;
    }
  }

  #send(session: AgentSession, { requestId }: Resolve | ResolveImage, answer: Answer): void {
    const message: Resolved = { type: 'resolved', requestId, ...answer };
    session.send(message);
  }

  async #resolve(session: AgentSession, request: Resolve): Promise<Answer> {
    const { tenantId } = session.identity;
    const found = this.#assigned(session, request);
    // One answer for what is foreign, gone, stopped or of another spec: an agent learns nothing about what is not its own.
    if (found === undefined)
      return {
        ok: false,
        reason: 'not_assigned',
        message: 'this instance is not assigned to this node in this form',
      };
    const { stored, spec } = found;
    const instance = stored.record;
    const [resolved, registry] = await Promise.all([
      deliverMaterial(this.#options, this.#options.store.forTenant(tenantId), stored, spec),
      this.#registry(tenantId, spec),
    ]);
    if (!resolved.ok) return this.#failed(tenantId, instance, resolved);
    const given = registry === undefined || 'ok' in registry ? undefined : registry;
    // A spec without secrets asks only for the registry's sake: with the store away it still runs from a public one.
    if (registry !== undefined && 'ok' in registry && hasSecrets(spec))
      return this.#failed(tenantId, instance, registry);
    // The secrets store may have been slow; what was true of the assignment must be true now.
    if (!session.open || this.#assigned(session, request) === undefined)
      return { ok: false, reason: 'not_assigned', message: 'the assignment changed meanwhile' };
    const environment = Object.fromEntries([...resolved.env].map(([name, value]) => [name, value.reveal()]));
    const answer: Answer = {
      ok: true,
      environment,
      ...(given === undefined ? {} : { registry: given }),
      ...(spec.files === undefined ? {} : { files: spec.files }),
    };
    const bytes = Buffer.byteLength(JSON.stringify(answer));
    if (bytes > MAX_MATERIAL_BYTES) {
      const message = `its secrets and files have ${bytes} bytes together, and a container is given at most ${MAX_MATERIAL_BYTES}; reference fewer or smaller documents`;
      return this.#failed(tenantId, instance, { ok: false, reason: 'unusable', message });
    }
    this.#failures.delete(failureKey(tenantId, instance.deployment));
    return answer;
  }

  async #resolveImage(session: AgentSession, request: ResolveImage): Promise<Answer> {
    const isOrdered = (): boolean => {
      const { tenantId, node } = session.identity;
      const move = this.#options.volumes.find(tenantId, node, request.volumeId)?.record.switchover;
      return move?.step === 'preparing' && move.to === node && (move.images ?? []).includes(request.image);
    };
    const registry = isOrdered() ? await this.#registry(session.identity.tenantId, request) : undefined;
    if (!session.open || !isOrdered())
      return { ok: false, reason: 'not_assigned', message: 'this image is not to be fetched by this node' };
    if (registry !== undefined && 'ok' in registry) return registry;
    return { ok: true, environment: {}, ...(registry && { registry }) };
  }

  #assigned(
    { identity: { tenantId, node } }: AgentSession,
    request: Resolve,
  ): { readonly stored: Stored<InstanceRecord>; readonly spec: Workload } | undefined {
    const stored = this.#options.placed.find(tenantId, node, request.instanceId);
    const instance = stored?.record;
    if (
      stored === undefined ||
      instance?.wanted !== 'run' ||
      instance.specHash !== request.specHash ||
      instance.secretsVersion !== request.secretsVersion
    )
      return undefined;
    const spec = this.#options.store
      .forTenant(tenantId)
      .get('specs', idOf('specs', instance.deployment, instance.specHash))?.record;
    return spec === undefined ? undefined : { stored, spec };
  }

  async #registry(
    tenantId: TenantId,
    spec: Pick<Workload, 'image'>,
  ): Promise<{ readonly username: string; readonly password: string } | Failure | undefined> {
    const image = parseImageReference(spec.image);
    if (!image.ok) return undefined;
    try {
      const credentials = await withDeadline(this.#options.credentials(tenantId, image.reference.registry));
      return credentials === undefined
        ? undefined
        : { username: credentials.username, password: credentials.password.reveal() };
    } catch (error) {
      // Without them the image is pulled as anybody may pull it; a registry that wants more says so itself.
      if (error instanceof CredentialStoreDeniedError) return undefined;
      if (!(error instanceof CredentialStoreUnavailableError)) throw error;
      return {
        ok: false,
        reason: 'unavailable',
        message: `the credentials of ${image.reference.registry} cannot be read: ${error.message}`,
      };
    }
  }

  /** Published when the reason changes, not per retry of the agent. */
  async #failed(
    tenantId: TenantId,
    { deployment, id }: InstanceRecord,
    { reason, message }: Failure,
  ): Promise<Failure> {
    const key = failureKey(tenantId, deployment);
    const { kind, name } = ownerOf(deployment);
    const failure = `${reason}: ${message}`;
    if (this.#failures.get(key) !== failure) {
      this.#failures.delete(key);
      this.#failures.set(key, failure);
      const oldest = this.#failures.size > MAX_REMEMBERED ? this.#failures.keys().next().value : undefined;
      if (oldest !== undefined) this.#failures.delete(oldest);
      const transaction = new Transaction(tenantId);
      this.#options.journal.event(transaction, tenantId, {
        kind: `${kind}.secret_unresolved`,
        subject: { kind: kind === 'job' ? 'Job' : 'Deployment', name },
        message: `${name} has no container for ${id}: ${message}`,
        details: { reason, instance: id },
      });
      await this.#options.store.commit(transaction);
    }
    return { ok: false, reason, message };
  }
}

function hasSecrets(spec: Workload): boolean {
  return spec.secrets.length > 0 || Object.keys(spec.composedEnvironment ?? {}).length > 0;
}

/** Well below the time that an agent waits for the whole answer. */
async function withDeadline<T>(reading: Promise<T>): Promise<T> {
  const deadline = new AbortController();
  const late = pause(CREDENTIALS_DEADLINE_MS, undefined, { signal: deadline.signal }).then(() => {
    throw new CredentialStoreUnavailableError(`no answer within ${CREDENTIALS_DEADLINE_MS} ms`);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    deadline.abort();
    late.catch(() => undefined);
  }
}

function failureKey(tenantId: TenantId, deployment: string): string {
  return `${tenantId}/${deployment}`;
}
