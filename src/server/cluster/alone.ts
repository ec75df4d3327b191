import { StoreLineage } from '../agents/assignments/store-lineage.ts';
import type { StoreFormat } from '../store/format.ts';
import type { Store } from '../store/store.ts';
import type { Cluster } from './cluster.ts';

/** The only control plane of its store: it decides for everybody and sees its own writes. */
export function alone(store: Store, format: StoreFormat): Cluster {
  let lineage: StoreLineage | undefined;
  return {
    id: undefined,
    forControllers: { store, owns: () => true },
    forDispatch: {},
    forApi: {},
    repeatsLeases: true,
    paths: [],
    gauges: [],
    opened: async () => {
      lineage ??= new StoreLineage(store);
    },
    storeLineage: () => lineage,
    caughtUp: async () => undefined,
    mayMakeRootKey: async () => true,
    agreeOnRootKey: async () => undefined,
    join: async () => undefined,
    raiseFormat: () => format.raise(store.kv, async () => []),
    start: () => undefined,
    leave: async () => undefined,
    endpoints: () => ({}),
    admit: (_socket, proceed) => proceed(),
    usage: async () => [],
    scalingView: (own, tenantId, deployment) => own.scalingView(tenantId, deployment),
    history: async () => ({ parts: [], isPartial: false }),
    askSystem: async () => 'there is no other control plane',
    renewed: async () => undefined,
    status: () => ({}),
  };
}
