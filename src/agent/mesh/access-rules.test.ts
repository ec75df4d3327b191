import { describe, expect, it } from 'vitest';
import type { MeshMap } from '../../core/protocol/agent-protocol.ts';
import { accessRules } from './access-rules.ts';
import { meshRules } from './mesh-rules.ts';

const PLACE = {
  subnet: '10.210.0.0/24',
  gateway: '10.210.0.1',
  device: 'berth0',
  resolver: '10.211.255.254',
  bridge: { name: 'br-1', mac: '02:42:00:00:00:01' },
};
const node = (name: string, subnet: string) => ({ name, publicKey: '', port: 1, addresses: [], subnet });
const instance = (address: string) => ({ id: address, node: 'n1', address });

function map(more: Partial<MeshMap> = {}): MeshMap {
  return {
    type: 'mesh',
    prefix: '10.210.0.0/16',
    virtualPrefix: '10.211.0.0/16',
    nodes: [node('n1', '10.210.0.0/24'), node('n2', '10.210.1.0/24')],
    services: [
      {
        name: 'db',
        address: '10.211.0.1',
        instances: [instance('10.210.0.5')],
        others: ['10.210.0.6'],
        from: ['web', 'dump'],
      },
      { name: 'web', address: '10.211.0.2', instances: [instance('10.210.1.5')], others: ['10.210.0.7'] },
      { name: 'other', address: '10.211.0.3', instances: [instance('10.210.0.9')] },
      { name: 'job.dump', instances: [], others: ['10.210.1.8'] },
    ],
    ...more,
  };
}

describe('rules of sources', () => {
  it('name no set or map, which is empty in the moment at which they are replaced', () => {
    const chain = /chain sources \{\n([^}]*)\}/.exec(meshRules(map(), PLACE))?.[1] ?? '';
    expect(chain).toContain('ip saddr 10.210.0.0/16 ip daddr 10.210.0.0/16 snat to ip saddr\n');
  });
});

describe('rules of access', () => {
  it('are none while nobody asks for any', () => {
    const services = map().services.map(({ from: _from, ...rest }) => rest);
    expect(accessRules(map({ services }), PLACE)).toMatchObject({ chains: '', forwarded: '' });
    expect(meshRules(map({ services }), PLACE)).not.toContain('known');
  });

  it('let the containers of the named deployments and jobs through, whatever their health, and nobody else', () => {
    const { chains, forwarded } = accessRules(map(), PLACE);
    expect(chains).toContain(
      'chain access-db {\n    ip saddr { 10.210.1.5, 10.210.0.7, 10.210.1.8 } return\n    goto blocked',
    );
    expect(forwarded).toContain('ip daddr vmap { 10.210.0.5 : jump access-db, 10.210.0.6 : jump access-db }');
    expect(forwarded).not.toContain('10.210.0.9');
    expect(meshRules(map(), PLACE)).toContain(
      'chain to-10-211-0-1 {\n    ip saddr @known ip saddr != { 10.210.1.5, 10.210.0.7, 10.210.1.8, 10.210.0.1 } return\n    dnat to 10.210.0.5',
    );
  });

  it('refuse by the virtual address, which drops the first packet of others that was not translated', () => {
    const untranslated = /chain untranslated \{\n([^}]*(?:\{[^}]*\}[^}]*)*?)  \}\n/.exec(
      meshRules(map(), PLACE),
    )?.[1];
    expect(untranslated?.trim().split(/\n\s*/)).toEqual([
      'ip daddr 10.211.0.1 ip saddr @known ip saddr != { 10.210.1.5, 10.210.0.7, 10.210.1.8, 10.210.0.1 } goto refused',
      'ip daddr @served tcp flags syn drop',
      'goto refused',
    ]);
    expect(meshRules(map(), PLACE)).toContain('elements = { 10.211.0.1, 10.211.0.2, 10.211.0.3 }');
  });

  it('guard the containers of the own node only', () => {
    const { forwarded } = accessRules(map(), { subnet: '10.210.1.0/24', gateway: '10.210.1.1' });
    expect(forwarded).not.toContain('vmap');
  });

  it('let nobody through for an empty list', () => {
    const [db, ...rest] = map().services;
    if (db === undefined) throw new Error('no service');
    const { chains } = accessRules(map({ services: [{ ...db, from: [] }, ...rest] }), PLACE);
    expect(chains).toContain('chain access-db {\n    goto blocked');
  });

  it('let the gateways of ingress nodes through, of those alone', () => {
    const [db, ...rest] = map().services;
    if (db === undefined) throw new Error('no service');
    const services = [{ ...db, from: ['ingress'] }, ...rest];
    const { chains } = accessRules(map({ services, ingressNodes: ['n2'] }), PLACE);
    expect(chains).toContain('chain access-db {\n    ip saddr { 10.210.1.1 } return');
    expect(accessRules(map({ services }), PLACE).chains).toContain('chain access-db {\n    goto blocked');
  });
});
