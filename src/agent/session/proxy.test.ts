import { describe, expect, it } from 'vitest';
import { isExempt, parseProxy } from './proxy.ts';

it.each([
  ['http://proxy.example.com:3128', { host: 'proxy.example.com', port: 3128 }],
  ['proxy.example.com', { host: 'proxy.example.com', port: 80 }],
  ['10.0.0.1:8080', { host: '10.0.0.1', port: 8080 }],
  ['http://[fd00::1]:8080/', { host: 'fd00::1', port: 8080 }],
  ['http://a%40b:p%3A@p:1', { host: 'p', port: 1, authorization: `Basic ${btoa('a@b:p:')}` }],
  ['http://u:100%@p:1', undefined],
  ['https://proxy.example.com', undefined],
  ['socks5://proxy:1080', undefined],
  ['http://', undefined],
])('%s', (text, proxy) => {
  expect(parseProxy(text)).toEqual(proxy);
});

describe('without the proxy', () => {
  it.each([
    ['https://berth.example.com', 'example.com', true],
    ['https://berth.example.com', '.example.com', true],
    ['https://berth.example.com', '*.example.com', true],
    ['https://berth.example.com', 'other.org, berth.example.com', true],
    ['https://berth.example.com', 'ample.com', false],
    ['https://berth.example.com', 'example.com:8443', false],
    ['https://berth.example.com:8443', 'example.com:8443', true],
    ['https://berth.example.com', '*', true],
    ['https://10.1.2.3', '10.1.2.3', true],
    ['https://10.1.2.3', '10.1.2.4', false],
    ['https://10.1.2.3', '192.168.0.0/16,10.0.0.0/8', true],
    ['https://11.1.2.3', '10.0.0.0/8', false],
    ['https://10.1.2.3', '10.0.0.0/33', false],
    ['https://10.1.2.3:8443', '10.0.0.0/8:443', false],
    ['https://[fd00::1]', 'fd00::/8', true],
    ['https://[fe80::1]', 'fd00::/8', false],
    ['https://berth.example.com', '0.0.0.0/0', false],
    ['https://127.0.0.1:7600', '', true],
    ['https://[::1]:7600', '', true],
    ['https://localhost', '', true],
    ['https://berth.example.com', '', false],
  ])('%s, NO_PROXY=%s: %s', (server, list, exempt) => {
    expect(isExempt(new URL(server), list)).toBe(exempt);
  });
});
