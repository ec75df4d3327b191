import { expect, it } from 'vitest';
import { tenantId } from '../../../core/model/ids.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { idOf } from '../../store/record-ids.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import { neededImages } from './needed-images.ts';

const SHOP = tenantId('11111111-1111-4111-8111-111111111111');
const BANK = tenantId('22222222-2222-4222-8222-222222222222');
const digest = (digit: number): string => `sha256:${String(digit).repeat(64)}`;
const pinned = (digit: number): string => `reg.test/web@${digest(digit)}`;
/** Of that digest, whatever its tag was. */
const of = (name: string, digit: number) =>
  ({ spec: { name, image: `reg.test/web:${digit}` }, imageDigest: digest(digit) }) as never;

it('keeps what is deployed by anyone of the tenant, tried, run by a job at times, still run, or may be rolled back to', async () => {
  const kv = createMemoryKv();
  const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  const shop = store.forTenant(SHOP);
  const bank = store.forTenant(BANK);
  const seenImages = [5, 4, 3, 2].map((digit) => ({ image: `reg.test/web:${digit}`, digest: digest(digit) }));
  await shop.commit(
    shop
      .transaction()
      .put('deployments', idOf('deployments', 'web'), { ...(of('web', 5) as object), seenImages } as never)
      .put('deployments', idOf('deployments', 'shared'), of('shared', 4))
      .put('specs', idOf('specs', 'web', 'h'), {
        image: 'reg.test/web:1',
        imageDigest: digest(1),
      } as never)
      .put('canaries', idOf('canaries', 'web'), of('web', 6))
      // Between two runs it has neither instance nor container.
      .put('jobs', idOf('jobs', 'nightly'), of('nightly', 7)),
  );
  await bank.commit(bank.transaction().put('deployments', idOf('deployments', 'web'), of('web', 8)));
  const asked = [1, 2, 3, 4, 5, 6, 7, 8].map(pinned);
  const answer = () => neededImages(shop, { images: asked }, 2).map(({ image, why }) => [image, why]);
  expect(answer()).toEqual([
    [pinned(1), 'instances of deployment web run it'],
    [pinned(3), 'deployment web may be rolled back to it'],
    [pinned(4), 'deployment shared runs it'],
    [pinned(5), 'deployment web runs it'],
    [pinned(6), 'the canary of web runs it'],
    [pinned(7), 'job nightly runs it'],
  ]);
  // Deleted, while another has the same image.
  await shop.commit(shop.transaction().delete('deployments', idOf('deployments', 'web')));
  expect(answer().map(([image]) => image)).toEqual([1, 4, 6, 7].map(pinned));
  await kv.close();
});
