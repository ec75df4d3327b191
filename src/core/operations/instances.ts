import { CHANNEL_PROTOCOL } from '../contract/channel-messages.ts';
import { execution, instance, instanceDetail, instanceOrdered } from '../contract/answers/deployment.ts';
import { failure } from '../contract/answers/failure.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { execBody, signalBody } from '../contract/order-bodies.ts';
import { LIST_QUERY, LOG_QUERY } from './queries.ts';
import { operation } from './operation.ts';

const ORDER_CODES = [
  'deployment_not_found',
  'instance_not_found',
  'instance_not_running',
  'agent_unreachable',
] as const;

const ORDERED = {
  status: 200,
  description: 'Ordered; warnings say what serves meanwhile.',
  answer: instanceOrdered,
} as const;

export const INSTANCES = {
  list: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/instances',
    summary: 'The instances of a deployment, as wanted and as observed',
    tag: 'Deployments',
    permission: 'read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: ['deployment_not_found'],
    success: {
      status: 200,
      description: 'Instances, by id.',
      answer: listOf(instance),
    },
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/instances/{instance}',
    summary: 'One instance of a deployment, with its node, what it was given and how it failed',
    tag: 'Deployments',
    permission: 'read',
    tenant: 'credential',
    codes: ['deployment_not_found', 'instance_not_found'],
    success: { status: 200, description: 'The instance.', answer: instanceDetail },
  }),
  restart: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/instances/{instance}/restart',
    summary: 'Replace the container of one instance in its place, at once',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    codes: [...ORDER_CODES, 'idempotency_key_conflict'],
    success: ORDERED,
  }),
  stop: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/instances/{instance}/stop',
    summary: 'End one instance at once; the deployment places a fresh one, perhaps elsewhere',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    codes: [...ORDER_CODES, 'idempotency_key_conflict'],
    success: ORDERED,
  }),
  signal: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/instances/{instance}/signal',
    summary: 'Send a signal to the first process of one instance',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: signalBody },
    codes: [...ORDER_CODES, 'signal_invalid', 'agent_outdated'],
    success: {
      status: 200,
      description: 'Sent; a container that ends of it is started again.',
      answer: instanceOrdered,
    },
  }),
  logs: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/logs',
    summary: 'What the instances of a deployment print',
    tag: 'Deployments',
    permission: 'read',
    tenant: 'credential',
    query: LOG_QUERY,
    codes: ['deployment_not_found', 'instance_not_found', 'agent_unreachable'],
    lasts: 'always',
    success: {
      status: 200,
      description:
        'Lines as text, with the id of the instance before each when there are several; server-sent events with follow.',
      media: ['text/plain', 'text/event-stream'],
    },
  }),
  channel: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/exec',
    summary: 'A command in an instance with input, output, terminal and signals, over a WebSocket',
    tag: 'Deployments',
    permission: 'exec',
    tenant: 'credential',
    query: {
      instance: {
        description: 'Id of an instance; absent: one that is running.',
        schema: { type: 'string' },
      },
      tenant: {
        description:
          'The tenant acted for, as X-Tenant-ID says it elsewhere: a page cannot send a header with a WebSocket.',
        schema: { type: 'string' },
      },
    },
    codes: [
      'deployment_not_found',
      'instance_not_found',
      'origin_forbidden',
      'upgrade_required',
      'exec_unavailable',
      'agent_unreachable',
    ],
    lasts: 'always',
    socket: CHANNEL_PROTOCOL,
    success: {
      status: 101,
      description:
        'A WebSocket of the subprotocol berth.exec.v1: the first message of the client says what is run; the guide describes all of them.',
    },
  }),
  failures: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/failures',
    summary: 'How instances of a deployment failed lately, also those that are gone',
    tag: 'Deployments',
    permission: 'read',
    tenant: 'credential',
    query: {
      output: {
        description: 'With what each of them printed last.',
        schema: { type: 'boolean', default: false },
      },
      ...LIST_QUERY,
    },
    codes: ['deployment_not_found'],
    success: {
      status: 200,
      description:
        'Newest first: at most 10 of a deployment, 2 of an instance and 128 of a tenant, each for at most 7 days. The next page is in the Link header.',
      answer: listOf(failure),
    },
  }),
  exec: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/exec',
    summary: 'Run a command in an instance and answer with what it printed',
    tag: 'Deployments',
    permission: 'exec',
    tenant: 'credential',
    body: { shape: execBody },
    codes: [
      'deployment_not_found',
      'instance_not_found',
      'command_invalid',
      'exec_unavailable',
      'agent_unreachable',
    ],
    lasts: 'always',
    success: {
      status: 200,
      description: 'Exit code and output, each cut at 1 MiB.',
      answer: execution,
    },
  }),
};
