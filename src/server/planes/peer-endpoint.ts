import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Dispatch } from '../dispatch/dispatch.ts';
import type { AgentStream } from '../dispatch/streams.ts';
import type { PeerProofs } from './peer-proof.ts';
import type { PeerStreamLine, PeerStreamRequest, PeerUsageRequest } from './peers.ts';

export interface PeerEndpointOptions {
  readonly proofs: PeerProofs;
  readonly dispatch: () => Dispatch;
}

/** Answers other control planes with what an agent that is connected here says. Without a proof it is not there. */
export class PeerEndpoint {
  readonly #options: PeerEndpointOptions;

  constructor(options: PeerEndpointOptions) {
    this.#options = options;
  }

  async serve(proof: string | undefined, body: string, response: ServerResponse): Promise<void> {
    const stream = this.#options.proofs.holds(proof, body) ? this.#open(body) : undefined;
    if (stream === undefined) {
      response.writeHead(404, { 'content-length': 0 }).end();
      return;
    }
    response.on('error', () => undefined);
    response.once('close', () => stream.cancel());
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    response.flushHeaders();
    for await (const item of stream) {
      if (write(response, { item }) || response.destroyed) continue;
      await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    write(response, { end: stream.end ?? {} });
    response.end();
  }

  /** JSON text; undefined without a proof. */
  usage(proof: string | undefined, body: string): string | undefined {
    if (!this.#options.proofs.holds(proof, body)) return undefined;
    const { tenantId, nodes } = JSON.parse(body) as PeerUsageRequest;
    return JSON.stringify(this.#options.dispatch().usageHere(tenantId, nodes));
  }

  #open(body: string): AgentStream | undefined {
    const { tenantId, node, operation } = JSON.parse(body) as PeerStreamRequest;
    return this.#options.dispatch().streamHere(tenantId, node, operation);
  }
}

function write(response: ServerResponse, line: PeerStreamLine): boolean {
  return response.write(`${JSON.stringify(line)}\n`);
}
