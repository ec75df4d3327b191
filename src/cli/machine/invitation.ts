import type { Client } from '../client.ts';
import { Failure } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Wish } from './wish.ts';

/** What a machine needs to join. */
export interface Invitation {
  readonly id: string;
  readonly token: string;
  readonly server: string;
  /** Of the certificate that the agent pins; absent without TLS. */
  readonly caDigest: string | undefined;
}

const TTL = '15m';

/**
 * A token for any name takes no other machine's place: the control plane refuses that. Only one that is made for a name does, and is made
 * so when somebody says that the machine of that name is lost.
 */
export async function invite(
  client: Client,
  { name, wish, destination }: { readonly name: string; readonly wish: Wish; readonly destination: string },
): Promise<Invitation> {
  const made = await client.record('POST /api/v1/join-tokens', {
    body: { ttl: TTL, ...(wish.replace ? { nodeName: name } : {}) },
  });
  const words = textOf(made.command).split(' ');
  const after = (flag: string): string | undefined => {
    const at = words.indexOf(flag);
    return at === -1 ? undefined : words[at + 1];
  };
  const invitation = {
    id: textOf(made.id),
    token: textOf(made.token),
    server: wish.server ?? after('--server') ?? client.target.server,
    caDigest: after('--ca-digest'),
  };
  if (isLoopback(invitation.server) && !isLoopback(`ssh://${hostOf(destination)}`)) {
    await withdraw(client, invitation);
    throw new Failure(
      `${destination} would be told to dial ${invitation.server}, which is the machine itself`,
      {
        advice: [
          'Let the control plane listen for others: berth up --listen 0.0.0.0, or --listen and --tls-cert of berth server.',
          'If it is reached at another address than it knows: --server URL (or --base-url of berth server).',
        ],
      },
    );
  }
  return invitation;
}

/** A token that was not used; what is used or over is no matter. */
export async function withdraw(client: Client, { id }: Invitation): Promise<void> {
  await client.attempt('DELETE /api/v1/tokens/{id}', { params: { id } }).catch(() => undefined);
}

function hostOf(destination: string): string {
  return destination.slice(destination.lastIndexOf('@') + 1);
}

function isLoopback(url: string): boolean {
  const { hostname = '' } = URL.parse(url) ?? {};
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}
