import { generateKeyPairSync } from 'node:crypto';
import type { Json } from '../../support/harness/api-client.ts';
import {
  type Ask,
  ask,
  type Case,
  DEPLOYMENTS,
  inside,
  plantVolume,
  refused,
  type Stage,
  stored,
} from './case.ts';
import { prefixOf } from '../../../src/server/store/record-ids.ts';
import { eventually } from '../../support/eventually.ts';
import { agentOf } from './case-agent.ts';

const NODES = '/api/v1/nodes';

function publicKey(): string {
  return generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
}

function description(nodeName: string, fields: Json = {}): Json {
  return {
    nodeName,
    capacity: { cpu: 4, memoryBytes: 2 ** 33 },
    publicKey: publicKey(),
    platform: 'linux/amd64',
    engine: { kind: 'docker', version: '20.10' },
    agentVersion: '0.1.0',
    ...fields,
  };
}

const enrol =
  (fields: Json): Ask =>
  (stage) => ({ method: 'POST', path: NODES, options: { body: description(stage.fresh('node'), fields) } });

async function enrolled(stage: Stage, fields: Json = {}): Promise<string> {
  const body = description(stage.fresh('node'), fields);
  const answer = await stage.call('POST', NODES, { body });
  if (answer.status !== 201) throw new Error(`the node of the case was refused: ${answer.text}`);
  return String(body['nodeName']);
}

async function joinToken(stage: Stage, body: Json = {}): Promise<string> {
  const answer = await stage.call('POST', '/api/v1/join-tokens', { body });
  return String(answer.body['token']);
}

const keyRotation =
  (problem?: string): Ask =>
  async (stage) => {
    const said = { features: ['renewals'] };
    const node = await agentOf(stage, 'mesh-key-renew', { value: { publicKey: 'next' }, problem }, said);
    return { method: 'POST', path: `${NODES}/${node}/rotate-key` };
  };

const KEPT = {
  volumeId: 'vol_gone',
  epoch: 1,
  path: '/v/diverged-1',
  removed: false,
  message: 'kept for 3 of 720 h',
};

const cleaning =
  (
    features: readonly string[],
    value: unknown = { removed: [], kept: [], others: 2, divergences: [KEPT] },
  ): Ask =>
  async (stage) => {
    const node = await agentOf(stage, 'clean', { value }, { features: [...features] });
    return { method: 'POST', path: `${NODES}/${node}/clean` };
  };

/** To an instance that was just placed on a node whose agent has these features, and that has no container yet. */
const signalled =
  (features: readonly string[]): Ask =>
  async (stage) => {
    const nodeId = await agentOf(stage, 'signal', {}, { features: [...features] });
    const name = await stored(stage, { nodeId });
    const instances = stage.plane.store.forTenant(stage.tenant.id).collection('instances');
    const [one] = await eventually(
      async () => instances.listUnder(prefixOf('instances', name)),
      (found) => found.length === 1,
    );
    const path = `${DEPLOYMENTS}/${name}/instances`;
    return {
      method: 'POST',
      path: `${path}/${one?.record.id}/signal`,
      options: { body: { signal: 'SIGHUP' } },
    };
  };

const missing = (method: string, suffix = '', options = {}) =>
  ask(method, `${NODES}/nobody${suffix}`, options);

/** Nodes, their enrolment and claims; instances as far as a control plane alone can tell. */
export const nodeCases: readonly Case[] = [
  ...refused('node_name_invalid', 'nodeName', {
    absent: enrol({ nodeName: undefined }),
    'upper case': enrol({ nodeName: 'Berlin-1' }),
    '64 characters': enrol({ nodeName: 'a'.repeat(64) }),
    'a leading dot': enrol({ nodeName: '.berlin' }),
    'a slash': enrol({ nodeName: 'a/b' }),
    'in a join token': ask('POST', '/api/v1/join-tokens', { body: { nodeName: 'Berlin' } }),
  }),
  ...inside('node_name_invalid', {
    '63 characters': enrol({ nodeName: 'a'.repeat(63) }),
    'a digit first': enrol({ nodeName: '1.berlin.example' }),
  }),
  ...refused('node_invalid', 'capacity.cpu', {
    absent: enrol({ capacity: { memoryBytes: 1 } }),
    '0': enrol({ capacity: { cpu: 0, memoryBytes: 1 } }),
  }),
  ...refused('node_invalid', 'capacity.memoryBytes', {
    '0': enrol({ capacity: { cpu: 1, memoryBytes: 0 } }),
  }),
  ...refused('node_invalid', 'platform', { 'one word': enrol({ platform: 'linux' }) }),
  ...refused('node_invalid', 'engine.kind', { absent: enrol({ engine: { version: '1' } }) }),
  ...refused('node_invalid', 'publicKey', {
    'no key': enrol({ publicKey: 'AAAA' }),
    absent: enrol({ publicKey: undefined }),
  }),
  ...refused('node_owned_by_another_tenant', 'nodeName', {
    'a name of another tenant': async (stage) => {
      const other = await stage.plane.tenant('other');
      const nodeName = stage.fresh('node');
      await stage.call('POST', NODES, { body: description(nodeName), token: other.tokens['tenant-admin'] });
      return enrol({ nodeName })(stage);
    },
  }),
  ...refused('node_already_enrolled', 'nodeName', {
    'another machine': async (stage) => enrol({ nodeName: await enrolled(stage) })(stage),
  }),
  ...inside('node_already_enrolled', {
    'the same machine': async (stage) => {
      const key = publicKey();
      return enrol({ nodeName: await enrolled(stage, { publicKey: key }), publicKey: key })(stage);
    },
  }),
  ...refused('join_token_invalid', 'Authorization', {
    used: async (stage) => {
      const token = await joinToken(stage);
      await stage.call('POST', NODES, { body: description(stage.fresh('node')), token });
      return { method: 'POST', path: NODES, options: { body: description(stage.fresh('node')), token } };
    },
    'for another name': async (stage) => ({
      method: 'POST',
      path: NODES,
      options: {
        body: description(stage.fresh('node')),
        token: await joinToken(stage, { nodeName: 'this-one' }),
      },
    }),
    expired: async (stage) => {
      const { token } = await stage.plane.mintToken({
        tenantId: stage.tenant.id,
        role: 'node',
        kind: 'join',
        expiresAt: new Date(0).toISOString(),
      });
      return { method: 'POST', path: NODES, options: { body: description(stage.fresh('node')), token } };
    },
  }),
  ...inside('join_token_invalid', {
    'used once': async (stage) => ({
      method: 'POST',
      path: NODES,
      options: { body: description(stage.fresh('node')), token: await joinToken(stage) },
    }),
  }),
  ...refused('node_not_found', 'name', {
    read: missing('GET'),
    delete: missing('DELETE'),
    cordon: missing('POST', '/cordon'),
    containers: missing('GET', '/containers'),
    claim: (stage) => ({
      method: 'DELETE',
      path: `${NODES}/nobody/claim`,
      options: { tenant: stage.tenant.id },
    }),
  }),
  ...refused('node_in_use', 'name', {
    'with a primary volume': async (stage) => {
      const name = await enrolled(stage);
      await plantVolume(stage, { primaryNodeId: name as never });
      return { method: 'DELETE', path: `${NODES}/${name}` };
    },
  }),
  ...inside('node_in_use', {
    empty: async (stage) => ({ method: 'DELETE', path: `${NODES}/${await enrolled(stage)}` }),
    'by force': async (stage) => {
      const name = await enrolled(stage);
      await plantVolume(stage, { primaryNodeId: name as never });
      return { method: 'DELETE', path: `${NODES}/${name}?force=true` };
    },
  }),
  ...refused('node_claim_release_no_tenant', 'X-Tenant-ID', {
    absent: ask('DELETE', `${NODES}/nobody/claim`),
    'a slug': (stage) => ({
      method: 'DELETE',
      path: `${NODES}/nobody/claim`,
      options: { tenant: stage.tenant.slug },
    }),
  }),
  ...inside('node_claim_release_no_tenant', {
    'the UUID': async (stage) => ({
      method: 'DELETE',
      path: `${NODES}/${await enrolled(stage)}/claim`,
      options: { tenant: stage.tenant.id },
    }),
  }),
  ...refused('agent_unreachable', 'node', {
    'containers of a machine that is not connected': async (stage) => ({
      method: 'GET',
      path: `${NODES}/${await enrolled(stage)}/containers`,
    }),
  }),
  ...refused('node_key_not_renewed', 'name', { 'takes no part': keyRotation('it takes no part') }),
  ...inside('node_key_not_renewed', { 'takes part': keyRotation() }),
  ...refused('instance_not_found', 'instance', {
    'logs of a missing one': async (stage) => ({
      method: 'GET',
      path: `${DEPLOYMENTS}/${await stored(stage)}/logs?instance=ins_gone`,
    }),
  }),
  ...refused('signal_invalid', 'signal', {
    'one that halts': async (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENTS}/${await stored(stage)}/instances/ins_gone/signal`,
      options: { body: { signal: 'SIGSTOP' } },
    }),
  }),
  ...refused('agent_outdated', 'node', { 'a signal': signalled([]), 'a clean-up': cleaning([]) }),
  ...inside('agent_outdated', { 'a clean-up': cleaning(['cleaning']) }),
  ...refused('instance_not_running', 'instance', { 'a signal before it runs': signalled(['instances']) }),
  ...refused('exec_unavailable', 'instance', {
    'nothing runs': async (stage) => ({
      method: 'POST',
      path: `${DEPLOYMENTS}/${await stored(stage)}/exec`,
      options: { body: { command: ['ls'] } },
    }),
  }),
];
