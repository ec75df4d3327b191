import { get } from 'node:http';
import type { ClusterNode } from './harness/cluster.ts';

const EVERY_MS = 20;
/**
 * A container that is started is seen by the list long before it can be the only one that serves: it has to be healthy first. Each look lists and
 * inspects on every engine, which took more processor time than the probes.
 */
const DISCOVER_MS = 200;
const ANSWER_MS = 1_000;

export interface ProbeResult {
  readonly probes: number;
  readonly failures: readonly { readonly atMs: number; readonly tried: readonly string[] }[];
  /** Each text that was served, in the order of its first appearance. */
  readonly texts: readonly string[];
}

/**
 * Asks, every 20 ms, everything that publishes a port for the deployment, as a proxy that tries the next one would; a probe fails when
 * nobody answers.
 */
export function startProbe(
  nodes: readonly ClusterNode[],
  deployment: string,
): { stop(): Promise<ProbeResult> } {
  let targets: readonly string[] = [];
  let probes = 0;
  const failures: { readonly atMs: number; readonly tried: readonly string[] }[] = [];
  const texts = new Set<string>();
  const under = new Set<Promise<void>>();
  const begun = performance.now();

  async function discover(): Promise<void> {
    const found = await Promise.all(
      nodes.map(async (node) => {
        const containers = await node.containers(deployment);
        const ports = containers.flatMap((one) => one.ports.map(({ host }) => host));
        return [...new Set(ports)].map((port) => `http://${node.engine.address}:${port}/`);
      }),
    );
    targets = found.flat();
  }

  async function probe(): Promise<void> {
    const tried = targets;
    if (tried.length === 0 && probes === 0) return;
    probes += 1;
    const atMs = Math.round(performance.now() - begun);
    try {
      texts.add(await Promise.any(tried.map(fetched)));
    } catch {
      failures.push({ atMs, tried });
    }
  }

  let stopped = false;
  const discovery = (async () => {
    while (!stopped) {
      await discover().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, DISCOVER_MS));
    }
  })();
  const timer = setInterval(() => {
    const one = probe().finally(() => under.delete(one));
    under.add(one);
  }, EVERY_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      stopped = true;
      await Promise.all(under);
      await discovery;
      return { probes, failures, texts: [...texts] };
    },
  };
}

function fetched(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, timeout: ANSWER_MS }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('error', reject);
      response.on('end', () =>
        response.statusCode === 200 && response.complete ? resolve(text.trim()) : reject(new Error(text)),
      );
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', reject);
  });
}
