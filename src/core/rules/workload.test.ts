import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import type { DeploymentDraft } from '../contract/deployment-body.ts';
import { firstRejection } from './rule.ts';
import { limits } from '../../../test/support/samples/deployment.ts';
import { commandRule } from './command.ts';
import { dependsOnRule } from './depends-on.ts';
import { ingressRule } from './ingress.ts';
import { portsRule } from './ports.ts';
import { resourcesRule } from './resources.ts';
import { updateRule } from './update.ts';

const RULES = [commandRule, resourcesRule, portsRule, ingressRule, updateRule, dependsOnRule];

function refuse(draft: DeploymentDraft) {
  const rejection = firstRejection(RULES, { draft: { name: 'web', ...draft }, limits });
  return rejection && [rejection.code, rejection.field];
}

describe('accepted', () => {
  it.each<DeploymentDraft>([
    {},
    { command: ['/bin/web', ''] },
    { resources: {} },
    { resources: { requests: { cpu: 0.001, memory: '4Mi' }, limits: { cpu: 1024, memory: '4Mi' } } },
    { resources: { requests: { disk: '40Gi' } } },
    { resources: { requests: { memory: '1000000000' }, limits: { memory: '1G' } } },
    { resources: { limits: { cpu: 1 } } },
    { ports: [{ container: 1 }, { container: 65_535, host: 1 }, { container: 1, host: 65_535 }] },
    { ingress: { host: 'shop.example.com', port: 8080 } },
    { ingress: { host: 'localhost', port: 1 } },
    { ingress: [] },
    { ingress: [{ host: 'xn--bcher-kva.example', path: '/', port: 1, tls: 'off' }] },
    {
      ingress: [
        { host: 'a.example', port: 1 },
        { host: 'a.example', path: '/api/v1', port: 1, protocol: 'http', tls: 'auto', provider: 'caddy' },
        { host: 'a.example', port: 1, provider: 'traefik' },
        { host: 'b.example', port: 1, tls: { vault_path: 'resources/b-cert' } },
        { protocol: 'tcp', listen: 5432, port: 5432 },
        { protocol: 'udp', listen: 5432, port: 53, tls: 'off' },
      ],
    },
    { ingress: [{ host: '192.0.2.1', port: 1, tls: 'off' }] },
    { ingress: [{ host: '192.0.2.1', port: 1, provider: 'traefik' }] },
    { ingress: { host: `${'a'.repeat(63)}.b`, port: 1 } },
    { update: {} },
    { update: { maxSurge: 0, maxUnavailable: 1 } },
    { update: { maxSurge: 100, maxUnavailable: 100, progressDeadline: '1s', onFailure: 'leave' } },
    { update: { progressDeadline: '24h', onFailure: 'rollback' } },
    { dependsOn: { db: 'healthy', cache: 'started' } },
  ])('%j', (draft) => {
    expect(refuse(draft)).toBeUndefined();
  });
});

describe('refused', () => {
  it.each<readonly [DeploymentDraft, string, string]>([
    [{ command: [] }, 'command_invalid', 'command'],
    [{ command: ['', 'x'] }, 'command_invalid', 'command'],
    [{ resources: { requests: { cpu: 0 } } }, 'resources_invalid', 'resources.requests.cpu'],
    [{ resources: { requests: { cpu: -1 } } }, 'resources_invalid', 'resources.requests.cpu'],
    [{ resources: { limits: { cpu: 1024.5 } } }, 'resources_invalid', 'resources.limits.cpu'],
    [{ resources: { requests: { memory: '3Mi' } } }, 'resources_invalid', 'resources.requests.memory'],
    [{ resources: { requests: { disk: '3Mi' } } }, 'resources_invalid', 'resources.requests.disk'],
    [{ resources: { requests: { disk: '10 Gi' } } }, 'resources_invalid', 'resources.requests.disk'],
    [{ resources: { requests: { memory: '' } } }, 'resources_invalid', 'resources.requests.memory'],
    [{ resources: { limits: { memory: '1 Gi' } } }, 'resources_invalid', 'resources.limits.memory'],
    [{ resources: { limits: { memory: '9999999Ti' } } }, 'resources_invalid', 'resources.limits.memory'],
    [
      { resources: { requests: { memory: '1Gi' }, limits: { memory: '1023Mi' } } },
      'resources_invalid',
      'resources.limits.memory',
    ],
    [
      { resources: { requests: { cpu: 2 }, limits: { cpu: 1.9 } } },
      'resources_invalid',
      'resources.limits.cpu',
    ],
    [{ ports: [{}] }, 'ports_invalid', 'ports[0].container'],
    [{ ports: [{ container: 0 }] }, 'ports_invalid', 'ports[0].container'],
    [{ ports: [{ container: 65_536 }] }, 'ports_invalid', 'ports[0].container'],
    [{ ports: [{ container: 80, host: 0 }] }, 'ports_invalid', 'ports[0].host'],
    [
      {
        ports: [
          { container: 80, host: 8080 },
          { container: 81, host: 8080 },
        ],
      },
      'ports_invalid',
      'ports[1].host',
    ],
    [{ ingress: {} }, 'ingress_invalid', 'ingress.host'],
    [{ ingress: { host: 'Shop.example.com', port: 1 } }, 'ingress_invalid', 'ingress.host'],
    [{ ingress: { host: 'a`) || Host(`b', port: 1 } }, 'ingress_invalid', 'ingress.host'],
    [{ ingress: { host: 'a..b', port: 1 } }, 'ingress_invalid', 'ingress.host'],
    [{ ingress: { host: 'a.b\n', port: 1 } }, 'ingress_invalid', 'ingress.host'],
    [{ ingress: { host: `${'a'.repeat(64)}.b`, port: 1 } }, 'ingress_invalid', 'ingress.host'],
    [{ ingress: { host: `${'a.'.repeat(127)}a`, port: 1 } }, 'ingress_invalid', 'ingress.host'],
    [{ ingress: { host: 'a.b' } }, 'ingress_invalid', 'ingress.port'],
    [{ ingress: [{ host: '*.a.b', port: 1 }] }, 'ingress_invalid', 'ingress[0].host'],
    [{ ingress: [{ host: 'bücher.example', port: 1 }] }, 'ingress_invalid', 'ingress[0].host'],
    [{ ingress: [{ host: '192.0.2.1', port: 1 }] }, 'ingress_invalid', 'ingress[0].host'],
    [{ ingress: [{ host: 'a.b', path: '', port: 1 }] }, 'ingress_invalid', 'ingress[0].path'],
    [{ ingress: [{ host: 'a.b', path: 'api', port: 1 }] }, 'ingress_invalid', 'ingress[0].path'],
    [{ ingress: [{ host: 'a.b', path: '/api/', port: 1 }] }, 'ingress_invalid', 'ingress[0].path'],
    [{ ingress: [{ host: 'a.b', path: '/a/../b', port: 1 }] }, 'ingress_invalid', 'ingress[0].path'],
    [{ ingress: [{ host: 'a.b', path: '/a*', port: 1 }] }, 'ingress_invalid', 'ingress[0].path'],
    [{ ingress: [{ host: 'a.b', path: '/a%2fb', port: 1 }] }, 'ingress_invalid', 'ingress[0].path'],
    [
      { ingress: [{ host: 'a.b', path: `/${'a'.repeat(255)}`, port: 1 }] },
      'ingress_invalid',
      'ingress[0].path',
    ],
    [{ ingress: [{ host: 'a.b', port: 1, listen: 80 }] }, 'ingress_invalid', 'ingress[0].listen'],
    [{ ingress: [{ protocol: 'tcp', port: 1 }] }, 'ingress_invalid', 'ingress[0].listen'],
    [{ ingress: [{ protocol: 'tcp', listen: 0, port: 1 }] }, 'ingress_invalid', 'ingress[0].listen'],
    [{ ingress: [{ protocol: 'tcp', listen: 1 }] }, 'ingress_invalid', 'ingress[0].port'],
    [
      { ingress: [{ protocol: 'udp', listen: 1, port: 1, host: 'a.b' }] },
      'ingress_invalid',
      'ingress[0].host',
    ],
    [
      { ingress: [{ protocol: 'udp', listen: 1, port: 1, path: '/a' }] },
      'ingress_invalid',
      'ingress[0].path',
    ],
    [
      { ingress: [{ protocol: 'tcp', listen: 1, port: 1, tls: 'auto' }] },
      'ingress_invalid',
      'ingress[0].tls',
    ],
    [{ ingress: [{ protocol: 'sctp', listen: 1, port: 1 }] }, 'ingress_invalid', 'ingress[0].protocol'],
    [{ ingress: [{ host: 'a.b', port: 1, provider: 'nginx' }] }, 'ingress_invalid', 'ingress[0].provider'],
    [{ ingress: [{ host: 'a.b', port: 1, tls: 'on' }] }, 'ingress_invalid', 'ingress[0].tls'],
    [{ ingress: [{ host: 'a.b', port: 1, tls: ['auto'] }] }, 'ingress_invalid', 'ingress[0].tls'],
    [{ ingress: [{ host: 'a.b', port: 1, tls: { certificate: 'PEM' } }] }, 'field_unknown', 'ingress[0].tls'],
    [
      { ingress: [{ host: 'a.b', port: 1, tls: {} }] },
      'secret_vault_path_required',
      'ingress[0].tls.vault_path',
    ],
    [
      { ingress: [{ host: 'a.b', port: 1, tls: { vault_path: '_ingress/a' } }] },
      'secret_path_namespace',
      'ingress[0].tls.vault_path',
    ],
    [
      { ingress: [{ host: 'a.b', port: 1, tls: { vault_path: '../a' } }] },
      'secret_vault_path_not_relative',
      'ingress[0].tls.vault_path',
    ],
    [
      { ingress: [{ host: 'a.b', port: 1, tls: { vault_path: 7 } }] },
      'ingress_invalid',
      'ingress[0].tls.vault_path',
    ],
    [
      { ingress: [{ host: 'a.b', port: 1, tls: 'off', provider: 'traefik' }] },
      'ingress_invalid',
      'ingress[0].tls',
    ],
    [
      { ingress: [{ host: 'a.b', path: '/a', port: 1, provider: 'traefik' }] },
      'ingress_invalid',
      'ingress[0].path',
    ],
    [
      {
        ingress: [
          { host: 'a.b', port: 1 },
          { host: 'a.b', path: '/', port: 2 },
        ],
      },
      'ingress_invalid',
      'ingress[1].host',
    ],
    [
      {
        ingress: [
          { host: 'a.b', port: 1, provider: 'traefik' },
          { host: 'b.b', port: 1, provider: 'traefik' },
        ],
      },
      'ingress_invalid',
      'ingress[1].host',
    ],
    [
      {
        ingress: [
          { protocol: 'tcp', listen: 1, port: 1 },
          { protocol: 'tcp', listen: 1, port: 2 },
        ],
      },
      'ingress_invalid',
      'ingress[1].listen',
    ],
    [
      { ingress: Array.from({ length: 33 }, (_, at) => ({ host: `h${at}.example`, port: 1 })) },
      'ingress_invalid',
      'ingress',
    ],
    [{ update: { maxSurge: -1 } }, 'update_invalid', 'update.maxSurge'],
    [{ update: { maxSurge: 101 } }, 'update_invalid', 'update.maxSurge'],
    [{ update: { maxSurge: 0 } }, 'update_invalid', 'update.maxSurge'],
    [{ update: { maxUnavailable: 101 } }, 'update_invalid', 'update.maxUnavailable'],
    [{ update: { progressDeadline: '999ms' } }, 'update_invalid', 'update.progressDeadline'],
    [{ update: { progressDeadline: '25h' } }, 'update_invalid', 'update.progressDeadline'],
    [{ update: { progressDeadline: '' } }, 'update_invalid', 'update.progressDeadline'],
    [{ update: { onFailure: 'retry' } }, 'update_invalid', 'update.onFailure'],
    [{ dependsOn: { DB: 'healthy' } }, 'depends_on_invalid', 'dependsOn.DB'],
    [{ dependsOn: { db: 'ready' } }, 'depends_on_invalid', 'dependsOn.db'],
    [{ dependsOn: { db: null } }, 'depends_on_invalid', 'dependsOn.db'],
    [{ dependsOn: { db: ['healthy'] } }, 'depends_on_invalid', 'dependsOn.db'],
    [{ dependsOn: { web: 'healthy' } }, 'depends_on_cycle', 'dependsOn.web'],
  ])('%j is %s', (draft, code, field) => {
    expect(refuse(draft)).toEqual([code, field]);
  });

  it('an empty command is shown, unless a credential is in it', () => {
    const shown = (command: readonly string[]) => commandRule({ draft: { command }, limits })?.received;
    expect(shown(['', '--port=80'])).toBe('["","--port=80"]');
    expect(shown(['', '--password=hunter2-Zq81xPw0'])).toMatch(/^\(redacted, array, /);
  });

  it('a host name of any length is judged in little time', () => {
    const started = performance.now();
    for (const host of ['a'.repeat(1e6), 'a-'.repeat(5e5), `${'a.'.repeat(5e5)}!`])
      expect(refuse({ ingress: { host, port: 1 } })?.[0]).toBe('ingress_invalid');
    expect(performance.now() - started).toBeLessThan(500);
  });
});
