import { describe, expect, it } from 'vitest';
import { ID_PREFIXES } from './ids.ts';
import { allows, PERMISSIONS, type Permission } from './permission.ts';
import { ROLES, type Role } from './tenant.ts';

const ALL = new Set<Permission>(Object.values(PERMISSIONS).flat());

describe('the permission table', () => {
  it('has a row for every role', () => {
    expect(Object.keys(PERMISSIONS).sort()).toEqual([...ROLES].sort());
  });

  it.each<readonly [Role, readonly Permission[]]>([
    ['viewer', ['read', 'secrets.read']],
    ['secret-writer', ['read', 'secrets.read', 'secrets.write']],
    ['deployer', ['read', 'deploy', 'secrets.read', 'volumes.manage', 'exec']],
    ['metrics', ['metrics.read']],
    ['node', ['node.session']],
  ])('%s may exactly %j', (role, permissions) => {
    expect([...ALL].filter((permission) => allows(role, permission)).sort()).toEqual([...permissions].sort());
  });

  it('only the platform manages tenants, and only nodes hold sessions', () => {
    expect(ROLES.filter((role) => allows(role, 'tenants.manage'))).toEqual(['platform-admin']);
    expect(ROLES.filter((role) => allows(role, 'metrics.read'))).toEqual(['platform-admin', 'metrics']);
    expect(ROLES.filter((role) => allows(role, 'node.session'))).toEqual(['node']);
    expect(ROLES.filter((role) => allows(role, 'tokens.manage'))).toEqual(['platform-admin', 'tenant-admin']);
    expect(ROLES.filter((role) => allows(role, 'audit.read'))).toEqual(['platform-admin', 'tenant-admin']);
  });

  it('who may deploy may run commands: a job may have one in a deployment', () => {
    expect(ROLES.filter((role) => allows(role, 'deploy') && !allows(role, 'exec'))).toEqual([]);
  });

  it('an administrator of the platform may whatever one of a tenant may', () => {
    for (const permission of PERMISSIONS['tenant-admin'])
      expect(allows('platform-admin', permission)).toBe(true);
  });
});

it('no two kinds of id look alike', () => {
  const prefixes = Object.values(ID_PREFIXES);
  expect(new Set(prefixes).size).toBe(prefixes.length);
});
