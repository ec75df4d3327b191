import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { AGENT_LOST, STOPPING } from '../core/contract/log-end.ts';
import { Client } from './client.ts';
import { EXIT } from './exit-code.ts';
import { jobLines, logLines, type LogLine } from './log-source.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

type Answer = number | readonly (readonly [event: string, data: object])[];

/** One answer after the other: messages, or the status of something that is no control plane. */
async function answering(...answers: readonly Answer[]) {
  const left = [...answers];
  const asked: URLSearchParams[] = [];
  server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://x').searchParams);
    const answer = left.shift() ?? [];
    if (typeof answer === 'number') response.writeHead(answer).end('<html>');
    else
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(answer.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join(''));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = { server: url, token: 'the-token', tenant: 'acme', caFile: undefined, source: 'test' };
  return { client: new Client(target), asked };
}

async function read(lines: AsyncIterable<LogLine>) {
  const texts: string[] = [];
  try {
    for await (const { text } of lines) texts.push(text);
    return { texts, error: undefined };
  } catch (error) {
    return { texts, error };
  }
}

const LINE = ['log', { instance: 'ins_a', line: 'hello' }] as const;
const STOP = ['end', STOPPING] as const;
const FOLLOWED = { follow: true, tail: 7 };

describe('a log that is followed', () => {
  it('that its agent does not bring to its end was not reached, whatever it is of', async () => {
    const problem = { exitCode: EXIT.unreachable, message: expect.stringContaining(AGENT_LOST.reason) };
    const job = { params: { name: 'report' }, query: { follow: true } } as const;
    const lost = [LINE, ['end', AGENT_LOST]] as const;
    const { client } = await answering(lost, lost, [LINE, STOP], [LINE, ['end', {}]]);
    expect(await read(logLines(client, 'web', FOLLOWED))).toMatchObject({ texts: ['hello'], error: problem });
    expect(await read(jobLines(client, job, true))).toMatchObject({ texts: ['hello'], error: problem });
    const stopped = { exitCode: EXIT.unreachable, message: expect.stringContaining(STOPPING.reason) };
    expect((await read(jobLines(client, job, true))).error).toMatchObject(stopped);
    expect((await read(jobLines(client, job, true))).error).toBeUndefined();
  });

  it('waits for a control plane behind a proxy, and asks as at first until something was read', async () => {
    const { client, asked } = await answering([STOP], 502, [LINE, STOP], [LINE, ['end', {}]]);
    const { texts, error } = await read(logLines(client, 'web', FOLLOWED));
    expect([texts.map((text) => text.includes(STOPPING.reason)), error]).toEqual([
      [true, false, true, false],
      undefined,
    ]);
    expect(asked.map((query) => query.get('tail'))).toEqual(['7', '7', '7', null]);
    expect(asked.map((query) => query.has('since'))).toEqual([false, false, false, true]);
  });

  it('does not wait for what is no control plane', async () => {
    const { client, asked } = await answering([LINE, STOP], 404);
    const { error } = await read(logLines(client, 'web', FOLLOWED));
    expect([asked.length, error]).toMatchObject([2, { exitCode: EXIT.unreachable }]);
  });
});
