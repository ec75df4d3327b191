import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../rejections/catalogue.ts';
import { parseExample } from '../rejections/example.ts';
import { isRejection } from '../rejections/reject.ts';
import { nodeName } from '../model/ids.ts';
import { networkNode, readNetwork } from './network.ts';

const candidates = (...states: readonly boolean[]) =>
  states.map((available, index) => ({ name: nodeName(`n${index + 1}`), available }));

describe('the node of a network', () => {
  it.each([
    ['the only one', undefined, candidates(true), 'n1'],
    ['the only one, though away', undefined, candidates(false), 'n1'],
    ['the only available one', undefined, candidates(false, true, false), 'n2'],
    ['the named one', 'n2', candidates(true, true), 'n2'],
    ['the named one, though away', 'n1', candidates(false, true), 'n1'],
  ])('is %s', (_title, nodeId, nodes, expected) => {
    expect(networkNode(nodeId, nodes)).toBe(expected);
  });

  it.each([
    ['no node', undefined, candidates(), 'network_node_candidates_unresolvable'],
    ['no node, though one is named', 'n1', candidates(), 'network_node_candidates_unresolvable'],
    ['an unknown one', 'n3', candidates(true, true), 'network_node_not_a_candidate'],
    ['two available ones', undefined, candidates(true, true, false), 'network_node_required'],
    ['two that are away', undefined, candidates(false, false), 'network_node_required'],
  ])('is not found among %s', (_title, nodeId, nodes, code) => {
    const found = networkNode(nodeId, nodes);
    expect(isRejection(found) && [found.code, found.field]).toEqual([code, 'nodeId']);
  });
});

describe('the body of a network', () => {
  it.each([
    'network_name_invalid',
    'network_driver_unsupported',
    'network_option_unsupported_on_agent',
  ] as const)('is refused and accepted as the page of %s says', (code) => {
    const { failing, corrected } = CATALOGUE[code];
    expect(readNetwork(parseExample(failing).body)).toMatchObject({ rejected: true, code });
    expect(isRejection(readNetwork(parseExample(corrected).body))).toBe(false);
  });

  it('never repeats a pasted key or the value of an unknown option', () => {
    const rejection = readNetwork({ name: 'a', AKIAabcdefghijk123456789012: 'hunter2' });
    expect(JSON.stringify(rejection)).not.toMatch(/AKIA|hunter2/);
  });
});
