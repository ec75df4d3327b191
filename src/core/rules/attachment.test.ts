import { describe, expect, it } from 'vitest';
import type { DeploymentDraft } from '../contract/deployment-body.ts';
import { accessRule, networksRule } from './attachment.ts';
import type { DeploymentInput, Limits } from './rule.ts';

const input = (draft: DeploymentDraft): DeploymentInput => ({ draft, limits: {} as Limits });

describe('networks of a workload', () => {
  it.each([
    [['backend'], undefined],
    [['backend', 'tenant'], undefined],
    [['tenant'], undefined],
    [[], 'networks'],
    [Array.from({ length: 17 }, (_, at) => `n${at}`), 'networks'],
    [['Backend'], 'networks[0]'],
    [['a', ''], 'networks[1]'],
    [['a', 'b', 'a'], 'networks[2]'],
  ])('%j', (networks, field) => {
    expect(networksRule(input({ networks }))?.field).toBe(field);
  });
});

describe('access to a deployment', () => {
  it.each([
    [{ access: { from: ['web'] } }, undefined],
    [{ access: { from: [] } }, undefined],
    [{ access: { from: ['web'] }, networks: ['tenant', 'back'] }, undefined],
    [{ access: { from: ['ingress'] }, ingress: [{ host: 'a', port: 1 }] }, undefined],
    [{ access: { from: [] }, ingress: [{ host: 'a', port: 1, provider: 'traefik' }] }, undefined],
    [{ access: {} }, 'access.from'],
    [{ access: { from: ['web', 'W'] } }, 'access.from[1]'],
    [{ access: { from: ['web', 'web'] } }, 'access.from[1]'],
    [{ access: { from: ['web'] }, networks: ['back'] }, 'access'],
    [{ access: { from: ['web'] }, ingress: [{ host: 'a', port: 1 }] }, 'access.from'],
  ])('%j', (draft, field) => {
    expect(accessRule(input(draft as DeploymentDraft))?.field).toBe(field);
  });
});
