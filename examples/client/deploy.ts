/**
 * Creates a deployment, or gives it another image, and prints what the control plane tells of it meanwhile.
 *
 *     BERTH_URL=http://127.0.0.1:7600 BERTH_TOKEN=… node deploy.ts web 127.0.0.1:5000/shop/app:1.1
 */
import { connect, RejectionError, UnreachableError } from 'berth/client';

const [name = 'web', image = '127.0.0.1:5000/shop/app:1.1'] = process.argv.slice(2);
const client = connect({
  url: process.env['BERTH_URL'] ?? 'http://127.0.0.1:7600',
  token: process.env['BERTH_TOKEN'],
});

/** A change is refused when somebody else was quicker, instead of undoing theirs. */
async function deploy() {
  const stored = await client.callUnless(['deployment_not_found'], 'GET /api/v1/deployments/{name}', {
    params: { name },
  });
  if (stored === undefined)
    return client.call('POST /api/v1/deployments', { body: { name, image, replicas: 1 } });
  return client.call('PUT /api/v1/deployments/{name}', {
    params: { name },
    body: { image },
    ifMatch: stored.revision,
  });
}

/** Prints events until one tells of the change itself. A stream that breaks goes on after its last event. */
async function follow(signal: AbortSignal, onOpen: () => void): Promise<void> {
  const query = { subject: `Deployment/${name}` };
  const onState = (state: string): void => {
    if (state === 'live') onOpen();
  };
  for await (const event of client.events({ query, signal, onState })) {
    console.log(`${event.kind}: ${event.message}`);
    if (event.kind === 'deployment.created' || event.kind === 'deployment.updated') return;
  }
}

const stop = new AbortController();
try {
  for await (const page of client.pages('GET /api/v1/nodes', { query: { limit: 100 } }))
    for (const node of page) console.log(`node ${node.name}: ${node.status}`);
  let told: Promise<void> | undefined;
  await new Promise<void>((open, fail) => {
    told = follow(AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]), open);
    told.catch(fail);
  });
  const written = await deploy();
  console.log(`${written.name} is stored: revision ${written.revision}, ${written.status.phase}`);
  for (const { field, to, why } of written.alterations ?? []) console.log(`  ${field} = ${to} (${why})`);
  await told;
} catch (error) {
  process.exitCode = 1;
  if (error instanceof RejectionError)
    console.error(`${error.code} at ${error.field}: ${error.why} Expected: ${error.expected}`);
  else if (error instanceof UnreachableError) console.error(error.message);
  else throw error;
} finally {
  stop.abort();
}
