import type { MeshChange, MeshMap } from './agent-protocol.ts';

type Service = MeshMap['services'][number];
type ServiceChange = MeshChange['services'][number];
type Instance = Service['instances'][number];
type Named = { readonly name: string };

/** Entries of one message: a map of any size goes in messages that are far from a frame's limit. */
const MAX_ENTRIES = 2_000;

/** What became of a map; undefined: nothing. `whole`: more than nodes and services differs, so it is sent from its beginning. */
export function meshChange(before: MeshMap, after: MeshMap): MeshChange | 'whole' | undefined {
  if (JSON.stringify(restOf(before)) !== JSON.stringify(restOf(after))) return 'whole';
  const nodes = changed(before.nodes, after.nodes);
  const services = changed(before.services, after.services);
  const known = new Map(before.services.map((service) => [service.name, service]));
  if (nodes.set.length + nodes.gone.length + services.set.length + services.gone.length === 0)
    return undefined;
  return {
    type: 'mesh-change',
    nodes: nodes.set,
    goneNodes: nodes.gone,
    services: services.set.map((service) => serviceChange(known.get(service.name), service)),
    goneServices: services.gone,
  };
}

/** The map after a change. */
export function changedMap(map: MeshMap, change: MeshChange): MeshMap {
  const { more: _more, ...kept } = map;
  return {
    ...kept,
    nodes: merged(map.nodes, change.nodes, change.goneNodes, (_before, node) => node),
    services: merged(map.services, change.services, change.goneServices, changedService),
    ...(change.more === true && { more: true }),
  };
}

/** A whole map, in as many messages as it needs: `more` in all but the last. */
export function meshMessages(map: MeshMap): readonly (MeshMap | MeshChange)[] {
  const parts = map.services.flatMap(serviceParts);
  const [first = [], ...others] = batches(parts);
  if (others.length === 0) return [map];
  const services = first.map(({ kept: _kept, goneInstances: _gone, ...service }) => service);
  return [
    { ...map, services, more: true },
    ...others.map(
      (batch, at): MeshChange => ({
        type: 'mesh-change',
        nodes: [],
        goneNodes: [],
        services: batch,
        goneServices: [],
        ...(at < others.length - 1 && { more: true }),
      }),
    ),
  ];
}

function restOf({ nodes: _nodes, services: _services, ...rest }: MeshMap): object {
  return rest;
}

function changed<T extends Named>(before: readonly T[], after: readonly T[]) {
  const known = new Map(before.map((one) => [one.name, one]));
  const set = after.filter((one) => {
    const other = known.get(one.name);
    known.delete(one.name);
    return other !== one && JSON.stringify(other) !== JSON.stringify(one);
  });
  return { set, gone: [...known.keys()] };
}

function serviceChange(before: Service | undefined, after: Service): ServiceChange {
  if (before === undefined) return after;
  const known = new Map(before.instances.map((one) => [one.id, one]));
  const instances = after.instances.filter((one) => {
    const other = known.get(one.id);
    known.delete(one.id);
    return other === undefined || !isSame(other, one);
  });
  return { ...after, instances, kept: true, goneInstances: [...known.keys()] };
}

/** Of plain values; there may be thousands, so nothing is written down for it. */
function isSame(one: Instance, other: Instance): boolean {
  const [a, b] = [Object.values(one), Object.values(other)];
  return a.length === b.length && a.every((value, at) => value === b[at]);
}

function changedService(before: Service | undefined, change: ServiceChange): Service {
  const { kept, goneInstances = [], ...service } = change;
  if (kept !== true || before === undefined) return service;
  const instances = new Map(before.instances.map((one) => [one.id, one]));
  for (const id of goneInstances) instances.delete(id);
  for (const one of service.instances) instances.set(one.id, one);
  return { ...service, instances: [...instances.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
}

function merged<T extends Named, C extends Named>(
  before: readonly T[],
  set: readonly C[],
  gone: readonly string[],
  next: (before: T | undefined, change: C) => T,
): readonly T[] {
  const all = new Map(before.map((one) => [one.name, one]));
  for (const name of gone) all.delete(name);
  for (const change of set) all.set(change.name, next(all.get(change.name), change));
  return [...all.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A service of very many instances is told in several parts, the later ones beside what is there. */
function serviceParts(service: Service): readonly ServiceChange[] {
  if (service.instances.length <= MAX_ENTRIES) return [service];
  const parts: ServiceChange[] = [];
  for (let at = 0; at < service.instances.length; at += MAX_ENTRIES) {
    const instances = service.instances.slice(at, at + MAX_ENTRIES);
    parts.push({ ...service, instances, ...(at > 0 && { kept: true }) });
  }
  return parts;
}

function batches(parts: readonly ServiceChange[]): readonly (readonly ServiceChange[])[] {
  const all: ServiceChange[][] = [];
  let left = 0;
  for (const part of parts) {
    const size = 1 + part.instances.length;
    const open = all.at(-1);
    if (open === undefined || size > left) {
      all.push([part]);
      left = MAX_ENTRIES - size;
    } else {
      open.push(part);
      left -= size;
    }
  }
  return all;
}
