import type { Client } from './client.ts';
import { usage } from './failure.ts';

/** `deployments/web` as the parameters of an operation. */
export function secretParams(path: string): {
  readonly params: { readonly namespace: string; readonly name: string };
} {
  const [namespace = '', name = '', ...more] = path.split('/');
  if (namespace === '' || name === '' || more.length > 0)
    throw usage(`${path} is not the path of a secret`, ['expected NAMESPACE/NAME, e.g. deployments/web']);
  return { params: { namespace, name } };
}

export function deleteSecret(client: Client, path: string): Promise<unknown> {
  return client.record('DELETE /api/v1/secrets/{namespace}/{name}', secretParams(path));
}
