import type { TenantId } from '../../core/model/ids.ts';
import type { Role, TokenKind } from '../../core/model/tenant.ts';

/** Who calls, established from the credential alone. */
export interface Principal {
  readonly tokenId: string;
  readonly kind: TokenKind;
  readonly role: Role;
  /** The credential's own tenant; the tenant acted for is decided per request. */
  readonly tenantId: TenantId;
}
