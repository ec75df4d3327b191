import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeAgentMessage } from './agent-message.ts';

const hello = {
  type: 'hello',
  protocol: 1,
  node: 'n1',
  epoch: 1,
  signature: 'AAAA',
  agentVersion: '1',
  engine: { kind: 'docker', version: '20' },
  platform: 'linux/amd64',
  capacity: { cpu: 1, memoryBytes: 1 },
  labels: { a: 'b' },
};
const report = {
  type: 'report',
  epoch: 1,
  generation: 0,
  full: true,
  observations: [{ id: 'ins_1', phase: 'running' }],
};

function decode(message: unknown) {
  return decodeAgentMessage(JSON.stringify(message));
}

describe('messages of agents', () => {
  it.each([
    hello,
    report,
    {
      ...report,
      observations: [
        {
          id: 'ins_1',
          phase: 'failed',
          reason: 'image_pull_failed',
          exitCode: -1,
          ports: [{ container: 1, host: 2 }],
        },
      ],
    },
    {
      ...report,
      usage: [{ instanceId: 'ins_1', cpuPercent: 1.5, memoryBytes: 3 }],
      engineProblem: 'no answer',
    },
    { ...hello, ingress: { caddy: 'v2.6.2', http: 80, https: 443 } },
    { ...hello, ingress: { problem: 'no caddy', http: 80, https: 443 } },
    {
      ...report,
      ingress: { routes: [{ deployment: 'web', host: 'a.example', state: 'waiting', problem: 'no answer' }] },
    },
    { type: 'ingressGet', id: '1', key: 'certificate/web/a.example' },
    { type: 'ingressPut', id: '1', key: 'acme/users/key.pem', value: 'x'.repeat(48 * 1024), expected: 0 },
    { type: 'ask', epoch: 1, instanceIds: ['ins_1'] },
    { type: 'resolve', requestId: 'r', instanceId: 'i', specHash: 'h', secretsVersion: 0 },
    { type: 'resolve-image', requestId: 'r', volumeId: 'v', image: 'x/y:1' },
    { type: 'ask-images', epoch: 1, requestId: 'r', images: ['x/y:1'] },
    {
      ...report,
      offline: {
        started: ['ins_1'],
        stopped: [],
        waiting: [{ instanceId: 'ins_2', reason: 'volume_not_ready', message: 'waits' }],
      },
      cleaned: [{ cause: 'disk', images: [{ image: 'x/y:1', bytes: 1 }] }],
      discarded: [{ volumeId: 'vol_1', epoch: 1, path: '/v/diverged-1', keptMs: 5 }],
    },
    { type: 'data', streamId: 's1', text: 'x', channel: 'stderr' },
    { type: 'data', streamId: 's1', value: [{ any: 1 }] },
    { type: 'end', streamId: 's1', exitCode: 0 },
    { type: 'end', streamId: 's1', error: { reason: 'r', message: 'm' } },
  ])('are taken as they are: %j', (message) => {
    expect(decode(message)).toEqual(message);
  });

  it.each([
    null,
    [],
    {},
    { type: 'toString' },
    { type: 'welcome' },
    { ...hello, epoch: '1' },
    { ...hello, capacity: { cpu: -1, memoryBytes: 1 } },
    { ...hello, labels: { a: 1 } },
    { ...report, epoch: 1.5 },
    { ...report, observations: {} },
    { ...report, observations: [{ id: 'ins_1', phase: 'exploded' }] },
    { ...report, observations: [{ id: 'x'.repeat(65), phase: 'running' }] },
    { ...report, observations: [{ id: 'ins_1', phase: 'running', reason: 'Not A Word' }] },
    { ...report, observations: [{ id: 'ins_1', phase: 'running', exitCode: '0' }] },
    { ...report, observations: Array.from({ length: 5001 }, () => ({ id: 'i', phase: 'running' })) },
    { ...hello, ingress: { http: '80', https: 443 } },
    { ...report, ingress: { routes: [{ deployment: 'web', state: 'perhaps' }] } },
    { ...report, ingress: { routes: [{ deployment: 'web', host: 'x'.repeat(254), state: 'failed' }] } },
    {
      ...report,
      ingress: { routes: Array.from({ length: 5001 }, () => ({ deployment: 'web', state: 'failed' })) },
    },
    { type: 'ingressGet', id: '1' },
    { type: 'ingressGet', id: '1', key: 'x'.repeat(513) },
    { type: 'ingressPut', id: '1', key: 'acme/a' },
    { type: 'ingressPut', id: '1', key: 'acme/a', value: 'x'.repeat(48 * 1024 + 1) },
    { type: 'ingressPut', id: '1', key: 'acme/a', value: 'x', expected: -1 },
    { type: 'ask', epoch: 1, instanceIds: [1] },
    { type: 'resolve', requestId: 'r', instanceId: 'i', specHash: 'h' },
    { type: 'resolve-image', requestId: 'r', volumeId: 'v' },
    { type: 'ask-images', epoch: 1, requestId: 'r', images: ['x y'] },
    { type: 'ask-images', epoch: 1, requestId: 'r', images: Array.from({ length: 501 }, () => 'x/y:1') },
    { ...report, cleaned: [{ cause: 'spite', images: [] }] },
    { ...report, discarded: [{ volumeId: 'vol_1', epoch: 1, path: '/v', keptMs: -1 }] },
    { type: 'data', text: 'x' },
    { type: 'data', streamId: 's1', channel: 'stdin' },
  ])('are refused when malformed: %j', (message) => {
    expect(decode(message)).toBeUndefined();
  });

  it('say of an instance what they said last', () => {
    const said = (phase: string) => ({ id: 'ins_1', phase });
    const other = { id: 'ins_2', phase: 'running' };
    const message = decode({ ...report, observations: [said('starting'), other, said('running')] });
    expect(message).toMatchObject({ observations: [said('running'), other] });
  });

  it('keep nothing that is not known, and clean what people will read', () => {
    const observed = {
      id: 'ins_1',
      phase: 'running',
      evil: 'x',
      message: `a\u0000\u001b[31m${'y'.repeat(2000)}`,
    };
    const message = decode({ ...report, evil: 1, observations: [observed] });
    expect(message).toEqual({
      ...report,
      observations: [{ id: 'ins_1', phase: 'running', message: `a  [31m${'y'.repeat(1018)}`.slice(0, 1024) }],
    });
  });

  it('never make the decoder throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc
            .record({
              type: fc.constantFrom('hello', 'report', 'ask', 'resolve', 'resolve-image', 'data', 'end'),
              epoch: fc.anything(),
            })
            .map((one) => JSON.stringify(one)),
        ),
        (frame) => {
          const message = decodeAgentMessage(frame);
          expect(message === undefined || typeof message.type === 'string').toBe(true);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
