import autocannon, { type Options } from 'autocannon';
import { BENCH_TOKEN } from './server-process.ts';

const CONNECTIONS = 64;
let created = 0;

export type DeploymentsLoad = 'read' | 'create';

/** Reads of the deployment `first`, or creates, over 64 connections. */
export function deploymentRequests(what: DeploymentsLoad, url: string, image: string): Options {
  return {
    url: `${url}/api/v1/deployments${what === 'read' ? '/first' : ''}`,
    connections: CONNECTIONS,
    requests: [
      {
        method: what === 'read' ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
        setupRequest: (request) => {
          if (what === 'read') return request;
          created += 1;
          return { ...request, body: JSON.stringify({ name: `web-${created}`, image }) };
        },
      },
    ],
  };
}

/** Whatever is not taken ends the benchmark. */
export async function loadDeployments(
  what: DeploymentsLoad,
  url: string,
  image: string,
  until: { readonly duration: number } | { readonly amount: number },
): Promise<{ readonly count: number; readonly seconds: number }> {
  const result = await autocannon({ ...deploymentRequests(what, url, image), sampleInt: 100, ...until });
  if (result.errors + result.non2xx > 0)
    throw new Error(`${result.errors} errors, ${result.non2xx} refusals of ${url}`);
  return { count: result['2xx'], seconds: result.duration };
}
