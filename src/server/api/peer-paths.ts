import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

/** Answers another control plane: its proof, what it asks, and where the answer goes. */
export type PeerHandler = (
  proof: string | undefined,
  request: { readonly method: string; readonly path: string; readonly body: string },
  response: ServerResponse,
) => Promise<void>;

/** Paths between the control planes of one store. They are no part of the interface: no route, no role, no document. */
export function addPeerPaths(
  app: FastifyInstance,
  handlers: Readonly<Record<string, PeerHandler>>,
  log: Logger,
): void {
  for (const [path, handle] of Object.entries(handlers)) {
    app.post(path, (request, reply) => {
      const proof = request.headers['berth-control-plane'];
      const body = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
      reply.hijack();
      const asked = { method: request.method, path: request.raw.url ?? '', body };
      handle(typeof proof === 'string' ? proof : undefined, asked, reply.raw).catch((error: unknown) => {
        log.warn({ err: error }, 'another control plane could not be answered');
        reply.raw.destroy();
      });
    });
  }
}
