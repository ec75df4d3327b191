import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import type { EventRecord } from '../core/model/event.ts';
import { platformTenantId } from './access/authenticate.ts';
import type { Clock } from './clock.ts';
import type { Journal } from './journal/journal.ts';
import type { Store, TenantStore } from './store/store.ts';

/** As for certificates of the ingress. */
const EXPIRING_MS = 14 * 24 * 3_600_000;
const LOOK_MS = 60_000;
const SLICE = 250;
const EXPIRING = 'certificate.expiring';
const RENEWED = 'certificate.renewed';

export interface OwnCertificateOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeName: string;
  /** The file that is served. */
  readonly read: () => string;
}

/**
 * Tells in the platform's tenant that the certificate of this control plane ends soon, and that it was renewed. What was told stands in the journal:
 * a process that starts anew does not tell it again, until the journal has forgotten it.
 */
export class OwnCertificate {
  readonly #options: OwnCertificateOptions;
  #timer: NodeJS.Timeout | undefined;
  /** When the certificate ends of which was told; undefined: there is nothing to be told the end of. */
  #told: string | undefined;
  #isRead = false;

  constructor(options: OwnCertificateOptions) {
    this.#options = options;
  }

  start(): void {
    const look = (): void => {
      this.look().catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'the end of the certificate could not be told'),
      );
    };
    this.#timer = setInterval(look, LOOK_MS).unref();
    look();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    const { store, clock, read } = this.#options;
    const platform = platformTenantId(store);
    const end = certificateEnd(read);
    if (platform === undefined || end === undefined) return;
    const tenant = store.forTenant(platform);
    if (!this.#isRead) this.#told = endTold(await this.#newest(tenant));
    this.#isRead = true;
    const isExpiring = end.getTime() - clock.now().getTime() < EXPIRING_MS;
    const next = isExpiring ? end.toISOString() : undefined;
    if (next === this.#told) return;
    // Another one of this name may have told it meanwhile; what the journal has forgotten, this process has not.
    const newest = await this.#newest(tenant);
    const told = newest === undefined ? this.#told : endTold(newest);
    if (next !== told) await this.#tell(tenant, isExpiring, end.toISOString());
    this.#told = next;
  }

  async #tell(tenant: TenantStore, isExpiring: boolean, notAfter: string): Promise<void> {
    const { journal, nodeName: name } = this.#options;
    const transaction = tenant.transaction();
    journal.event(transaction, tenant.tenantId, {
      kind: isExpiring ? EXPIRING : RENEWED,
      subject: { kind: 'ControlPlane', name },
      message: isExpiring
        ? `the certificate of control plane ${name} ends ${notAfter}; replace the files of tls.cert and tls.key`
        : `the certificate of control plane ${name} was renewed, until ${notAfter}`,
      details: { notAfter },
    });
    const result = await tenant.commit(transaction);
    if (!result.ok) throw new Error('the store did not take the event');
  }

  /** The newest event about it. */
  async #newest(tenant: TenantStore): Promise<EventRecord | undefined> {
    let after: string | undefined;
    let newest: EventRecord | undefined;
    do {
      const { entries } = await tenant.rangeCold('events', '', {
        limit: SLICE,
        ...(after !== undefined && { after }),
      });
      newest = entries.findLast(({ record }) => this.#isAbout(record))?.record ?? newest;
      after = entries.length === SLICE ? entries.at(-1)?.id : undefined;
    } while (after !== undefined);
    return newest;
  }

  #isAbout({ kind, subject }: EventRecord): boolean {
    const { nodeName } = this.#options;
    return (
      (kind === EXPIRING || kind === RENEWED) && subject.kind === 'ControlPlane' && subject.name === nodeName
    );
  }
}

/** When the certificate ends of which that event tells; undefined: it tells of none that ends soon. */
function endTold(event: EventRecord | undefined): string | undefined {
  return event?.kind === EXPIRING ? String(event.details['notAfter']) : undefined;
}

/** Undefined while the file cannot be read: it is being replaced, or another part says so. */
export function certificateEnd(read: () => string): Date | undefined {
  try {
    return new X509Certificate(read()).validToDate;
  } catch {
    return undefined;
  }
}
