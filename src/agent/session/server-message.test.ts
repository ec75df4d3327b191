import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeServerMessage } from './server-message.ts';

const CONTAINER = {
  image: 'a:1',
  environment: { A: 'b' },
  needsSecrets: false,
  ports: [{ container: 80 }],
  labels: {},
  mounts: [],
  alias: 'web',
};
const INSTANCE = {
  id: 'ins_1',
  deployment: 'web',
  wanted: 'run',
  specHash: 'h',
  secretsVersion: 0,
  attempt: 0,
  container: CONTAINER,
};
const MESH = {
  type: 'mesh',
  prefix: '10.210.0.0/16',
  virtualPrefix: '10.211.0.0/16',
  nodes: [],
  services: [],
};
const ROUTE = { deployment: 'web', protocol: 'http', host: 'a.example', address: '10.211.0.1', port: 80 };
const ASSIGNMENT = { type: 'assignment', epoch: 1, generation: 2, instances: [INSTANCE] };

describe('a frame of the control plane', () => {
  it.each([
    { type: 'challenge', protocol: 1, nonce: 'n', epoch: 1 },
    { type: 'verdict', epoch: 1, remove: ['a'] },
    { type: 'resolved', requestId: '1', ok: true, environment: { A: '1' } },
    { type: 'resolved', requestId: '1', ok: false, reason: 'r', message: 'm' },
    { type: 'request', streamId: 's', operation: { kind: 'containers' } },
    { type: 'credit', streamId: 's', bytes: 1 },
    { type: 'farewell', code: 'c', message: 'm', retry: false },
    { type: 'ingressMaterial', id: '1' },
    { type: 'ingressMaterial', id: '1', value: 'PEM', version: 3 },
    { type: 'ingressMaterial', id: '1', problem: 'not stored' },
    MESH,
    { ...MESH, ingress: [{ ...ROUTE, tls: 'secret', certificate: 'v1' }], ingressNodes: ['n1'] },
    ASSIGNMENT,
  ])('is taken: $type', (message) => {
    expect(decodeServerMessage(JSON.stringify(message))).toEqual(message);
  });

  it('of a newer control plane is read without what it added', () => {
    const instance = { ...INSTANCE, later: 1, container: { ...CONTAINER, later: { deep: [1] } } };
    const frame = JSON.stringify({ ...ASSIGNMENT, later: {}, instances: [instance] });
    expect(decodeServerMessage(frame)).toEqual(ASSIGNMENT);
  });

  it('may name a kind of mount that only the container with it fails for', () => {
    const mounts = [{ volumeId: 'v', kind: 'later', target: '/a', readOnly: false }];
    const message = { ...ASSIGNMENT, instances: [{ ...INSTANCE, container: { ...CONTAINER, mounts } }] };
    expect(decodeServerMessage(JSON.stringify(message))).toEqual(message);
  });

  it('of an older control plane lacks what was added since, or has null for it', () => {
    const message = { type: 'welcome', epoch: 1, tenantId: 't', tenantSlug: 's', installId: 'i' };
    const old = { ...message, heartbeatMs: 1, silenceMs: 2 };
    expect(decodeServerMessage(JSON.stringify(old))).toEqual(old);
    expect(decodeServerMessage(JSON.stringify({ ...old, servers: null }))).toEqual(old);
  });

  it.each([
    'no json',
    '[]',
    'null',
    '{"type":"constructor"}',
    '{"type":"__proto__"}',
    '{"type":"later"}',
    JSON.stringify({ ...MESH, ingress: [{ ...ROUTE, tls: 'perhaps' }] }),
    JSON.stringify({ ...MESH, ingress: [{ ...ROUTE, tls: 'off', deployment: '../x' }] }),
    JSON.stringify({ type: 'ingressMaterial' }),
    JSON.stringify({ ...ASSIGNMENT, epoch: '1' }),
    JSON.stringify({ ...ASSIGNMENT, instances: [{ ...INSTANCE, id: '../x' }] }),
    JSON.stringify({ ...ASSIGNMENT, instances: [{ ...INSTANCE, wanted: 'destroy' }] }),
    JSON.stringify({ ...ASSIGNMENT, instances: [{ ...INSTANCE, container: undefined }] }),
    JSON.stringify({
      ...ASSIGNMENT,
      instances: [{ ...INSTANCE, container: { ...CONTAINER, environment: { A: 1 } } }],
    }),
    JSON.stringify({ type: 'request', streamId: 's', operation: { kind: 'toString' } }),
    JSON.stringify({ type: 'verdict', epoch: 1, remove: [1] }),
    JSON.stringify({ type: 'resolved', requestId: '1', ok: 'true', environment: {} }),
    JSON.stringify({
      ...ASSIGNMENT,
      instances: [{ ...INSTANCE, container: { ...CONTAINER, mounts: [{}] } }],
    }),
  ])('is ignored: %s', (frame) => {
    expect(decodeServerMessage(frame)).toBeUndefined();
  });

  it('never makes the agent stumble', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.constantFrom('welcome', 'assignment', 'resolved', 'request'),
        (json, type) => {
          decodeServerMessage(json);
          const value: unknown = JSON.parse(json);
          if (typeof value === 'object') decodeServerMessage(JSON.stringify({ ...value, type }));
        },
      ),
    );
  });
});
