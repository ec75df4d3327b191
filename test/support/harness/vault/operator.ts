import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface OperatorAnswer {
  readonly status: number;
  // A test reads what it expects; a wrong shape fails there.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

/** What an operator does with the store's own tool, over its interface: on the endpoint here and on a real server alike. */
export class VaultOperator {
  readonly #address: string;
  readonly #token: string;
  readonly #ca: string | undefined;

  constructor({ address, token, ca }: { address: string; token: string; ca?: string }) {
    this.#address = address;
    this.#token = token;
    this.#ca = ca;
  }

  call(method: string, path: string, body?: unknown, namespace?: string): Promise<OperatorAnswer> {
    const url = new URL(`/v1/${path}`, this.#address);
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(
        url,
        {
          method,
          agent: false,
          headers: {
            'x-vault-token': this.#token,
            'x-vault-request': 'true',
            ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
            ...(text === undefined ? {} : { 'content-length': Buffer.byteLength(text) }),
          },
          ...(this.#ca === undefined ? {} : { ca: this.#ca }),
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const answered = Buffer.concat(chunks).toString('utf8');
            const json = answered === '' ? undefined : (JSON.parse(answered) as unknown);
            resolve({ status: incoming.statusCode ?? 0, body: json });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  }

  async must(method: string, path: string, body?: unknown, namespace?: string): Promise<OperatorAnswer> {
    const answer = await this.call(method, path, body, namespace);
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }
}
