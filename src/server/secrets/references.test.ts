import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { secretPathText } from '../../core/model/secret-path.ts';
import type { Kv, WatchHandlers } from '../store/kv.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';
import { StoreView } from '../store/view.ts';
import { SecretReferences } from './references.ts';

const TENANTS = ['t1', 't2'] as unknown as readonly TenantId[];
const NAMES = ['a', 'b', 'c'] as const;
const LABELS = ['db', 'mq', 'constructor'] as const;
const NAMESPACES = ['deployments', 'resources'] as const;

interface Reference {
  readonly name: string;
  readonly vault_path: string;
}

function deploymentOf(name: string, references: readonly Reference[], secretsVersion = 0): DeploymentRecord {
  const secrets = references.map((reference) => ({ ...reference, anchor: 'external', rotation: 'restart' }));
  return { spec: { name, secrets, secretsVersion } } as unknown as DeploymentRecord;
}

/** The same questions, answered by walking every deployment. */
function walk(view: StoreView, tenantId: TenantId, label: string) {
  const found = view
    .tenant(tenantId, 'deployments')
    .list()
    .flatMap(({ record: { spec } }) =>
      spec.secrets.flatMap(({ name, vault_path, anchor }) => {
        const [namespace, last] = vault_path.split('/');
        if (last !== label) return [];
        return [
          { namespace, deployment: spec.name, secret: name, anchor, secretsVersion: spec.secretsVersion },
        ];
      }),
    )
    .sort((a, b) => (`${a.deployment}/${a.secret}` < `${b.deployment}/${b.secret}` ? -1 : 1));
  return found;
}

/** Every path with how many refer to it. */
function told(references: SecretReferences, tenantId: TenantId): readonly string[] {
  return references
    .referenced(tenantId)
    .map((path) => `${secretPathText(path)} ${references.referrers(tenantId, path)}`)
    .sort();
}

function compare(references: SecretReferences, view: StoreView) {
  for (const tenantId of TENANTS) {
    const paths = [];
    for (const label of [...LABELS].sort()) {
      const found = walk(view, tenantId, label);
      expect(references.consumers(tenantId, label)).toEqual(
        found.map(({ deployment, secret, anchor, secretsVersion }) => ({
          owner: deployment,
          secret,
          anchor,
          secretsVersion,
        })),
      );
      for (const except of [undefined, ...NAMES]) {
        const others = new Set(found.flatMap((each) => (each.deployment === except ? [] : [each.namespace])));
        const answer = references.namespaceOf(tenantId, label, except);
        expect(others.size === 0 ? answer === undefined : others.has(answer)).toBe(true);
      }
      for (const namespace of NAMESPACES) {
        const readers = new Set(
          found.flatMap((each) => (each.namespace === namespace ? [each.deployment] : [])),
        );
        if (readers.size > 0) paths.push(`${namespace}/${label} ${readers.size}`);
      }
    }
    expect(told(references, tenantId)).toEqual(paths.sort());
  }
}

const reference = fc
  .tuple(fc.constantFrom('A', 'B', 'C'), fc.constantFrom(...NAMESPACES), fc.constantFrom(...LABELS))
  .map(([name, namespace, label]) => ({ name, vault_path: `${namespace}/${label}` }));
/** One namespace per label within a deployment, as the rules have it; deployments may disagree. */
const references = fc.uniqueArray(reference, { selector: ({ name }) => name, maxLength: 3 }).map((list) =>
  list.filter(
    ({ vault_path }, index) =>
      !list.slice(0, index).some((other) => {
        const [namespace, label] = other.vault_path.split('/');
        return vault_path.endsWith(`/${label}`) && !vault_path.startsWith(`${namespace}/`);
      }),
  ),
);
const change = fc.record({
  tenant: fc.nat({ max: 1 }),
  name: fc.constantFrom(...NAMES),
  references: fc.option(references, { nil: undefined }),
  secretsVersion: fc.nat({ max: 3 }),
});

function transactionOf(each: typeof change extends fc.Arbitrary<infer C> ? C : never): Transaction {
  const transaction = new Transaction(TENANTS[each.tenant] ?? ('t1' as TenantId));
  return each.references === undefined
    ? transaction.delete('deployments', each.name)
    : transaction.put(
        'deployments',
        each.name,
        deploymentOf(each.name, each.references, each.secretsVersion),
      );
}

describe('references to secrets', () => {
  it('are those of a walk over all deployments, after any changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 4 }),
        fc.array(change, { maxLength: 8 }),
        async (early, late) => {
          const kv = createMemoryKv();
          for (const each of early) await kv.commit(transactionOf(each).toCommit());
          const view = await StoreView.open(kv, { onProblem: () => undefined });
          const store = new Store(kv, view);
          const kept = new SecretReferences(view);
          compare(kept, view);
          for (const each of late) {
            await store.commit(transactionOf(each));
            compare(kept, view);
          }
          view.close();
          await kv.close();
        },
      ),
      { numRuns: 50 },
    );
  });

  it('know who was given a document, until the record of it goes', async () => {
    const kv = createMemoryKv();
    const tenantId = 't1' as TenantId;
    const put = (id: string, ...paths: readonly string[]) =>
      new Transaction(tenantId).put('secret-deliveries', id, {
        versions: Object.fromEntries(paths.map((path) => [path, { current: 1 }])),
      });
    await kv.commit(put('web/1', 'resources/db').toCommit());
    const view = await StoreView.open(kv, { onProblem: () => undefined });
    const store = new Store(kv, view);
    const kept = new SecretReferences(view);
    const given = (label: string) => [...kept.given(tenantId, { namespace: 'resources', label })].sort();
    await store.commit(put('web/2', 'resources/db', 'resources/mq'));
    expect([given('db'), given('mq'), given('other')]).toEqual([['web/1', 'web/2'], ['web/2'], []]);
    await store.commit(put('web/2', 'resources/mq'));
    await store.commit(new Transaction(tenantId).delete('secret-deliveries', 'web/1'));
    expect([given('db'), given('mq')]).toEqual([[], ['web/2']]);
    view.close();
    await kv.close();
  });

  it('has certificates of the ingress among the consumers, which bind nothing', async () => {
    const kv = createMemoryKv();
    const tenantId = 't1' as TenantId;
    const view = await StoreView.open(kv, { onProblem: () => undefined });
    const store = new Store(kv, view);
    const kept = new SecretReferences(view);
    const path = { namespace: 'resources', label: 'cert' };
    const entry = (host: string, vault_path: string) => ({ host, port: 80, tls: { vault_path } });
    const put = (name: string, ...ingress: readonly object[]) => {
      const record = deploymentOf(name, []);
      return store.commit(
        new Transaction(tenantId).put('deployments', name, {
          ...record,
          spec: { ...record.spec, ingress: ingress as never },
        }),
      );
    };
    await put('a', entry('a.example', 'resources/cert'), entry('b.example', 'resources/cert'));
    await put('b', entry('c.example', 'resources/cert'), { host: 'd.example', port: 80 });
    const hosts = () => kept.consumers(tenantId, 'cert').map(({ owner, ingress }) => `${owner} ${ingress}`);
    expect(hosts()).toEqual(['a a.example', 'a b.example', 'b c.example']);
    expect(told(kept, tenantId)).toEqual(['resources/cert 2']);
    expect([kept.anchors(tenantId, path), kept.namespaceOf(tenantId, 'cert')]).toEqual([[], undefined]);
    await put('a', entry('a.example', 'vaulted/cert'));
    expect(hosts()).toEqual(['a a.example', 'b c.example']);
    expect(told(kept, tenantId)).toEqual(['resources/cert 1', 'vaulted/cert 1']);
    await store.commit(new Transaction(tenantId).delete('deployments', 'a'));
    await put('b');
    expect([hosts(), told(kept, tenantId)]).toEqual([[], []]);
    view.close();
    await kv.close();
  });

  it('are right after a lost watch, when additions are told before removals', async () => {
    const memory = createMemoryKv();
    let handlers: WatchHandlers | undefined;
    const kv: Kv = {
      ...memory,
      watch: (_prefix, _after, given) => {
        handlers = given;
        return { close: () => undefined };
      },
    };
    const tenantId = 't1' as TenantId;
    const put = (name: string, path: string) =>
      memory.commit(
        new Transaction(tenantId)
          .put('deployments', name, deploymentOf(name, [{ name: 'DB', vault_path: path }]))
          .toCommit(),
      );
    await put('z', 'resources/db');
    const view = await StoreView.open(kv, { onProblem: () => undefined });
    const kept = new SecretReferences(view);
    await memory.commit(new Transaction(tenantId).delete('deployments', 'z').toCommit());
    await put('a', 'deployments/db');
    handlers?.onLost('test');
    expect(await view.reached(3)).toBe(true);
    expect(kept.namespaceOf(tenantId, 'db')).toBe('deployments');
    expect(told(kept, tenantId)).toEqual(['deployments/db 1']);
    compare(kept, view);
    view.close();
  });
});
