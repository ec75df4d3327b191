import { createPublicKey, randomBytes, verify } from 'node:crypto';
import type { WebSocket } from 'ws';
import { type Challenge, type Hello, signedText, SPOKEN } from '../../../core/protocol/agent-protocol.ts';
import { releasesApart } from '../../../core/protocol/releases.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import type { RejectionCode } from '../../../core/rejections/catalogue.ts';
import { decodeAgentMessage } from './agent-message.ts';
import { SMALL_BYTES } from './inbox.ts';
import { VERSION } from '../../version.ts';
import { sayFarewell, sendText } from './session.ts';

const NONCE_BYTES = 32;

/** Reason for refusing a session, as the farewell states it. */
export interface HandshakeRefusal {
  readonly code: RejectionCode;
  readonly message: string;
  readonly retry: boolean;
}

export const STALE: HandshakeRefusal = {
  code: 'agent_session_stale',
  message: 'a newer session of this node exists',
  retry: true,
};

export function signatureFits(publicKey: string, text: string, signature: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

/** Retried: the next answer may be that of a control plane, or of an agent, that was upgraded meanwhile. */
function versionRefusal({ protocol, agentVersion }: Hello): HandshakeRefusal | undefined {
  const refused = (why: string): HandshakeRefusal => ({
    code: 'agent_version_unsupported',
    message: `the agent is of release ${agentVersion}, this control plane of ${VERSION}: ${why}. Its containers go on.`,
    retry: true,
  });
  if (releasesApart(agentVersion, VERSION) > 1)
    return refused('they may be one release apart; upgrade the older one, one release at a time');
  const { oldest, newest } = SPOKEN;
  if (protocol >= oldest && protocol <= newest) return undefined;
  const spoken = oldest === newest ? `protocol ${newest}` : `protocols ${oldest} to ${newest}`;
  return refused(`it speaks protocol ${protocol}, and ${spoken} is spoken here; upgrade the older one`);
}

function helloRefusal(hello: Hello, challenge: Challenge, node: NodeRecord): HandshakeRefusal | undefined {
  const distant = versionRefusal(hello);
  if (distant !== undefined) return distant;
  if (hello.epoch !== challenge.epoch) return STALE;
  const text = signedText(challenge.nonce, challenge.epoch, node.name, hello.protocol);
  if (hello.node !== node.name || !signatureFits(node.publicKey, text, hello.signature)) {
    return {
      code: 'unauthenticated',
      message: `the agent did not prove the key of ${node.name}`,
      retry: false,
    };
  }
  return undefined;
}

/**
 * Server nonce, agent signature over nonce, epoch and name. Resolves with the hello of an agent that holds the node's key, or
 * with undefined after the connection was ended with a reason.
 */
export function challengeAgent(
  socket: WebSocket,
  node: NodeRecord,
  deadlineMs: number,
): Promise<Hello | undefined> {
  const challenge: Challenge = {
    type: 'challenge',
    protocol: SPOKEN.newest,
    oldest: SPOKEN.oldest,
    version: VERSION,
    nonce: randomBytes(NONCE_BYTES).toString('base64url'),
    epoch: node.sessionEpoch + 1,
  };
  return new Promise((resolve) => {
    const settle = (hello: Hello | undefined, refusal?: HandshakeRefusal): void => {
      clearTimeout(timer);
      socket.off('message', onMessage);
      socket.off('close', onClose);
      if (refusal !== undefined) sayFarewell(socket, refusal.code, refusal.message, refusal.retry);
      resolve(hello);
    };
    const onClose = (): void => settle(undefined);
    const onMessage = (data: Buffer, isBinary: boolean): void => {
      const isReadable = !isBinary && data.length <= SMALL_BYTES;
      const message = isReadable ? decodeAgentMessage(data.toString('utf8')) : undefined;
      if (message?.type !== 'hello') {
        settle(undefined, { code: 'body_malformed', message: 'a hello was expected', retry: true });
        return;
      }
      const refusal = helloRefusal(message, challenge, node);
      if (refusal === undefined) settle(message);
      else settle(undefined, refusal);
    };
    const timer = setTimeout(
      () =>
        settle(undefined, {
          code: 'unauthenticated',
          message: `no hello within ${deadlineMs} ms`,
          retry: true,
        }),
      deadlineMs,
    );
    socket.on('message', onMessage);
    socket.once('close', onClose);
    sendText(socket, JSON.stringify(challenge));
  });
}
