import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { INGRESS_NAMESPACE, servedIngress } from '../../../core/model/ingress.ts';
import { SecretValue } from '../../../core/model/secret-value.ts';
import { splitSecretPath } from '../../../core/model/secret-path.ts';
import type { AgentMessage, IngressMaterial } from '../../../core/protocol/agent-protocol.ts';
import { deliverableVersion } from '../../../core/secrets/credentials.ts';
import type { Clock } from '../../clock.ts';
import { credentialRecord } from '../../secrets/credential-holders.ts';
import type { SecretFailure, SecretsStore } from '../../secrets/port.ts';
import type { SecretReferences } from '../../secrets/references.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';

type Question = Extract<AgentMessage, { readonly type: 'ingressGet' | 'ingressPut' }>;
type Put = Extract<Question, { readonly type: 'ingressPut' }>;
type Answer = Omit<IngressMaterial, 'type' | 'id'>;

/** A node that starts asks for every host; after that it is a few a day. */
const QUESTIONS = { perSecond: 20, burst: 500 };
const MAX_UNDER_WAY = 8;
/** Of a tenant: a file for each host, and a few for its account. */
const MAX_FILES = 2_000;
const MAX_PARTS = 8;
const PART = /^[A-Za-z0-9_.@+-]{1,253}$/;

export interface IngressMaterialOptions {
  readonly store: Store;
  readonly secrets: SecretsStore;
  readonly references: SecretReferences;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Certificates that deployments refer to, and what Caddy keeps of those it gets itself, for ingress nodes of the tenant alone. The latter is in a
 * namespace of the secrets store that no policy can grant: no request reads or names it.
 */
export class IngressMaterials {
  readonly #options: IngressMaterialOptions;
  readonly #rate: KeyedRate;
  readonly #underWay = new Map<string, number>();

  constructor(options: IngressMaterialOptions) {
    this.#options = options;
    this.#rate = new KeyedRate(QUESTIONS, options.clock);
  }

  async answer(session: AgentSession, question: Question): Promise<void> {
    const { key } = session;
    const underWay = this.#underWay.get(key) ?? 0;
    const send = (answer: Answer) => session.send({ type: 'ingressMaterial', id: question.id, ...answer });
    if (underWay >= MAX_UNDER_WAY || !this.#rate.take(key)) {
      send({ problem: 'too many questions at once; ask again' });
      return;
    }
    this.#underWay.set(key, underWay + 1);
    try {
      send(await this.#answer(session, question));
    } catch (error) {
      this.#options.log.error(
        { err: error, node: session.identity.node },
        'a question of an ingress node failed',
      );
      send({ problem: 'the control plane failed on this question' });
    } finally {
      const left = (this.#underWay.get(key) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(key);
      else this.#underWay.set(key, left);
    }
  }

  async #answer({ identity }: AgentSession, question: Question): Promise<Answer> {
    // One answer for whatever is not there for it: it learns nothing of what is.
    const nothing = { problem: 'there is nothing of this name for this node' };
    if (identity.servesIngress !== true) return nothing;
    const [kind, ...parts] = question.key.split('/');
    const isPlain = parts.length > 0 && parts.length <= MAX_PARTS && parts.every(isPart);
    if (!isPlain) return nothing;
    if (kind === 'acme')
      return question.type === 'ingressGet'
        ? await this.#file(identity, question.key)
        : await this.#keep(identity, question);
    const [deployment, host] = parts;
    if (kind !== 'certificate' || question.type !== 'ingressGet' || parts.length !== 2) return nothing;
    return (await this.#certificate(identity, deployment ?? '', host ?? '')) ?? nothing;
  }

  async #certificate(
    { tenantId }: AgentSession['identity'],
    deployment: string,
    host: string,
  ): Promise<Answer | undefined> {
    const { store, secrets, references } = this.#options;
    const tenant = store.forTenant(tenantId);
    const spec = tenant.get('deployments', idOf('deployments', deployment))?.record.spec;
    const named =
      spec && servedIngress(spec).find((entry) => entry.host === host && typeof entry.tls === 'object');
    const path = typeof named?.tls === 'object' ? splitSecretPath(named.tls.vault_path) : undefined;
    if (path === undefined) return undefined;
    const metadata = await secrets.metadata(tenantId, path);
    if (!metadata.ok) return failed(metadata);
    const text = `${path.namespace}/${path.label}`;
    const versions = metadata.exists ? metadata.versions.map(({ version }) => version) : [];
    const version = deliverableVersion(credentialRecord(references, tenant, path), versions);
    if (version === 0)
      return { problem: `there is no secret ${text} yet; write it with certificate and key` };
    const document = await secrets.read(tenantId, path, version);
    if (!document.ok) return failed(document);
    const [certificate, key] = ['certificate', 'key'].map((name) => document.values.get(name)?.reveal());
    if (certificate === undefined || key === undefined)
      return { problem: `the secret ${text} needs the keys certificate and key, both PEM` };
    return { value: `${certificate}\n${key}\n`, version };
  }

  async #file({ tenantId }: AgentSession['identity'], key: string): Promise<Answer> {
    const document = await this.#options.secrets.read(tenantId, pathOf(key));
    if (!document.ok) return document.reason === 'missing' ? {} : failed(document);
    const value = document.values.get('value')?.reveal();
    return { ...(value !== undefined && { value }), version: document.version };
  }

  async #keep({ tenantId }: AgentSession['identity'], { key, value, expected }: Put): Promise<Answer> {
    const { secrets } = this.#options;
    const path = pathOf(key);
    const metadata = await secrets.metadata(tenantId, path);
    if (!metadata.ok) return failed(metadata);
    if (!metadata.exists) {
      const kept = await secrets.list(tenantId, INGRESS_NAMESPACE);
      if (!kept.ok) return failed(kept);
      if (kept.labels.length >= MAX_FILES) return { problem: `more than ${MAX_FILES} files are not kept` };
    }
    const written = await secrets.write(
      tenantId,
      path,
      new Map([
        ['key', new SecretValue(key)],
        ['value', new SecretValue(value)],
      ]),
      expected === undefined ? {} : { expectedVersion: expected },
    );
    if (written.ok) return { version: written.version };
    return written.reason === 'conflict' ? { problem: 'another version is there' } : failed(written);
  }
}

function isPart(part: string): boolean {
  return PART.test(part) && part !== '.' && part !== '..';
}

/** A key may be longer than a label, and has slashes. */
function pathOf(key: string) {
  return { namespace: INGRESS_NAMESPACE, label: hash('sha256', key, 'hex').slice(0, 48) };
}

function failed({ message }: SecretFailure): Answer {
  return { problem: `the secrets store does not give it: ${message}` };
}
