import { parseDuration, parseMemory } from '../model/quantity.ts';
import type { RejectionCode } from '../rejections/catalogue.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { isDnsLabel } from './name.ts';
import type { DeploymentInput } from './rule.ts';

const MAX_CPU = 1024;
const MIN_MEMORY = 4 * 2 ** 20;
const MAX_PORT = 65_535;
const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

function invalid(
  code: RejectionCode,
  field: string,
  value: unknown,
  expected: string,
  why: string,
): Rejection {
  return reject(code, { field, received: received(value), expected, why });
}

export function commandRule({ draft }: DeploymentInput): Rejection | undefined {
  const { command } = draft;
  if (command === undefined) return undefined;
  if (command.length === 0 || command[0] === '') {
    return invalid(
      'command_invalid',
      'command',
      command,
      'at least one element, the first being the program',
      'The command is empty.',
    );
  }
  return undefined;
}

function amountsRule(part: 'requests' | 'limits', { draft }: DeploymentInput): Rejection | undefined {
  const amounts = draft.resources?.[part];
  if (amounts === undefined) return undefined;
  const { cpu, memory } = amounts;
  if (cpu !== undefined && !(cpu > 0 && cpu <= MAX_CPU)) {
    return invalid(
      'resources_invalid',
      `resources.${part}.cpu`,
      cpu,
      `cores, above 0 and at most ${MAX_CPU}`,
      'cpu is a number of cores.',
    );
  }
  const bytes = memory === undefined ? undefined : parseMemory(memory);
  if (memory !== undefined && (bytes === undefined || bytes < MIN_MEMORY)) {
    return invalid(
      'resources_invalid',
      `resources.${part}.memory`,
      memory,
      'bytes with a unit, e.g. 256Mi or 1Gi, at least 4Mi',
      'memory is an amount of bytes.',
    );
  }
  return undefined;
}

export function resourcesRule(input: DeploymentInput): Rejection | undefined {
  const rejection = amountsRule('requests', input) ?? amountsRule('limits', input);
  if (rejection) return rejection;
  const { requests, limits } = input.draft.resources ?? {};
  const wanted = parseMemory(requests?.memory ?? '0') ?? 0;
  if (limits?.memory !== undefined && wanted > (parseMemory(limits.memory) ?? 0)) {
    return invalid(
      'resources_invalid',
      'resources.limits.memory',
      limits.memory,
      `at least the request of ${requests?.memory}`,
      'The limit is below the request.',
    );
  }
  if (limits?.cpu !== undefined && (requests?.cpu ?? 0) > limits.cpu) {
    return invalid(
      'resources_invalid',
      'resources.limits.cpu',
      limits.cpu,
      `at least the request of ${requests?.cpu}`,
      'The limit is below the request.',
    );
  }
  return undefined;
}

function isPort(port: number | undefined): port is number {
  return port !== undefined && port >= 1 && port <= MAX_PORT;
}

export function portsRule({ draft }: DeploymentInput): Rejection | undefined {
  const hosts = new Set<number>();
  for (const [index, { container, host }] of (draft.ports ?? []).entries()) {
    if (!isPort(container)) {
      return invalid(
        'ports_invalid',
        `ports[${index}].container`,
        container,
        `1 to ${MAX_PORT}`,
        'The port inside the container is required.',
      );
    }
    if (host === undefined) continue;
    if (!isPort(host)) {
      return invalid(
        'ports_invalid',
        `ports[${index}].host`,
        host,
        `1 to ${MAX_PORT}, or omit it`,
        'The port on the node is out of range.',
      );
    }
    if (hosts.has(host)) {
      return invalid(
        'ports_invalid',
        `ports[${index}].host`,
        host,
        'each node port once',
        'Two entries take the same node port.',
      );
    }
    hosts.add(host);
  }
  return undefined;
}

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

export function updateRule({ draft }: DeploymentInput): Rejection | undefined {
  const { update } = draft;
  if (update === undefined) return undefined;
  const { maxSurge, maxUnavailable, progressDeadline, onFailure } = update;
  if (maxSurge !== undefined && (maxSurge < 0 || maxSurge > 100)) {
    return invalid(
      'update_invalid',
      'update.maxSurge',
      maxSurge,
      '0 to 100',
      'maxSurge counts instances above the wanted number.',
    );
  }
  if (maxUnavailable !== undefined && (maxUnavailable < 0 || maxUnavailable > 100)) {
    return invalid(
      'update_invalid',
      'update.maxUnavailable',
      maxUnavailable,
      '0 to 100',
      'maxUnavailable counts instances that may be missing.',
    );
  }
  if ((maxSurge ?? 1) === 0 && (maxUnavailable ?? 0) === 0) {
    return invalid(
      'update_invalid',
      'update.maxSurge',
      maxSurge,
      'at least 1, or maxUnavailable at least 1',
      'With both at 0 an update can never make a step.',
    );
  }
  const deadline = progressDeadline === undefined ? undefined : parseDuration(progressDeadline);
  if (
    progressDeadline !== undefined &&
    (deadline === undefined || deadline < 1000 || deadline > 24 * 3_600_000)
  ) {
    return invalid(
      'update_invalid',
      'update.progressDeadline',
      progressDeadline,
      'a duration from 1s to 24h, e.g. 5m',
      'The deadline is not a duration in range.',
    );
  }
  if (onFailure !== undefined && onFailure !== 'rollback' && onFailure !== 'leave') {
    return invalid(
      'update_invalid',
      'update.onFailure',
      onFailure,
      'rollback or leave',
      'onFailure says what happens to a rollout past its deadline.',
    );
  }
  return undefined;
}

export function dependsOnRule({ draft }: DeploymentInput): Rejection | undefined {
  for (const [name, gate] of Object.entries(draft.dependsOn ?? {})) {
    if (!isDnsLabel(name)) {
      return invalid(
        'depends_on_invalid',
        `dependsOn.${name.slice(0, 64)}`,
        name,
        'the name of a deployment',
        'A dependency is named by its deployment name.',
      );
    }
    if (gate !== 'healthy' && gate !== 'started') {
      return invalid(
        'depends_on_invalid',
        `dependsOn.${name}`,
        gate,
        'healthy or started',
        'The gate is not known.',
      );
    }
    if (name === draft.name) {
      return invalid(
        'depends_on_cycle',
        `dependsOn.${name}`,
        name,
        'another deployment',
        'A deployment cannot wait for itself.',
      );
    }
  }
  return undefined;
}
