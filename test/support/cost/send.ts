import { Agent, request } from 'node:http';
import type { HostileRequest, Who } from './hostile-requests.ts';

export type Tokens = Readonly<Record<Exclude<Who, 'stranger'>, string>>;

export interface Outcome {
  /** 0: no answer came. */
  readonly status: number;
  readonly code: string;
  readonly ms: number;
}

const GIVEN_UP_MS = 60_000;
const KEPT_BYTES = 4096;

/** One connection of its own, kept open, on which requests follow one another. */
export class HostileConnection {
  readonly #url: URL;
  readonly #tokens: Tokens;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string, tokens: Tokens) {
    this.#url = new URL(url);
    this.#tokens = tokens;
  }

  send({ who, method, path, headers, body }: HostileRequest): Promise<Outcome> {
    const bytes = body === undefined ? undefined : Buffer.from(body());
    const sentHeaders: Record<string, string | string[]> = {
      ...(who === 'stranger' ? {} : { authorization: `Bearer ${this.#tokens[who]}` }),
      ...(bytes === undefined ? {} : { 'content-length': String(bytes.length) }),
    };
    for (const [name, value] of Object.entries(headers))
      sentHeaders[name] = typeof value === 'string' ? value : [...value];
    const { hostname, port } = this.#url;
    const begun = performance.now();
    return new Promise((resolve) => {
      const done = (status: number, text = ''): void => {
        const [, code = ''] = /"code":"([a-z_]+)"/.exec(text) ?? [];
        resolve({ status, code, ms: performance.now() - begun });
      };
      try {
        const sent = request(
          { hostname, port, method, path, headers: sentHeaders, agent: this.#agent },
          (response) => {
            let text = '';
            response.on('data', (chunk: Buffer) => {
              if (text.length < KEPT_BYTES) text += chunk.toString('latin1', 0, KEPT_BYTES);
            });
            response.on('end', () => done(response.statusCode ?? 0, text));
            response.on('error', () => done(0));
          },
        );
        sent.setTimeout(GIVEN_UP_MS, () => sent.destroy());
        sent.on('error', () => done(0));
        sent.end(bytes);
      } catch {
        // Not a request that this client can send.
        done(0);
      }
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
