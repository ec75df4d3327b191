import { describe, expect, it } from 'vitest';
import { readCells } from './cells-file.ts';
import { haproxyConfig } from './haproxy.ts';

const CELLS = {
  listen: '0.0.0.0:443',
  baseUrl: 'https://berth.example.com',
  cells: [
    { name: 'eu1', servers: ['http://10.1.0.1:7600'] },
    { name: 'eu2', servers: ['https://cp1.internal:7600', 'https://cp2.internal'], ca: '/etc/ca.pem' },
  ],
};

describe('the description of cells', () => {
  it.each([
    [{ ...CELLS, cells: [] }, 'at least one cell'],
    [{ ...CELLS, listen: '0.0.0.0:443 ssl crt x' }, 'listen must be'],
    [{ ...CELLS, listen: undefined }, 'listen must be'],
    [{ ...CELLS, baseUrl: 'https://berth.example.com/x' }, 'baseUrl must be'],
    [{ ...CELLS, default: 'us1' }, 'default must be one of eu1, eu2, not us1'],
    [{ ...CELLS, requestsPerAddress: 0 }, 'requestsPerAddress'],
    [{ ...CELLS, certificate: '/etc/a b' }, 'certificate must be'],
    [{ ...CELLS, celsl: [] }, 'celsl'],
    [{ ...CELLS, cells: [{ name: 'EU', servers: ['http://a:1'] }] }, 'cells[0].name must be'],
    [{ ...CELLS, cells: [{ name: 'toolonga1', servers: ['http://a:1'] }] }, 'cells[0].name must be'],
    [{ ...CELLS, cells: [CELLS.cells[0], CELLS.cells[0]] }, 'eu1 twice'],
    [{ ...CELLS, cells: [{ name: 'eu1', servers: [] }] }, 'cells[0].servers'],
    [{ ...CELLS, cells: [{ name: 'eu1', servers: ['http://a:1', 'https://b:1'] }] }, 'all https or all http'],
    [{ ...CELLS, cells: [{ name: 'eu1', servers: ['http://a:1\nbackend x'] }] }, 'cells[0].servers[0]'],
    [{ ...CELLS, cells: [{ name: 'eu1', servers: ['https://a:1'], ca: '/x\n  server y' }] }, 'cells[0].ca'],
    [{ ...CELLS, cells: [{ name: 'eu1', servers: ['http://a:1'], ca: '/etc/ca.pem' }] }, 'those are http'],
    [{ ...CELLS, cells: [{ name: 'eu1', servers: ['https://[fd00::1]'] }] }, 'as their certificates do'],
    [{ ...CELLS, cells: [{ name: 'eu1', servers: ['https://10.0.0.1'] }] }, 'as their certificates do'],
  ])('is refused: %j', (value, message) => expect(() => readCells(value)).toThrow(message));

  it('becomes a configuration of one line per control plane', () => {
    const text = haproxyConfig(readCells({ ...CELLS, certificate: '/etc/berth.pem' }));
    expect(text).toContain('bind 0.0.0.0:443 ssl crt /etc/berth.pem alpn http/1.1\n');
    expect(text).toContain('  server cp1 10.1.0.1:7600\n');
    expect(text).toContain(
      '  server cp2 cp2.internal:443 ssl verify required ca-file /etc/ca.pem verifyhost cp2.internal sni str(cp2.internal) check-sni cp2.internal\n',
    );
    expect(text).toContain('set-header X-Forwarded-Proto https');
    expect(text).toContain('str(eu1) if');
  });
});
