import type { Readable } from 'node:stream';
import type { VolumeCopyHeader } from '../../core/protocol/agent-protocol.ts';

export interface OutgoingCopy {
  readonly volumeId: string;
  readonly volumeEpoch: number;
  readonly target: string;
  readonly header: VolumeCopyHeader;
}

/** `receiver`: the other node took the bytes and could not use them. `way`: nothing is known of it. */
export type SendOutcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly where: 'receiver' | 'way';
      readonly reason: string;
      readonly message: string;
      /** What the receiver has, where that is good to build on. */
      readonly have?: readonly string[];
    };

/** How copies travel between nodes: through the control plane, which checks who may send to whom. */
export interface CopyLink {
  send(copy: OutgoingCopy, stream: Readable, signal: AbortSignal): Promise<SendOutcome>;
  /** Fails when the sender did not send all. */
  fetch(relayId: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
