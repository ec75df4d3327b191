import type { Rejection } from '../rejections/rejection.ts';
import { isPort, MAX_PORT } from './ports.ts';
import { type DeploymentInput, invalid } from './rule.ts';

const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

export function ingressRule({ draft }: DeploymentInput): Rejection | undefined {
  const { ingress } = draft;
  if (ingress === undefined) return undefined;
  if (ingress.host === undefined || !HOST_NAME.test(ingress.host)) {
    return invalid(
      'ingress_invalid',
      'ingress.host',
      ingress.host,
      'a lowercase host name such as shop.example.com',
      'The proxy routes by host name.',
    );
  }
  if (!isPort(ingress.port)) {
    return invalid(
      'ingress_invalid',
      'ingress.port',
      ingress.port,
      `1 to ${MAX_PORT}`,
      'The container port to route to is required.',
    );
  }
  return undefined;
}
