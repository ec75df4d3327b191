import { expect, it } from 'vitest';
import { makeLog } from '../log.ts';
import { sendOwnLog } from './own-log.ts';
import { type Payload, Pipe } from './pipe.ts';

function stage() {
  const printed: string[] = [];
  const sent: Payload[] = [];
  const log = makeLog('info', (line) => void printed.push(line));
  const pipe = new Pipe((payload) => void sent.push(payload));
  const texts = () => sent.map(({ text }) => text ?? '').join('');
  return { printed, sent, log, pipe, texts };
}

const ASKED = { kind: 'agent-log', follow: true, level: 'debug', tail: 10, forMs: 60_000 } as const;

it('an agent sends what it kept, then at the level that was asked for, and is itself again when the reader has gone', async () => {
  const { log, pipe, printed, texts } = stage();
  log.info('before');
  log.debug('too quiet to be kept');
  const sending = sendOwnLog(log.feed, ASKED, pipe);
  log.debug('step', { step: 'create' });
  await expect.poll(texts).toMatch(/"before"[^]*"step":"create"/);
  expect(texts()).not.toContain('too quiet');
  expect(printed.join('')).not.toContain('step');
  pipe.abort();
  await sending.catch(() => undefined);
  log.debug('after');
  expect(texts()).not.toContain('after');
  expect(log.feed.tail(10)).toHaveLength(1);
});

it('ends by itself after its time, and without following at once', async () => {
  const { log, pipe, texts } = stage();
  await sendOwnLog(log.feed, { ...ASKED, forMs: 20 }, pipe);
  log.warn('kept');
  await sendOwnLog(log.feed, { ...ASKED, follow: false }, pipe);
  expect(texts()).toMatch(/^\{.*"kept".*\}\n$/);
});

it('says how many lines a reader without credit has lost', async () => {
  const { log, pipe, sent } = stage();
  const sending = sendOwnLog(log.feed, { ...ASKED, tail: 0 }, pipe);
  for (let count = 0; count < 2000; count += 1) log.debug('x'.repeat(1000));
  for (let count = 0; count < 20; count += 1) {
    pipe.grant(2 ** 20);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => sent.some(({ value }) => value !== undefined)).toBe(true);
  expect(sent.find(({ value }) => value !== undefined)?.value).toEqual({ dropped: expect.any(Number) });
  pipe.abort();
  await sending.catch(() => undefined);
});
