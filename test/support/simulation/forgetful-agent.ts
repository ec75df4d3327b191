import { type NodeView, planInstance } from '../../../src/agent/containers/plan.ts';

/** By process, for which its set of images stands: the containers that were there before it. */
const before = new WeakMap<NodeView['images'], ReadonlySet<string>>();

function onlyOwn(view: NodeView): NodeView {
  const known = before.get(view.images) ?? new Set([...view.containers.values()].flat().map(({ id }) => id));
  before.set(view.images, known);
  const own = [...view.containers].map(
    ([instance, list]) => [instance, list.filter(({ id }) => !known.has(id))] as const,
  );
  const taken = [...view.takenNames.keys()].map((name) => [name, ''] as const);
  return { ...view, containers: new Map(own), takenNames: new Map(taken) };
}

/** A planted bug: the agent does not see what it made before its restart. */
export const planForgetfully: typeof planInstance = (view, id) => planInstance(onlyOwn(view), id);
