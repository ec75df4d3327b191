import { LogTail, troubleIn } from './caddy-log.ts';
import type { CertificateFiles } from './certificate-files.ts';
import { type CertificateFacts, certificateFacts } from './certificates.ts';
import type { HostCertificates } from './host-certificates.ts';
import type { HttpRoute } from './route.ts';

interface News {
  /** By host. */
  readonly certificates: ReadonlyMap<string, CertificateFacts>;
  readonly problems: ReadonlyMap<string, string>;
  /** One of them was not there at the last look. */
  readonly isNew: boolean;
}

/** What became of certificates: those that there are, and what authorities said to Caddy, as its log has it. */
export class CertificateNews {
  readonly #tail: LogTail;
  readonly #troubles = new Map<string, string>();
  /** By host: until when the newest one is good. */
  readonly #seen = new Map<string, string>();

  constructor(log: string) {
    this.#tail = new LogTail(log);
  }

  async read(
    routes: readonly HttpRoute[],
    given: HostCertificates,
    files: CertificateFiles | undefined,
  ): Promise<News> {
    for (const line of await this.#tail.lines()) {
      const trouble = troubleIn(line);
      if (trouble !== undefined) this.#troubles.set(trouble.host, trouble.problem);
    }
    const pems = given.pems;
    const certificates = new Map<string, CertificateFacts>();
    let isNew = false;
    for (const { host, tls } of routes) {
      const stored = tls === 'auto' ? (await files?.pem(host))?.certificate : undefined;
      const facts = certificateFacts(pems.get(host)?.certificate ?? stored ?? '');
      if (facts === undefined) continue;
      certificates.set(host, facts);
      if (this.#seen.get(host) === facts.notAfter) continue;
      // Newer than what was refused.
      this.#troubles.delete(host);
      this.#seen.set(host, facts.notAfter);
      isNew = true;
    }
    const hosts = new Set(routes.map(({ host }) => host));
    for (const known of [this.#troubles, this.#seen])
      for (const host of known.keys()) if (!hosts.has(host)) known.delete(host);
    return { certificates, problems: new Map([...this.#troubles, ...given.problems]), isNew };
  }
}
