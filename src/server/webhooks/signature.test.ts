import { describe, expect, it } from 'vitest';
import { signed } from './signature.ts';

describe('the signature of a webhook', () => {
  it('is that of the published example of Standard Webhooks', () => {
    const headers = signed(
      ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1_614_265_330_000,
      '{"test": 2432232314}',
    );
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('takes any other key as text, and covers id, time and body', () => {
    const of = (key: string, id: string, ms: number, body: string) =>
      signed([key], id, ms, body)['webhook-signature'];
    const first = of('key', 'evt_1', 1000, '{}');
    const others = [
      of('key2', 'evt_1', 1000, '{}'),
      of('key', 'evt_2', 1000, '{}'),
      of('key', 'evt_1', 2000, '{}'),
      of('key', 'evt_1', 1000, '[]'),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });
});
