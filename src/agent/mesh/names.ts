import type { MeshMap } from '../../core/protocol/agent-protocol.ts';

export const DOMAIN = 'berth.internal';
/** Clients ask again so soon: a change of health is in every answer within two seconds. */
export const TTL_S = 2;

type Service = MeshMap['services'][number];

/** Addresses of a name of the tenant's network; `unknown`: it is in our domain and is not there; undefined: it is somebody else's. */
export type Found = readonly string[] | 'unknown' | undefined;

/**
 * Names that containers ask for. The name of a deployment stands for its virtual address, so that clients that resolve once keep working;
 * where it has none, for its instances.
 */
export class Names {
  readonly #services: ReadonlyMap<string, Service>;

  constructor(services: MeshMap['services']) {
    this.#services = new Map(services.map((service) => [service.name, service]));
  }

  /** Letters of names do not differ by case. */
  addresses(asked: string): Found {
    const name = asked.toLowerCase().replace(/\.$/, '');
    if (!name.includes('.')) return this.#service(name) ?? undefined;
    if (!name.endsWith(`.${DOMAIN}`)) return undefined;
    const labels = name.slice(0, -DOMAIN.length - 1).split('.');
    const [first = '', second = ''] = labels;
    if (labels.length === 1) return this.#service(first) ?? 'unknown';
    const service = labels.length === 2 ? this.#services.get(second) : undefined;
    if (service === undefined) return 'unknown';
    if (first === 'instances') return service.instances.map(({ address }) => address);
    const one = service.instances.find(({ id }) => labelOf(id) === first);
    return one === undefined ? 'unknown' : [one.address];
  }

  #service(name: string): readonly string[] | undefined {
    const service = this.#services.get(name);
    if (service === undefined) return undefined;
    return service.address === undefined
      ? service.instances.map(({ address }) => address)
      : [service.address];
  }
}

/** An underscore is no letter of a host name. */
export function labelOf(instanceId: string): string {
  return instanceId.toLowerCase().replaceAll('_', '-');
}
