import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { selfSigned } from '../../../../test/support/harness/certificates.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { UnreadAnswers } from './unread.ts';

const LIMITS = { bytesPerToken: 1000, bytesPerTenant: 2000, sendTimeoutMs: 30_000 };
const WHO = { tokenId: 'tok1', kind: 'pat', role: 'viewer', tenantId: 't1' as TenantId } as const;

/** An answer of which the connection takes nothing. */
function untaken(writableLength: number, socket: object | null = {}) {
  const response = Object.assign(new EventEmitter(), {
    writableLength,
    destroyed: false,
    socket,
    setTimeout: () => response,
  });
  return response as unknown as ServerResponse & { writableLength: number; destroyed: boolean };
}

describe('an answer that was written', () => {
  it('counts from the end of the turn until its reader took it', async () => {
    const unread = new UnreadAnswers(LIMITS);
    const response = untaken(1500);
    unread.follow(response, WHO);
    expect(unread.bytes).toBe(0);
    await turn();
    expect(unread.bytes).toBe(1500);
    expect(unread.refusal(WHO)?.code).toBe('answers_unread');
    response.emit('close');
    expect(unread.bytes).toBe(0);
    expect(unread.refusal(WHO)).toBeUndefined();
  });

  it('counts at once where it is long, or waits behind others on its connection', () => {
    const unread = new UnreadAnswers(LIMITS);
    const answers = [untaken(20_000), untaken(10, null)];
    for (const response of answers) unread.follow(response, WHO);
    expect(unread.bytes).toBe(20_010);
    for (const response of answers) response.emit('close');
  });

  it('does not count when it was taken, or nobody is left to take it, before the turn ends', async () => {
    const unread = new UnreadAnswers(LIMITS);
    const [taken, gone] = [untaken(100), untaken(100)];
    for (const response of [taken, gone]) unread.follow(response, WHO);
    Object.assign(taken, { writableLength: 0 });
    Object.assign(gone, { destroyed: true });
    await turn();
    expect(unread.bytes).toBe(0);
  });

  it('does not count with TLS when its reader takes it', async () => {
    const unread = new UnreadAnswers(LIMITS);
    const { cert, key } = selfSigned(['IP:127.0.0.1']);
    const seen: number[] = [];
    const server = createServer({ cert, key }, (_request, response) => {
      response.end('short');
      unread.follow(response, WHO);
      seen.push(response.writableLength, unread.bytes);
      setImmediate(() => seen.push(response.writableLength, unread.bytes));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const [answer] = await once(get({ port, host: '127.0.0.1', ca: cert, agent: false }), 'response');
    answer.resume();
    await once(answer, 'end');
    const [atOnce, ...later] = seen;
    expect(atOnce).toBeGreaterThan(0);
    expect(later).toEqual([0, 0, 0]);
    await new Promise((resolve) => server.close(resolve));
  });
});
