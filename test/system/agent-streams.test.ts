import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StreamData, StreamEnd, StreamOperation } from '../../src/core/protocol/agent-protocol.ts';
import { AgentBench, instance, TEST_IMAGE } from '../support/harness/agent-bench.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';

const LINES = 40_000;
const INITIAL_CREDIT_BYTES = 128 * 1024;

let daemon: TestEngine;
let bench: AgentBench;

beforeAll(async () => {
  daemon = await startEngine();
  await buildTestImage(daemon, TEST_IMAGE);
  bench = await AgentBench.start(daemon);
  const command = [
    'sh',
    '-c',
    `awk 'BEGIN { for (i = 1; i <= ${LINES}; i++) printf "line number %06d\\n", i }'; sleep 999`,
  ];
  bench.plane.assign([instance('ins_1', { command, environment: { HIDDEN: 'marker-77aa' } })]);
  await bench.plane.untilPhase('ins_1', 'running');
  const { id } = await bench.engine.inspect('web');
  for await (const { line } of bench.engine.logs(id, { follow: true })) if (line === lineNumber(LINES)) break;
});

function lineNumber(n: number): string {
  return `line number ${String(n).padStart(6, '0')}`;
}

afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await daemon.stop();
});

function ask(streamId: string, operation: StreamOperation): void {
  bench.plane.send({ type: 'request', streamId, operation });
}

function data(streamId: string): readonly StreamData[] {
  return (bench.plane.streams.get(streamId) ?? []).filter((one) => one.type === 'data');
}

function text(streamId: string): string {
  return data(streamId)
    .map((one) => one.text ?? Buffer.from(one.base64 ?? '', 'base64').toString('latin1'))
    .join('');
}

async function ended(streamId: string): Promise<StreamEnd> {
  return await bench.plane.until(`end of ${streamId}`, () =>
    bench.plane.streams.get(streamId)?.find((one) => one.type === 'end'),
  );
}

describe('streams', () => {
  it('sends no more log than the reader takes, and all of it in the end', async () => {
    ask('slow', { kind: 'logs', instanceId: 'ins_1', follow: false });
    await bench.plane.until('a full pipe', () => text('slow').length > INITIAL_CREDIT_BYTES - 40_000);
    // Others are served meanwhile, so what was held back was held back by credit, not by time.
    ask('tail', { kind: 'logs', instanceId: 'ins_1', follow: false, tail: 2 });
    await ended('tail');
    expect(text('tail')).toBe(`${lineNumber(LINES - 1)}\n${lineNumber(LINES)}\n`);
    expect(text('slow').length).toBeLessThanOrEqual(INITIAL_CREDIT_BYTES);
    let taken = 0;
    while (!bench.plane.streams.get('slow')?.some((one) => one.type === 'end')) {
      const there = text('slow').length;
      if (there > taken) bench.plane.send({ type: 'credit', streamId: 'slow', bytes: there - taken });
      taken = there;
      await bench.plane.until(
        'more',
        () =>
          text('slow').length > taken || bench.plane.streams.get('slow')?.some((one) => one.type === 'end'),
      );
      expect(text('slow').length - taken).toBeLessThanOrEqual(INITIAL_CREDIT_BYTES);
    }
    const lines = text('slow').trimEnd().split('\n');
    expect(lines).toHaveLength(LINES);
    expect(lines.at(-1)).toBe(lineNumber(LINES));
  });

  it('runs a command and tells its exit code, output apart by channel', async () => {
    const command = ['sh', '-c', 'echo out; echo err >&2; printf "\\377"; exit 3'];
    ask('exec', { kind: 'exec', instanceId: 'ins_1', command, timeoutMs: 10_000 });
    expect(await ended('exec')).toMatchObject({ exitCode: 3 });
    const of = (channel: string): string =>
      data('exec')
        .filter((one) => one.channel === channel)
        .map((one) => one.text ?? Buffer.from(one.base64 ?? '', 'base64').toString('latin1'))
        .join('');
    expect(of('stdout')).toBe('out\n\u00ff');
    expect(of('stderr')).toBe('err\n');
    ask('hang', { kind: 'exec', instanceId: 'ins_1', command: ['sleep', '60'], timeoutMs: 300 });
    expect(await ended('hang')).toMatchObject({ error: { reason: 'exec_timeout' } });
  });

  it('lists every container of the machine without its environment, and measures', async () => {
    ask('all', { kind: 'containers' });
    expect(await ended('all')).not.toHaveProperty('error');
    expect(data('all')[0]?.value).toMatchObject([{ name: 'web', image: TEST_IMAGE, status: 'running' }]);
    expect(JSON.stringify(data('all'))).not.toContain('marker-77aa');
    ask('stats', { kind: 'stats', instanceId: 'ins_1' });
    await bench.plane.until('a sample', () => data('stats').length > 0);
    expect(data('stats')[0]?.value).toMatchObject({ memoryBytes: expect.any(Number) as number });
    bench.plane.send({ type: 'cancel', streamId: 'stats' });
  });

  it('follows until it is cancelled, knows no foreign instance, and bounds the number', async () => {
    ask('none', { kind: 'logs', instanceId: 'ins_other', follow: true });
    expect(await ended('none')).toMatchObject({ error: { reason: 'container_not_found' } });
    for (let n = 0; n < 40; n += 1)
      ask(`many-${n}`, { kind: 'logs', instanceId: 'ins_1', follow: true, tail: 0 });
    expect(await ended('many-39')).toMatchObject({
      error: { reason: 'too_many_streams', message: expect.stringContaining('followed logs') as string },
    });
    // What is not a followed log is served beside them.
    ask('beside', { kind: 'exec', instanceId: 'ins_1', command: ['true'], timeoutMs: 10_000 });
    expect(await ended('beside')).toMatchObject({ exitCode: 0 });
    ask('list', { kind: 'containers' });
    expect(await ended('list')).not.toHaveProperty('error');
    for (let n = 0; n < 40; n += 1) bench.plane.send({ type: 'cancel', streamId: `many-${n}` });
    ask('after', { kind: 'logs', instanceId: 'ins_1', follow: false, tail: 1 });
    expect(await ended('after')).not.toHaveProperty('error');
  });
});
