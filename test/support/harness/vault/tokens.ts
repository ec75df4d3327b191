import { randomUUID } from 'node:crypto';
import { data, errors, type Reply } from './reply.ts';

export interface IssuedToken {
  ttlMs: number;
  renewable: boolean;
  expiresAt: number;
  renewals: number;
}

export interface AppRole {
  readonly roleId: string;
  secretId: string;
  ttlSeconds: number;
  /** Where it is mounted, below auth/. */
  mount: string;
}

/** Tokens and one AppRole. */
export class Tokens {
  readonly root = `hvs.${randomUUID()}`;
  readonly appRole: AppRole = {
    roleId: randomUUID(),
    secretId: randomUUID(),
    ttlSeconds: 3600,
    mount: 'approle',
  };
  readonly issued = new Map<string, IssuedToken>();

  issue(ttlSeconds: number, renewable = true): string {
    const token = `hvs.${randomUUID()}`;
    const ttlMs = ttlSeconds * 1000;
    this.issued.set(token, { ttlMs, renewable, expiresAt: performance.now() + ttlMs, renewals: 0 });
    return token;
  }

  isGood(token: string | undefined): token is string {
    if (token === this.root) return true;
    const issued = token === undefined ? undefined : this.issued.get(token);
    return issued !== undefined && performance.now() < issued.expiresAt;
  }

  login(body: unknown): Reply {
    const { role_id, secret_id } = body as { role_id?: unknown; secret_id?: unknown };
    if (role_id !== this.appRole.roleId || secret_id !== this.appRole.secretId)
      return errors(400, 'invalid role or secret ID');
    const client_token = this.issue(this.appRole.ttlSeconds);
    const auth = { client_token, lease_duration: this.appRole.ttlSeconds, renewable: true };
    return { status: 200, body: { auth } };
  }

  lookUp(token: string): Reply {
    const issued = this.issued.get(token);
    if (issued === undefined) return data({ ttl: 0, renewable: false });
    const ttl = Math.ceil((issued.expiresAt - performance.now()) / 1000);
    return data({ ttl, renewable: issued.renewable });
  }

  renew(token: string): Reply {
    const issued = this.issued.get(token);
    if (issued === undefined || !issued.renewable) return errors(400, 'lease is not renewable');
    issued.expiresAt = performance.now() + issued.ttlMs;
    issued.renewals += 1;
    const auth = { client_token: token, lease_duration: issued.ttlMs / 1000, renewable: true };
    return { status: 200, body: { auth } };
  }
}
