import { ROLES, type Role } from './tenant.ts';

/** What a route asks for. The table below is the whole of authorisation: default deny, read by the matrix test too. */
export type Permission =
  | 'read'
  | 'deploy'
  | 'secrets.read'
  | 'secrets.write'
  | 'nodes.manage'
  | 'volumes.manage'
  | 'exec'
  | 'tokens.manage'
  | 'policy.manage'
  | 'audit.read'
  | 'tenants.manage'
  | 'metrics.read'
  | 'system.debug'
  | 'node.session'
  | 'node.enrol';

const TENANT_ADMIN: readonly Permission[] = [
  'read',
  'deploy',
  'secrets.read',
  'secrets.write',
  'nodes.manage',
  'volumes.manage',
  'exec',
  'tokens.manage',
  'policy.manage',
  'audit.read',
];

/** No role can read a secret value back: there is no permission for it. */
export const PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  'platform-admin': [...TENANT_ADMIN, 'tenants.manage', 'metrics.read', 'system.debug'],
  'tenant-admin': TENANT_ADMIN,
  deployer: ['read', 'deploy', 'secrets.read', 'volumes.manage', 'exec'],
  'secret-writer': ['secrets.read', 'secrets.write', 'read'],
  viewer: ['read', 'secrets.read'],
  metrics: ['metrics.read'],
  node: ['node.session'],
};

export function allows(role: Role, permission: Permission): boolean {
  return PERMISSIONS[role].includes(permission);
}

/** Roles that may do any of these, for a refusal to name. */
export function rolesThatMay(permissions: readonly Permission[]): readonly Role[] {
  return ROLES.filter((role) => permissions.some((permission) => allows(role, permission)));
}
