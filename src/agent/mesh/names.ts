import type { MeshMap } from '../../core/protocol/agent-protocol.ts';

export const DOMAIN = 'berth.internal';
/** Clients ask again so soon: a change of health is in every answer within two seconds. */
export const TTL_S = 2;

type Service = MeshMap['services'][number];

export interface NamedPlace {
  readonly target: string;
  readonly port: number;
  readonly address: string;
}

/** What a name of the tenant's network stands for; `unknown`: it is in our domain and is not there; undefined: it is somebody else's. */
export type Found =
  | {
      readonly addresses: readonly string[];
      /** Declared ports of each instance. */
      readonly places: readonly NamedPlace[];
    }
  | 'unknown'
  | undefined;

const NOTHING: Found = { addresses: [], places: [] };

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
  find(asked: string): Found {
    const name = asked.toLowerCase().replace(/\.$/, '');
    if (name === DOMAIN) return NOTHING;
    if (!name.includes('.')) return this.#service(name);
    if (!name.endsWith(`.${DOMAIN}`)) return undefined;
    const labels = name.slice(0, -DOMAIN.length - 1).split('.');
    const last = this.#services.get(labels.at(-1) ?? '');
    if (last === undefined) return 'unknown';
    return labels.length === 1 ? this.#service(last.name) : below(last, labels.slice(0, -1));
  }

  #service(name: string): Found {
    const service = this.#services.get(name);
    if (service === undefined) return undefined;
    const { address, instances } = service;
    return {
      addresses: address === undefined ? instances.map((one) => one.address) : [address],
      places: placesOf(service, service.ports ?? []),
    };
  }
}

/** `instances.`, `<instance>.`, and `_<port>._tcp.` or `_<port>._udp.` of a declared port. */
function below(service: Service, labels: readonly string[]): Found {
  const [first = '', second] = labels;
  const { instances, ports = [] } = service;
  if (labels.length === 2 && (second === '_tcp' || second === '_udp')) {
    const port = ports.find((declared) => `_${declared}` === first);
    return port === undefined ? 'unknown' : { addresses: [], places: placesOf(service, [port]) };
  }
  if (labels.length > 1) return 'unknown';
  if (first === 'instances')
    return { addresses: instances.map(({ address }) => address), places: placesOf(service, ports) };
  const one = instances.find(({ id }) => labelOf(id) === first);
  if (one === undefined) return 'unknown';
  return { addresses: [one.address], places: placesOf({ ...service, instances: [one] }, ports) };
}

function placesOf({ name, instances }: Service, ports: readonly number[]): readonly NamedPlace[] {
  return instances.flatMap(({ id, address }) =>
    ports.map((port) => ({ target: `${labelOf(id)}.${name}.${DOMAIN}`, port, address })),
  );
}

/** An underscore is no letter of a host name. */
export function labelOf(instanceId: string): string {
  return instanceId.toLowerCase().replaceAll('_', '-');
}
