import type { IncomingMessage } from 'node:http';
import { messageOf } from '../../core/model/values.ts';
import { dialer, WrongCertificateError } from './dial.ts';
import type { Pins } from './pins.ts';

const { request } = process.getBuiltinModule('node:http');

const DEADLINE_MS = 15_000;

export type Reached =
  | { readonly ok: true; readonly skewMs: number | undefined }
  | { readonly ok: false; readonly problem: string };

/** Whether a control plane answers from here, known by its pins. Nothing is sent that could be kept. */
export async function reach(server: string, pins: Pins): Promise<Reached> {
  const url = new URL(`${server}/readyz`);
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request({
        method: 'GET',
        host: url.hostname,
        path: url.pathname,
        headers: { Host: url.host, Connection: 'close' },
        createConnection: dialer(url, pins),
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      asked.once('response', resolve);
      asked.on('error', reject);
      asked.end();
    });
    answer.destroy();
    const { statusCode = 0, headers } = answer;
    // 503: it is there, and its store is not; registering waits for that.
    if (statusCode !== 200 && statusCode !== 503)
      return { ok: false, problem: `${server} answered ${statusCode}: is a control plane there?` };
    const told = Date.parse(headers.date ?? '');
    return { ok: true, skewMs: Number.isNaN(told) ? undefined : Math.abs(Date.now() - told) };
  } catch (error) {
    const what = error instanceof WrongCertificateError ? 'shows another certificate' : 'cannot be reached';
    return { ok: false, problem: `${server} ${what}: ${messageOf(error)}` };
  }
}
