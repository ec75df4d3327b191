import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { idOf } from '../../store/record-ids.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import { JobLogs } from './job-logs.ts';
import { PlacedInstances } from '../assignments/placed-instances.ts';
import type { AgentSession } from '../sessions/session.ts';

const SHOP = '11111111-1111-4111-8111-111111111111' as TenantId;
const BANK = '22222222-2222-4222-8222-222222222222' as TenantId;

it('asks the nodes of one tenant although those of another never answer', async () => {
  const kv = createMemoryKv();
  const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  const asked: TenantId[] = [];
  const logs = new JobLogs({
    store,
    placed: new PlacedInstances(store.view),
    session: (tenantId) => {
      asked.push(tenantId);
      const silent = {
        cancel: () => undefined,
        async *[Symbol.asyncIterator]() {
          await new Promise(() => undefined);
          yield {};
        },
      };
      return { stream: () => silent } as unknown as AgentSession;
    },
    log: pino({ enabled: false }),
  });
  const ended = async (tenantId: TenantId, id: string): Promise<void> => {
    const tenant = store.forTenant(tenantId);
    const key = idOf('instances', 'job.dump', id);
    const instance = {
      id,
      deployment: 'job.dump',
      nodeId: 'n',
      wanted: 'run',
      once: { runId: 'r', attempt: 1 },
    } as unknown as InstanceRecord;
    await tenant.commit(tenant.transaction().put('instances', key, instance));
    const exited = { id: instance.id, phase: 'exited' } as const;
    await tenant.commit(tenant.transaction().put('observations', key, exited));
  };
  for (let index = 0; index < 20; index += 1) await ended(SHOP, `inst_${index}`);
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0));
  await ended(BANK, 'inst_b');
  await vi.waitFor(() => expect(asked).toContain(BANK));
  expect(asked.filter((one) => one === SHOP)).toHaveLength(4);
  logs.close();
  await kv.close();
});
