import type { TokenId, TenantId } from './ids.ts';

/** A browser that signed in with a token. Stored under a keyed hash of its id; the id itself is in the cookie alone. */
export interface SessionRecord {
  readonly tokenId: TokenId;
  /** The token's own tenant, so that the sessions of a deleted tenant go with it. */
  readonly tenantId: TenantId;
  readonly createdAt: string;
  /** Raised while the session is used, in steps: what is not used ends before its lifetime does. */
  readonly lastUsedAt: string;
  readonly expiresAt: string;
}
