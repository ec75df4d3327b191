import { nearest } from '../schema/nearest.ts';
import { networkBody, type NetworkDraft } from '../contract/network-body.ts';
import { readBody } from '../schema/shape.ts';
import type { NodeName } from '../model/ids.ts';
import { TENANT_NETWORK } from '../model/network.ts';
import { isRecord } from '../model/values.ts';
import { looksPasted, received, redacted } from '../rejections/redaction.ts';
import { isRejection, reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { isName } from './name.ts';
import { labelsRule } from './placement.ts';
import { firstRejection, type Rule } from './rule.ts';

const MAX_LABELS = 64;
const MAX_NAMED_OPTION = 64;
const MAX_LISTED_NODES = 20;
const OPTIONS = Object.keys(networkBody.fields);

/** An option that the agent's wire format lacks would be lost on the way. */
function optionRule(body: unknown): Rejection | undefined {
  if (!isRecord(body)) return undefined;
  const option = Object.keys(body).find((key) => !OPTIONS.includes(key));
  if (option === undefined) return undefined;
  const near = nearest(option, OPTIONS);
  const pasted = option.length > MAX_NAMED_OPTION || looksPasted(option);
  return reject('network_option_unsupported_on_agent', {
    field: pasted ? 'body' : option,
    received: redacted(body[option]),
    ...(near === undefined ? {} : { expected: `${near} (known: ${OPTIONS.join(', ')})` }),
    why: `${pasted ? 'An option' : option} does not reach the node agent, whose wire format has name, driver, labels and internal only.`,
  });
}

const nameRule: Rule<NetworkDraft> = ({ name }) =>
  name !== undefined && isName(name) && name !== TENANT_NETWORK
    ? undefined
    : reject('network_name_invalid', {
        field: 'name',
        received: received(name),
        why:
          name === TENANT_NETWORK
            ? 'In lists of networks this name stands for the network that spans the tenant’s nodes.'
            : 'The name is required, and is used in the name of the engine’s network and as a path segment.',
      });

const driverRule: Rule<NetworkDraft> = ({ driver }) =>
  driver === undefined || driver === 'bridge'
    ? undefined
    : reject('network_driver_unsupported', {
        field: 'driver',
        received: received(driver),
        why: 'A network lives on one node; bridge is the only driver that stays inside it and inside the tenant.',
      });

const networkLabelsRule: Rule<NetworkDraft> = ({ labels = {} }) => {
  const count = Object.keys(labels).length;
  if (count <= MAX_LABELS) return labelsRule(labels);
  return reject('labels_invalid', {
    field: 'labels',
    received: `(${count} labels)`,
    expected: `at most ${MAX_LABELS} labels`,
    why: `A network carries at most ${MAX_LABELS} labels.`,
  });
};

export const networkRules: readonly Rule<NetworkDraft>[] = [nameRule, driverRule, networkLabelsRule];

export function readNetworkShape(body: unknown): NetworkDraft | Rejection {
  return optionRule(body) ?? readBody(networkBody, body);
}

/** Without I/O, in the documented order: options, shape, name, driver, labels. */
export function readNetwork(body: unknown): NetworkDraft | Rejection {
  const draft = readNetworkShape(body);
  return isRejection(draft) ? draft : (firstRejection(networkRules, draft) ?? draft);
}

/** A node on which the tenant can place workloads. */
export interface NetworkCandidate {
  readonly name: NodeName;
  /** Connected, and taking new work. */
  readonly available: boolean;
}

/**
 * The node that a network is made on. A named one may be away: the network is made when it returns. When none is
 * named the only available one is meant; if nothing is available, the only one there is.
 */
export function networkNode(
  nodeId: string | undefined,
  candidates: readonly NetworkCandidate[],
): NodeName | Rejection {
  if (candidates.length === 0) {
    return reject('network_node_candidates_unresolvable', {
      field: 'nodeId',
      received: received(nodeId),
      why: 'No node on which this tenant could place workloads is registered.',
    });
  }
  const names = (nodes: readonly NetworkCandidate[]): string =>
    nodes
      .slice(0, MAX_LISTED_NODES)
      .map(({ name }) => name)
      .join(', ');
  if (nodeId !== undefined) {
    const named = candidates.find(({ name }) => name === nodeId);
    if (named !== undefined) return named.name;
    return reject('network_node_not_a_candidate', {
      field: 'nodeId',
      received: received(nodeId),
      expected: `one of: ${names(candidates)}`,
      why: 'This tenant cannot place workloads on a node of this name.',
    });
  }
  const available = candidates.filter((node) => node.available);
  const choice = available.length > 0 ? available : candidates;
  const [only, second] = choice;
  if (only !== undefined && second === undefined) return only.name;
  return reject('network_node_required', {
    field: 'nodeId',
    received: received(nodeId),
    expected: `one of: ${names(choice)}`,
    why: `A network exists on one node, and ${choice.length} nodes could take it.`,
  });
}
