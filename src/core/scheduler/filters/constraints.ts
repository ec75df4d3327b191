import type { NodeState } from '../node-state.ts';
import type { PlacementRequest } from '../request.ts';
import type { ClusterFacts, Filter } from './filter.ts';

type Constraint = readonly [key: string, value: string];

const MAX_QUOTED = 8;

export const constraints: Filter = {
  name: 'constraints',
  scope: 'node',
  steady: true,
  admits: ({ node }, request) => {
    const wanted = request.placement?.constraints;
    for (const key in wanted) if (valueOf(node.record.labels, key) !== wanted[key]) return false;
    return true;
  },
  required: (request) =>
    entries(request)
      .map(([key, value]) => `${key}=${value}`)
      .join(', ') || 'nothing',
  reported: (state, request) =>
    entries(request)
      .map(([key]) => describe(state, key))
      .join(', ') || 'nothing asked',
  refusal: (state, request, facts) => {
    const unmet = entries(request).filter(([key, value]) => valueOf(state.node.record.labels, key) !== value);
    const unknown = unmet.some(([key]) => !facts.advertised().has(key));
    return {
      code: unknown ? 'label_unknown_everywhere' : 'label_mismatch',
      message: unmet.map((constraint) => sentence(state, constraint, facts)).join('; '),
    };
  },
};

function entries(request: PlacementRequest): readonly Constraint[] {
  return Object.entries(request.placement?.constraints ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Own members only: a constraint named `constructor` is a label like any other. */
function valueOf(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function describe({ node }: NodeState, key: string): string {
  const value = valueOf(node.record.labels, key);
  return value === undefined ? `no label ${key}` : `${key}=${value}`;
}

function sentence(state: NodeState, [key, value]: Constraint, facts: ClusterFacts): string {
  const advertised = facts.advertised();
  if (!advertised.has(key)) {
    const near = advertised.nearKeys(key);
    const hint = near.length > 0 ? `similar labels: ${near.join(', ')}` : known(advertised.keys());
    return `needs label ${key}=${value}, but no node has a label ${key}; ${hint}`;
  }
  const others = quoted(advertised.values(key));
  return `needs label ${key}=${value}, the node has ${describe(state, key)}; nodes advertise ${key}: ${others}`;
}

function known(keys: readonly string[]): string {
  return keys.length === 0 ? 'no node has any label' : `labels that nodes have: ${quoted(keys)}`;
}

function quoted(values: readonly string[]): string {
  const more = values.length - MAX_QUOTED;
  return values.slice(0, MAX_QUOTED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
