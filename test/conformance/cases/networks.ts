import type { Json } from '../../support/harness/api-client.ts';
import {
  type Ask,
  ask,
  type Case,
  inside,
  plantNode,
  post,
  put,
  refused,
  type Stage,
  stored as storedDeployment,
} from './case.ts';
import { agentOf } from './case-agent.ts';

const NETWORKS = '/api/v1/networks';

/** On a node of its own, unless the fields name one: `undefined` leaves a field out. */
const create =
  (fields: Json): Ask =>
  async (stage) => {
    const nodeId = stage.fresh('node');
    await plantNode(stage, nodeId);
    return { method: 'POST', path: NETWORKS, options: { body: { name: stage.fresh(), nodeId, ...fields } } };
  };

async function stored(
  stage: Stage,
  fields: Json = {},
): Promise<{ readonly name: string; readonly node: string }> {
  const { options } = await create(fields)(stage);
  const answer = await stage.call('POST', NETWORKS, options);
  if (answer.status !== 201) throw new Error(`the network of the case was refused: ${answer.text}`);
  return { name: String(answer.body['name']), node: String(answer.body['nodeId']) };
}

/** A tenant that has so many nodes and no other. */
async function inTenant(stage: Stage, nodes: number, body: Json): Promise<Awaited<ReturnType<Ask>>> {
  const tenant = await stage.plane.tenant(stage.fresh('net'));
  for (let count = 0; count < nodes; count += 1) await plantNode({ ...stage, tenant }, stage.fresh('node'));
  return { method: 'POST', path: NETWORKS, options: { body, token: tenant.tokens['deployer'] } };
}

/** Of an ingress of the case's own tenant; `problem`: what its node answers. */
const revocation =
  (tls: unknown, node?: { readonly features: readonly string[]; readonly problem?: string }): Ask =>
  async (stage) => {
    const tenant = await stage.plane.tenant(stage.fresh('in'));
    const own: Stage = {
      ...stage,
      tenant,
      call: (method, path, options = {}) =>
        stage.call(method, path, { token: tenant.tokens['tenant-admin'], ...options }),
    };
    const host = `${stage.fresh('h')}.example.com`;
    await storedDeployment(own, { image: stage.image, replicas: 0, ingress: [{ host, port: 80, tls }] });
    const ingress = { caddy: '2.6.2', http: 80, https: 443 };
    if (node !== undefined)
      await agentOf(
        own,
        'certificate-revoke',
        { value: {}, problem: node.problem },
        { ingress, features: [...node.features] },
      );
    return {
      method: 'POST',
      path: `/api/v1/ingress/${host}/revoke`,
      options: { token: tenant.tokens['tenant-admin'] },
    };
  };

const REVOKES = { features: ['renewals'] };

const removal =
  (attached: readonly string[]): Ask =>
  async (stage) => {
    const { name } = await stored(stage, {
      nodeId: await agentOf(stage, 'network-containers', { value: attached }),
    });
    return { method: 'DELETE', path: `${NETWORKS}/${name}` };
  };

const DEPLOYMENT = '/api/v1/deployments';

/** A deployment that names networks, which are made first, each on a node of its own unless said. */
const attached =
  (
    fields: (stage: Stage, network: { readonly name: string; readonly node: string }) => Json | Promise<Json>,
  ): Ask =>
  async (stage) =>
    post(await fields(stage, await stored(stage)))(stage);

/** What needs an agent is in test/flow/networks.test.ts too. */
export const networkCases: readonly Case[] = [
  ...refused('network_option_unsupported_on_agent', 'subnet', {
    subnet: create({ subnet: '10.20.0.0/24' }),
    'before anything else': create({ subnet: '10.20.0.0/24', name: 'Back End', driver: 'host' }),
  }),
  ...refused('network_option_unsupported_on_agent', 'ipam', { ipam: create({ ipam: { driver: 'x' } }) }),
  ...refused('network_option_unsupported_on_agent', 'attachable', {
    'with its default': create({ attachable: false }),
  }),
  ...refused('network_option_unsupported_on_agent', 'Internal', {
    'another case': create({ Internal: true }),
  }),
  ...inside('network_option_unsupported_on_agent', {
    'every option of the wire format': create({ driver: 'bridge', labels: { team: 'shop' }, internal: true }),
  }),
  ...refused('field_type_invalid', 'internal', { 'a word': create({ internal: 'yes' }) }),
  ...refused('field_type_invalid', 'body', { 'a list': ask('POST', NETWORKS, { raw: '[]' }) }),
  ...refused('network_name_invalid', 'name', {
    absent: create({ name: undefined }),
    empty: create({ name: '' }),
    'upper case': create({ name: 'Backend' }),
    'a dot': create({ name: 'back.end' }),
    'a digit first': create({ name: '1st' }),
    'a hyphen last': create({ name: 'back-' }),
    '64 characters': create({ name: 'a'.repeat(64) }),
  }),
  ...refused('network_name_invalid', 'name', { "the tenant's own": create({ name: 'tenant' }) }),
  ...inside('network_name_invalid', { '63 characters': create({ name: 'a'.repeat(63) }) }),
  ...refused('network_driver_unsupported', 'driver', {
    host: create({ driver: 'host' }),
    overlay: create({ driver: 'overlay' }),
    empty: create({ driver: '' }),
  }),
  ...inside('network_driver_unsupported', { bridge: create({ driver: 'bridge' }) }),
  ...refused('label_reserved', 'labels.berth.io/tenant', {
    'on a network': create({ labels: { 'berth.io/tenant': 'x' } }),
  }),
  ...refused('labels_invalid', 'labels', {
    '65 labels of a network': create({
      labels: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`l${index}`, 'x'])),
    }),
  }),
  ...refused('network_already_exists', 'name', {
    'the same name': async (stage) => create({ name: (await stored(stage)).name })(stage),
    'before the node is looked at': async (stage) =>
      create({ name: (await stored(stage)).name, nodeId: 'nowhere' })(stage),
  }),
  ...inside('network_already_exists', {
    'the name of another tenant': async (stage) => {
      const { name } = await stored(stage);
      return inTenant(stage, 1, { name });
    },
  }),
  ...refused('network_node_candidates_unresolvable', 'nodeId', {
    'no node, none named': (stage) => inTenant(stage, 0, { name: 'backend' }),
    'no node, one named': (stage) => inTenant(stage, 0, { name: 'backend', nodeId: 'berlin-1' }),
  }),
  ...refused('network_node_not_a_candidate', 'nodeId', {
    unknown: create({ nodeId: 'nowhere' }),
    empty: create({ nodeId: '' }),
    "another tenant's": async (stage) => {
      const other = await stage.plane.tenant('other');
      const nodeId = stage.fresh('node');
      await plantNode({ ...stage, tenant: other }, nodeId);
      return create({ nodeId })(stage);
    },
    "the control plane's": async (stage) => {
      await plantNode(stage, stage.plane.config.nodeName);
      return create({ nodeId: stage.plane.config.nodeName })(stage);
    },
  }),
  ...refused('network_node_required', 'nodeId', {
    'two nodes': (stage) => inTenant(stage, 2, { name: 'backend' }),
  }),
  ...inside('network_node_required', {
    'one node': (stage) => inTenant(stage, 1, { name: 'backend' }),
  }),
  ...refused('network_not_found', 'name', {
    read: ask('GET', `${NETWORKS}/gone`),
    delete: ask('DELETE', `${NETWORKS}/gone`),
  }),
  ...refused('network_not_found', 'networks[1]', {
    'of a deployment': post({ networks: ['tenant', 'gone'] }),
    'of a job': (stage) => ({
      method: 'POST',
      path: '/api/v1/jobs',
      options: { body: { name: stage.fresh(), image: stage.image, networks: ['tenant', 'gone'] } },
    }),
    'created alongside, but stored now': (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENT}?alongside=gone`,
      options: { body: { name: stage.fresh(), image: stage.image, networks: ['tenant', 'gone'] } },
    }),
  }),
  ...inside('network_not_found', {
    'of a deployment': attached((_stage, { name }) => ({ networks: [name, 'tenant'] })),
    "the tenant's own": post({ networks: ['tenant'] }),
    'created alongside': (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENT}?dryRun=true&alongside=gone`,
      options: { body: { name: stage.fresh(), image: stage.image, networks: ['gone'] } },
    }),
  }),
  ...refused('network_node_mismatch', 'nodeId', {
    'another node': attached(async (stage, { name }) => {
      const nodeId = stage.fresh('node');
      await plantNode(stage, nodeId);
      return { nodeId, networks: [name] };
    }),
  }),
  ...refused('network_node_mismatch', 'networks[1]', {
    'two nodes': attached(async (stage, { name }) => ({ networks: [name, (await stored(stage)).name] })),
  }),
  ...inside('network_node_mismatch', {
    'two of one node': attached(async (stage, { name, node }) => ({
      nodeId: node,
      networks: [name, (await stored(stage, { nodeId: node })).name],
    })),
  }),
  ...refused('networks_invalid', 'networks', {
    none: post({ networks: [] }),
    '17': post({ networks: Array.from({ length: 17 }, (_, at) => `n${at}`) }),
  }),
  ...refused('networks_invalid', 'networks[0]', { 'no name': post({ networks: ['Back End'] }) }),
  ...refused('networks_invalid', 'networks[1]', { twice: post({ networks: ['tenant', 'tenant'] }) }),
  ...inside('networks_invalid', { one: post({ networks: ['tenant'] }) }),
  ...refused('access_invalid', 'access.from', {
    absent: post({ access: {} }),
    'without the ingress that it has': post({
      access: { from: [] },
      ingress: { host: 'closed.example.com', port: 80 },
    }),
  }),
  ...refused('access_invalid', 'access.from[0]', { 'no name': post({ access: { from: ['Web'] } }) }),
  ...refused('access_invalid', 'access', {
    "not on the tenant's network": attached((_stage, { name }) => ({
      networks: [name],
      access: { from: [] },
    })),
  }),
  ...inside('access_invalid', {
    nobody: post({ access: { from: [] } }),
    ingress: post({ access: { from: ['ingress'] } }),
  }),
  ...refused('access_source_unknown', 'access.from[0]', {
    mistyped: post({ access: { from: ['wbe'] } }),
    'by an update': put({}, { access: { from: ['wbe'] } }),
  }),
  ...refused('access_source_unknown', 'from', {
    explained: async (stage) => ({
      method: 'GET',
      path: `${DEPLOYMENT}/${await storedDeployment(stage)}/explain?from=wbe`,
    }),
  }),
  ...inside('access_source_unknown', {
    known: async (stage) => post({ access: { from: [await storedDeployment(stage)] } })(stage),
    itself: post({ name: 'own-access', access: { from: ['own-access'] } }),
    'created alongside': (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENT}?alongside=later`,
      options: { body: { name: stage.fresh(), image: stage.image, access: { from: ['later'] } } },
    }),
  }),
  ...refused('network_in_use', 'name', {
    'a deployment names it': async (stage) => {
      const { name } = await stored(stage);
      await storedDeployment(stage, { networks: [name], replicas: 0 });
      return { method: 'DELETE', path: `${NETWORKS}/${name}` };
    },
    'a container is attached': removal(['web']),
    'many are': removal(Array.from({ length: 40 }, (_, index) => `web-${index}`)),
  }),
  ...inside('network_in_use', { 'nothing is attached': removal([]) }),
  ...refused('ingress_host_not_found', 'host', {
    'nobody has it': (stage) => ({
      method: 'POST',
      path: `/api/v1/ingress/${stage.fresh('h')}.example/revoke`,
    }),
  }),
  ...refused('ingress_certificate_not_issued', 'host', {
    'served without TLS': revocation('off', REVOKES),
    'with a certificate of a secret': revocation({ vault_path: 'resources/cert' }, REVOKES),
    'no ingress node': revocation('auto'),
  }),
  ...inside('ingress_certificate_not_issued', { 'of an authority': revocation('auto', REVOKES) }),
  ...refused('certificate_not_revoked', 'host', {
    'the authority refuses': revocation('auto', { ...REVOKES, problem: 'the authority answered HTTP 403' }),
  }),
  ...inside('certificate_not_revoked', { 'the authority agrees': revocation('auto', REVOKES) }),
  ...refused('agent_unreachable', 'node', {
    'revoke by an agent of an older release': revocation('auto', { features: [] }),
  }),
  ...refused('agent_unreachable', 'node', {
    'delete while nobody can say what is attached': async (stage) => ({
      method: 'DELETE',
      path: `${NETWORKS}/${(await stored(stage)).name}`,
    }),
  }),
  ...refused('node_in_use', 'name', {
    'with a network': async (stage) => ({
      method: 'DELETE',
      path: `/api/v1/nodes/${(await stored(stage)).node}`,
    }),
  }),
];
