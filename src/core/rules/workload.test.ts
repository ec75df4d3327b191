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
    { resources: { requests: { memory: '1000000000' }, limits: { memory: '1G' } } },
    { resources: { limits: { cpu: 1 } } },
    { ports: [{ container: 1 }, { container: 65_535, host: 1 }, { container: 1, host: 65_535 }] },
    { ingress: { host: 'shop.example.com', port: 8080 } },
    { ingress: { host: 'localhost', port: 1 } },
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

  it('a host name of any length is judged in little time', () => {
    const started = performance.now();
    for (const host of ['a'.repeat(1e6), 'a-'.repeat(5e5), `${'a.'.repeat(5e5)}!`])
      expect(refuse({ ingress: { host, port: 1 } })?.[0]).toBe('ingress_invalid');
    expect(performance.now() - started).toBeLessThan(500);
  });
});
