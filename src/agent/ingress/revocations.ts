import { revokeAtAuthority } from './acme-revocation.ts';
import type { CertificateFiles } from './certificate-files.ts';
import { type CertificateFacts, certificateFacts } from './certificates.ts';
import type { IngressAcme, Pem } from './route.ts';

interface Revoked {
  readonly pem: Pem;
  /** Caddy was told that it does not look after this host any more; it forgets what it knew of it then. */
  isForgotten: boolean;
}

/** Certificates that the authority was asked to revoke. They are served until there are others, so that no request fails for it. */
export class Revocations {
  readonly #revoked = new Map<string, Revoked>();
  readonly #underWay = new Map<string, Promise<CertificateFacts>>();

  /** By host, what is served meanwhile. */
  get pems(): ReadonlyMap<string, Pem> {
    return new Map([...this.#revoked].map(([host, { pem }]) => [host, pem]));
  }

  /** Caddy asks for none of these before it has forgotten the one that it had. */
  get withheld(): ReadonlySet<string> {
    return new Set([...this.#revoked].flatMap(([host, { isForgotten }]) => (isForgotten ? [] : [host])));
  }

  /** Asked for twice at once, it is done once. */
  revoke(host: string, files: CertificateFiles, acme: IngressAcme): Promise<CertificateFacts> {
    const underWay = this.#underWay.get(host);
    if (underWay !== undefined) return underWay;
    const revoking = this.#revoke(host, files, acme).finally(() => this.#underWay.delete(host));
    this.#underWay.set(host, revoking);
    return revoking;
  }

  async #revoke(host: string, files: CertificateFiles, acme: IngressAcme): Promise<CertificateFacts> {
    if (this.#revoked.has(host)) throw new Error('it was revoked already, and the next one is awaited');
    const pem = await files.pem(host);
    const facts = pem && certificateFacts(pem.certificate);
    if (pem === undefined || facts === undefined) throw new Error('no certificate was issued for it yet');
    await revokeAtAuthority(acme, pem);
    await files.forget(host);
    this.#revoked.set(host, { pem, isForgotten: false });
    return facts;
  }

  /**
   * Of hosts that are served no more, or have another one, nothing is left. What Caddy was just renewing when it was revoked has the
   * same key, and goes the same way. `hosts` empty: another node issues.
   */
  async settle(
    hosts: ReadonlySet<string>,
    files: CertificateFiles | undefined,
    acme: IngressAcme | undefined,
  ) {
    for (const [host, { pem: before, isForgotten }] of this.#revoked) {
      const pem = hosts.has(host) ? await files?.pem(host) : undefined;
      const isAnother = pem !== undefined && pem.key !== before.key;
      if (!hosts.has(host) || (isAnother && isForgotten)) this.#revoked.delete(host);
      if (isAnother || pem === undefined || files === undefined || acme === undefined) continue;
      await revokeAtAuthority(acme, pem);
      await files.forget(host);
      this.#revoked.set(host, { pem: before, isForgotten: false });
    }
  }

  /** Caddy has what `withheld` said. True: it is to be given another configuration. */
  loaded(withheld: ReadonlySet<string>): boolean {
    for (const host of withheld) {
      const revoked = this.#revoked.get(host);
      if (revoked !== undefined) revoked.isForgotten = true;
    }
    return withheld.size > 0;
  }
}
