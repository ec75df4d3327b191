import { messageOf } from '../../core/model/values.ts';
import type { CertificateFiles } from './certificate-files.ts';
import { certificateFacts, certificateProblem, pemOf } from './certificates.ts';
import { type MaterialQuestions, UnansweredError } from './ingress-material.ts';
import type { HttpRoute, Pem } from './route.ts';

/** One that another node is about to issue is asked for so often; one that it may renew, a few times before it ends. */
const EXPECTED_MS = 3_000;
const RENEWED_MS = 5 * 60_000;
const LOOKS = 8;
const REFUSED_MS = 30_000;

interface Held {
  /** Of the secret; of an issued one, nothing. */
  readonly tag: string | undefined;
  readonly pem?: Pem;
  readonly problem?: string;
  readonly askedMs: number;
  /** The control plane did not answer: nothing is known. */
  readonly unknown: boolean;
  /** It was revoked, and is served until the next one is there. */
  readonly isRevoked?: boolean;
}

/** Certificates that Caddy is given rather than gets itself: those of secrets, and those that another node issues. In memory only. */
export class HostCertificates {
  readonly #questions: MaterialQuestions;
  readonly #held = new Map<string, Held>();

  constructor(questions: MaterialQuestions) {
    this.#questions = questions;
  }

  get pems(): ReadonlyMap<string, Pem> {
    return new Map([...this.#held].flatMap(([host, { pem }]) => (pem === undefined ? [] : [[host, pem]])));
  }

  get problems(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#held].flatMap(([host, { problem }]) => (problem === undefined ? [] : [[host, problem]])),
    );
  }

  /** What another node issued for it is worth nothing any more: the next one is asked for until it is there. */
  revoked(host: string): void {
    const held = this.#held.get(host);
    if (held?.pem !== undefined && held.tag === undefined)
      this.#held.set(host, { ...held, isRevoked: true, askedMs: -Infinity });
  }

  /** False: a certificate may exist, and could not be had yet. After a while only silence counts: a refusal may be for ever. */
  isKnown(waitedMs: number): boolean {
    const isOpen = ({ unknown, problem }: Held): boolean =>
      unknown || (problem !== undefined && waitedMs < REFUSED_MS);
    return [...this.#held.values()].every((held) => held.pem !== undefined || !isOpen(held));
  }

  /** `files` absent: this node issues itself. */
  async ensure(routes: readonly HttpRoute[], files: CertificateFiles | undefined): Promise<void> {
    const wanted = new Map<string, HttpRoute>();
    for (const route of routes) {
      const given = route.tls === 'secret' || (route.tls === 'auto' && files !== undefined);
      // Of two secrets for one host, that of the first deployment by name.
      if (given && wanted.get(route.host)?.tls !== 'secret') wanted.set(route.host, route);
    }
    for (const host of this.#held.keys()) if (!wanted.has(host)) this.#held.delete(host);
    await Promise.all([...wanted.values()].map((route) => this.#ask(route, files)));
  }

  async #ask(route: HttpRoute, files: CertificateFiles | undefined): Promise<void> {
    const { host, deployment, tls, certificate: tag } = route;
    const held = this.#held.get(host);
    const again =
      held === undefined ||
      held.tag !== tag ||
      held.unknown ||
      performance.now() - held.askedMs > (held.isRevoked === true ? EXPECTED_MS : pauseMs(held.pem));
    if (!again || (tls === 'secret' && held?.pem !== undefined && held.tag === tag)) return;
    const askedMs = performance.now();
    try {
      const pem = tls === 'secret' ? await this.#ofSecret(deployment, host) : await files?.issued(host);
      const isRevoked = held?.isRevoked === true && (pem === undefined || isSame(pem, held.pem));
      if (isRevoked) {
        this.#held.set(host, { ...held, askedMs });
        return;
      }
      const problem = pem && certificateProblem(pem, host);
      this.#held.set(host, {
        tag,
        askedMs,
        unknown: false,
        ...(problem === undefined ? pem && { pem } : { problem: `of its certificate: ${problem}` }),
      });
    } catch (error) {
      const unknown = error instanceof UnansweredError;
      // What is served already stays, whatever keeps the newer one away.
      this.#held.set(host, {
        tag,
        askedMs,
        unknown,
        ...(held?.pem && { pem: held.pem }),
        ...(held?.isRevoked === true && { isRevoked: true }),
        problem: `the certificate could not be had: ${messageOf(error)}`,
      });
    }
  }

  async #ofSecret(deployment: string, host: string): Promise<Pem> {
    const { value } = await this.#questions.get(`certificate/${deployment}/${host}`);
    if (value === undefined) throw new Error('its secret has no value');
    return pemOf(value);
  }
}

function isSame(one: Pem, other: Pem | undefined): boolean {
  return one.certificate === other?.certificate;
}

function pauseMs(pem: Pem | undefined): number {
  const facts = pem && certificateFacts(pem.certificate);
  if (facts === undefined) return EXPECTED_MS;
  const leftMs = Date.parse(facts.notAfter) - Date.now();
  return Math.min(RENEWED_MS, Math.max(EXPECTED_MS, leftMs / LOOKS));
}
