import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/harness/free-port.ts';
import { type Peer, startPeer } from './peer.ts';

/** Where its program is; absent: it is not compared with. */
export const KUBE_APISERVER = process.env['BENCH_KUBE_APISERVER'];
export const KUBE_TOKEN = 'bench-kube-0123456789';
export const KUBE_DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const READY_MS = 90_000;

/** A deployment of one container, as Berth's of these benchmarks ask for it: for nothing in particular. */
export function kubeDeployment(name: string, image: string): object {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image }] } },
    },
  };
}

export interface KubeOptions {
  readonly etcd: string;
  readonly tls: { readonly cert: string; readonly key: string };
}

/**
 * One server of its own on this etcd, without the controllers and the scheduler, which would act on what it stores: nothing follows a create.
 * Its usual settings otherwise; who asks is exempt from its limits, as Berth's in these benchmarks.
 */
export async function startKubeApiserver(binary: string, { etcd, tls }: KubeOptions): Promise<Peer> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-kube-'));
  const [cert, key, tokens] = [join(dir, 'cert.pem'), join(dir, 'key.pem'), join(dir, 'tokens.csv')];
  writeFileSync(cert, tls.cert);
  writeFileSync(key, tls.key, { mode: 0o600 });
  writeFileSync(tokens, `${KUBE_TOKEN},bench,bench,"system:masters"\n`);
  const port = await freePort();
  const args = [
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${cert}`,
    `--tls-private-key-file=${key}`,
    `--cert-dir=${dir}`,
    `--token-auth-file=${tokens}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${cert}`,
    `--service-account-signing-key-file=${key}`,
    '--endpoint-reconciler-type=none',
  ];
  const url = `https://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${KUBE_TOKEN}` };
  const isReady = (): Promise<boolean> =>
    Promise.all(
      ['/readyz', '/api/v1/namespaces/default'].map((path) =>
        fetch(`${url}${path}`, { headers }).then(async (answer) => {
          await answer.text();
          return answer.ok;
        }),
      ),
    ).then(
      (answers) => answers.every(Boolean),
      () => false,
    );
  return startPeer({ binary, args, url, dir, isReady, readyMs: READY_MS });
}
