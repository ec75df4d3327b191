import { setTimeout as pause } from 'node:timers/promises';
import { type Client, named } from './client.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { textOf } from './fields.ts';
import type { Deployment } from './records.ts';
import type { Session } from './session.ts';
import { spanText } from './table.ts';
import { watched } from './watching.ts';

const POLL_MS = 500;
const REQUEST_MS = 5_000;
/** By then the other ingress nodes have the certificate too that the first one got. */
const ANSWER_MS = 10_000;

export type IngressStatus = NonNullable<NonNullable<Deployment['status']>['ingress']>[number];

/** Until a node serves the host; then one request through it, as anybody would send it. */
export async function waitUntilServed(
  session: Session,
  client: Client,
  { name, host }: { readonly name: string; readonly host: string },
  timeoutMs: number,
): Promise<ExitCode> {
  const deadline = performance.now() + timeoutMs;
  let last = 'not served yet';
  return watched(session, host, async (step) => {
    const { status } = await client.record('GET /api/v1/deployments/{name}', named(name));
    const way = status?.ingress?.find((one) => one.host === host);
    if (way?.state === 'serving') {
      step.done(`served by ${(way.nodes ?? []).join(', ')}`);
      await showAnswer(session, way);
      return EXIT.ok;
    }
    last = way === undefined ? last : [textOf(way.state), textOf(way.problem)].filter(Boolean).join(': ');
    if (way?.state === 'unserved' || performance.now() >= deadline) {
      step.fail(way?.state === 'unserved' ? last : `not served within ${spanText(timeoutMs)}: ${last}`);
      session.terminal.err(`  ${session.next(`berth ingress · berth events --subject ${name}`)}\n`);
      return EXIT.notHealthy;
    }
    return last;
  });
}

/** It is served either way: whether this machine gets there is a matter of DNS and firewalls. */
async function showAnswer(
  { terminal, interrupted }: Session,
  { url, nodes = [] }: IngressStatus,
): Promise<void> {
  const address = textOf(url);
  const answer = await asked(address, interrupted);
  terminal.out(`${address}\n`);
  terminal.err(
    typeof answer === 'number'
      ? `  answers with ${answer}\n`
      : `  served, but not reached from here (${answer}): let the name resolve to ${nodes.join(' or ')}, then: curl -I ${address}\n`,
  );
}

/** Its status, or why there is none. */
async function asked(address: string, signal: AbortSignal): Promise<number | string> {
  for (const deadline = performance.now() + ANSWER_MS; ; await pause(POLL_MS, undefined, { signal })) {
    try {
      const { status } = await fetch(address, {
        redirect: 'manual',
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      return status;
    } catch (error) {
      const reason = reasonOf(error);
      // A name that nobody knows is known no sooner by asking again.
      if (reason.includes('ENOTFOUND') || performance.now() > deadline) return reason;
    }
  }
}

/** Of TLS its code: what OpenSSL says is for those who wrote it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const cause: NodeJS.ErrnoException = error.cause instanceof Error ? error.cause : error;
  return (cause.code?.startsWith('ERR_SSL') === true ? cause.code : cause.message).trim();
}
