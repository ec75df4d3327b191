import { describe, expect, it } from 'vitest';
import { type Layer4Route, layer4Rules, listener, portProblem } from './layer4.ts';

const PLACE = { prefix: '10.210.0.0/16', virtualPrefix: '10.211.0.0/16', gateway: '10.210.0.1' };
const ROUTE: Layer4Route = {
  deployment: 'db',
  protocol: 'tcp',
  listen: 5432,
  address: '10.211.0.2',
  port: 5433,
  tls: 'off',
};
const instance = (address: string) => ({ id: 'i', node: 'n', address });

describe('ports of deployments', () => {
  it('lead to the instances, of which each gets its share', () => {
    const instances = [instance('10.210.0.2'), instance('10.210.1.2')];
    const rules = layer4Rules([ROUTE], [{ name: 'db', address: ROUTE.address, instances }], PLACE);
    expect(rules).toContain(
      'tcp dport 5432 dnat ip to numgen random mod 2 map { 0 : 10.210.0.2 . 5433, 1 : 10.210.1.2 . 5433 }',
    );
    expect(rules).toContain(
      'ct original proto-dst 5432 ct status dnat ip daddr 10.210.0.0/16 snat to 10.210.0.1',
    );
  });

  it('lead nowhere without an instance', () => {
    const rules = layer4Rules([ROUTE], [{ name: 'db', address: ROUTE.address, instances: [] }], PLACE);
    expect(rules).not.toContain('dnat');
  });

  it('are not taken from what listens there, nor against the node', () => {
    expect(portProblem(ROUTE, new Set(), undefined)).toBeUndefined();
    expect(portProblem(ROUTE, new Set(['udp/5432']), undefined)).toBeUndefined();
    expect(portProblem(ROUTE, new Set(['tcp/5432']), undefined)).toContain('tcp port 5432 is in use');
    expect(portProblem(ROUTE, new Set(), ['8000-8999'])).toContain('--host-ports');
  });

  it.each([
    ['tcp', '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000', ['tcp/8080']],
    ['tcp', '   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000', []],
    ['udp', '  17: 00000000:0035 00000000:0000 07 00000000:00000000', ['udp/53']],
    ['udp', '  17: 0100007F:1F90 0100007F:0035 01 00000000:00000000', []],
    ['tcp', '', []],
  ] as const)('are in use as the kernel says: %s %s', (protocol, line, expected) => {
    expect(listener(line, protocol)).toEqual(expected);
  });
});
