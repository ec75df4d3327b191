import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { putUnversioned, putVersion, removeDeployment } from './deployment-rows.ts';
import type { Kv, WatchHandlers } from './kv.ts';
import { createMemoryKv } from './memory.ts';
import { Store, type TenantStore } from './store.ts';
import { Transaction } from './transaction.ts';
import { StoreView } from './view.ts';

const SHOP = 't1' as TenantId;
const QUIET = { onProblem: () => undefined };

interface Step {
  readonly kind: 'write' | 'scale' | 'order' | 'delete' | 'sweep' | 'relist' | 'erase';
  readonly image: string;
  readonly digest: string | undefined;
  readonly replicas: number;
  /** Not: as while a control plane of the earlier release shares the store. */
  readonly derives: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('write', 'write', 'write', 'scale', 'order', 'delete', 'sweep', 'relist', 'erase'),
  image: fc.constantFrom('a', 'b', 'c'),
  digest: fc.constantFrom(undefined, undefined, 'd'),
  replicas: fc.nat({ max: 3 }),
  derives: fc.boolean(),
});

/** What is promised, with every snapshot and version kept by itself. */
interface Promised {
  last: number;
  readonly versions: Map<number, string>;
  readonly snapshots: Map<string, string>;
}

interface Opened {
  readonly kv: Kv;
  readonly tenant: TenantStore;
  readonly lose: () => Promise<unknown>;
}

async function opened(kv: Kv): Promise<Opened> {
  let handlers: WatchHandlers | undefined;
  const view = await StoreView.open(
    {
      ...kv,
      watch: (prefix, after, given) => {
        handlers = given;
        return kv.watch(prefix, after, given);
      },
    },
    QUIET,
  );
  const lose = async (): Promise<unknown> => {
    const before = handlers;
    handlers?.onLost('test');
    while (handlers === before) await new Promise(setImmediate);
    return undefined;
  };
  return { kv, tenant: new Store(kv, view).forTenant(SHOP), lose };
}

function inWords({
  image,
  replicas,
  imageDigest,
}: {
  image: string;
  replicas: number;
  imageDigest?: string;
}) {
  return [image, replicas, imageDigest].join(' ');
}

async function take({ kv, tenant, lose }: Opened, promised: Promised, one: Step): Promise<void> {
  const previous = tenant.get('deployments', 'web')?.record;
  const transaction = new Transaction(SHOP, one.derives);
  const { image, replicas } = one;
  if (one.kind === 'relist') await lose();
  else if (one.kind === 'erase') {
    const { entries } = await kv.range('');
    transaction.include({ deletes: entries.map(({ key }) => key) });
    promised.versions.clear();
    promised.snapshots.clear();
  } else if (one.kind === 'write') {
    const spec = { name: 'web', image, replicas } as DeploymentRecord['spec'];
    const pin = one.digest === undefined ? {} : { imageDigest: one.digest };
    promised.last += 1;
    // As they are written, so that a start leaves them unread.
    const times = { createdAt: '', updatedAt: '' };
    const specHash = image.repeat(64);
    const record = { spec, specHash, ...pin, version: promised.last, ...times } as DeploymentRecord;
    putVersion(transaction, { previous, record }, { change: 'updated', at: '', by: 'me' });
    promised.versions.set(record.version, inWords({ ...spec, ...pin }));
    promised.snapshots.set(record.specHash, inWords({ ...spec, ...pin }));
  } else if (previous === undefined) return;
  else if (one.kind === 'scale') {
    const record = { ...previous, spec: { ...previous.spec, replicas } };
    putUnversioned(transaction, { previous, record });
  } else if (one.kind === 'order')
    putUnversioned(transaction, { previous, record: { ...previous, restart: { at: '', count: replicas } } });
  else if (one.kind === 'delete') removeDeployment(transaction, previous);
  else
    for (const { id } of tenant.list('specs'))
      if (id !== `web/${previous.specHash}`) {
        transaction.delete('specs', id);
        promised.snapshots.delete(id.slice('web/'.length));
      }
  const commit = transaction.toCommit();
  if (commit.puts?.length || commit.deletes?.length) await kv.commit(commit);
}

/** Without `replicas` where the autoscaler has chosen them: nobody reads those of a snapshot. */
const content = (text: string | undefined): string | undefined => text?.replace(/ \d+ /, ' ');

async function expectKept({ tenant }: Opened, { versions, snapshots }: Promised): Promise<void> {
  const archived = (await tenant.archives('web')).entries.map(({ record }) => record);
  expect(
    archived.map(({ version, spec, imageDigest }) => [
      version,
      inWords({ ...spec, ...(imageDigest === undefined ? {} : { imageDigest }) }),
    ]),
  ).toEqual([...versions]);
  const texts = (await tenant.archivesText('web')).entries.map(({ record }) => JSON.parse(record));
  expect(texts).toEqual(archived);
  for (const version of versions.keys())
    expect(await tenant.archived('web', version)).toEqual(archived.find((one) => one.version === version));
  const held = tenant
    .list('specs')
    .map(({ id, record }) => [id.slice('web/'.length), content(inWords(record))]);
  expect(held).toEqual([...snapshots].map(([hash, text]) => [hash, content(text)]).toSorted());
}

describe('rows that a record stands for', () => {
  it('are read as if they were stored, whatever is written, by either form, and after a relist or a start', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const live = await opened(createMemoryKv());
        const promised: Promised = { last: 0, versions: new Map(), snapshots: new Map() };
        for (const one of steps) {
          await take(live, promised, one);
          await expectKept(live, promised);
          await expectKept(await opened(live.kv), promised);
        }
      }),
      { numRuns: 60 },
    );
  });
});
