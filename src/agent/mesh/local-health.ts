import type { MeshMap } from '../../core/protocol/agent-protocol.ts';

type Services = MeshMap['services'];

/** What the engine says of an instance of this node: where it takes connections, or that it takes none. */
export type LocalPlace = { readonly address: string } | 'none';

/**
 * The map as this node sees it: of what runs here the engine knows first, and goes on knowing while the control plane is away. What
 * runs elsewhere, and what nobody here knows, stays as the map says.
 */
export function withLocalHealth(
  services: Services,
  node: string,
  placeOf: (instanceId: string) => LocalPlace | undefined,
): Services {
  return services.map((service) => {
    const left: string[] = [];
    const instances = service.instances.flatMap((instance) => {
      const place = instance.node === node ? placeOf(instance.id) : undefined;
      if (place === undefined) return [instance];
      if (place !== 'none') return [{ ...instance, address: place.address }];
      left.push(instance.address);
      return [];
    });
    // It is still the same container, which may connect itself.
    return {
      ...service,
      instances,
      ...(left.length > 0 && { others: [...(service.others ?? []), ...left] }),
    };
  });
}
