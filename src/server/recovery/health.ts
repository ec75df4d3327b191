import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { messageOf } from '../../core/model/values.ts';
import type { Config } from '../config.ts';
import { RecoveryError } from './failure.ts';

const { request } = process.getBuiltinModule('node:http');

const DEADLINE_MS = 4000;

type Listener = Pick<Config, 'host' | 'port' | 'tls'>;

/** Where the machine itself reaches a listener: one for all addresses answers at that of loopback, too. */
function ownAddress({ host, port, tls }: Listener): URL {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const authority = isIPv6(reached) ? `[${reached}]` : reached;
  return new URL(`${tls === undefined ? 'http' : 'https'}://${authority}:${port}/readyz`);
}

function asked(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  // No agent: one of the process could be told by the environment to take a proxy.
  const options = { agent: false, signal };
  const outgoing =
    url.protocol === 'http:'
      ? request(url, options)
      : // Its certificate names the address that others use. Nothing is told to whoever answers, and one number is believed.
        process.getBuiltinModule('node:https').request(url, { ...options, rejectUnauthorized: false });
  outgoing.once('response', resolve);
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}

/** The address at which it answered that it is ready; anything else is an error with the reason. */
export async function askReady(listener: Listener, signal: AbortSignal): Promise<string> {
  const url = ownAddress(listener);
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const answer = await asked(url, AbortSignal.any([signal, deadline])).catch((error: unknown) => {
    const why = deadline.aborted ? `nothing within ${DEADLINE_MS} ms` : messageOf(error);
    throw new RecoveryError('failed', `no answer at ${url.href}: ${why}`, { cause: error });
  });
  answer.destroy();
  if (answer.statusCode === 200) return url.href;
  throw new RecoveryError(
    'failed',
    `${url.href} answered ${answer.statusCode ?? 0}: the control plane is not ready yet; /healthz says what it waits for`,
  );
}
