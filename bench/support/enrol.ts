import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { VERSION } from '../../src/server/version.ts';
import { BENCH_TOKEN } from './server-process.ts';

/** A machine as its agent describes it. */
export const AGENT_FACTS = {
  agentVersion: VERSION,
  engine: { kind: 'docker', version: '20.10.24' },
  platform: 'linux/amd64',
  capacity: { cpu: 4, memoryBytes: 8 * 2 ** 30 },
  labels: { disk: 'ssd' },
};

export interface Enrolled {
  readonly name: string;
  readonly token: string;
  readonly key: KeyObject;
}

/** By the administrator's token, without a join token of its own. */
export async function enrol(url: string, name: string): Promise<Enrolled> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const response = await fetch(`${url}/api/v1/nodes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      nodeName: name,
      ...AGENT_FACTS,
      publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    }),
  });
  const body = (await response.json()) as { readonly nodeToken?: string };
  if (body.nodeToken === undefined) throw new Error(`enrolment of ${name} failed: ${JSON.stringify(body)}`);
  return { name, token: body.nodeToken, key: privateKey };
}
