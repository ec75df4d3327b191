import type { MeshMap } from '../../../src/core/protocol/agent-protocol.ts';
import { Ingress } from '../../../src/agent/ingress/ingress.ts';
import { makeLog } from '../../../src/agent/log.ts';

/** The agent's ingress without the rest of it, in the network namespace it was started in: maps come from the test. */
type Order =
  | { readonly map: MeshMap }
  | { readonly answer: Parameters<Ingress['answer']>[0] }
  | { readonly revoke: string };

const [node = 'n', dataDir = '/nowhere'] = process.argv.slice(2);
const tell = (what: object): boolean => process.send?.(what) ?? false;

const ingress = new Ingress({
  node,
  dataDir,
  http: 80,
  https: 443,
  hostPorts: undefined,
  send: (question) => tell({ question }),
  onChange: () => tell({ routes: ingress.routes() }),
  log: makeLog('info', (line) => tell({ line })),
});
ingress.begin();
process.on('message', (order: Order) => {
  if ('map' in order) ingress.take(order.map);
  else if ('answer' in order) ingress.answer(order.answer);
  else
    ingress.revoke(order.revoke).then(
      (revoked) => tell({ revoked }),
      (error: Error) => tell({ revoked: error.message }),
    );
});
process.on('disconnect', () => process.exit(0));
tell({ facts: await ingress.facts() });
