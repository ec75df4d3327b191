import type { TenantId, TokenId } from './ids.ts';
import type { KindAmounts } from './quota.ts';

export const PLATFORM_SLUG = 'platform';

export interface Tenant {
  readonly id: TenantId;
  readonly slug: string;
  readonly name: string;
  readonly createdAt: string;
}

/**
 * What a tenant may place, store and follow. Unset = no limit for containers, cpu and memory, and the platform's default for the rest.
 * A quota that is reached stops what would add and shrinks nothing.
 */
export interface Quota {
  readonly containers?: number;
  readonly cpu?: number;
  readonly memoryBytes?: number;
  /** Stored records by kind. */
  readonly records?: KindAmounts;
  /** Their bytes. */
  readonly bytes?: KindAmounts;
  /** Event streams and followed logs at a time. */
  readonly streams?: number;
}

export type Role =
  | 'platform-admin'
  | 'tenant-admin'
  | 'deployer'
  | 'secret-writer'
  | 'viewer'
  | 'metrics'
  | 'node';

export const ROLES: readonly Role[] = [
  'platform-admin',
  'tenant-admin',
  'deployer',
  'secret-writer',
  'viewer',
  'metrics',
  'node',
];

export const TOKEN_KINDS = ['pat', 'join', 'node'] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

export interface TokenRecord {
  readonly id: TokenId;
  readonly kind: TokenKind;
  readonly tenantId: TenantId;
  readonly role: Role;
  readonly name: string;
  /** HMAC-SHA-256 of the secret part, hex. The token itself is shown once and kept nowhere. */
  readonly hash: string;
  /** Of a node token that is being renewed: of the secret that takes the place of the other once the agent has it. */
  readonly nextHash?: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  /** Of a node token: whose it is. Of a join token: the only name it may enrol. */
  readonly nodeName?: string;
}
