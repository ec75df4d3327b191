import { isRecord, parsedRecord, recordsIn } from '../../core/model/values.ts';
import { Failure } from '../failure.ts';

const { request } = process.getBuiltinModule('node:http');

const CALL_MS = 30_000;
const PROBE_MS = 5000;

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** The few calls of the engine's HTTP interface that `berth up` needs; containers are the agent's affair. */
export class EngineSocket {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async answers(): Promise<boolean> {
    const reply = await this.#call('GET', '/_ping', PROBE_MS).catch(() => undefined);
    return reply?.status === 200;
  }

  /** `Docker 20.10.24` or `Podman 4.3.1`. */
  async name(): Promise<string> {
    const { body } = await this.#call('GET', '/version', PROBE_MS);
    const { Version: version, Components: components } = parsedRecord(body);
    const isPodman = recordsIn(components).some(({ Name: name }) => String(name).startsWith('Podman'));
    return `${isPodman ? 'Podman' : 'Docker'} ${typeof version === 'string' ? version : ''}`;
  }

  async runs(containerId: string): Promise<boolean> {
    const { status, body } = await this.#call('GET', `/containers/${encodeURIComponent(containerId)}/json`);
    if (status !== 200) return false;
    const { State: state } = parsedRecord(body);
    return isRecord(state) && state['Running'] === true;
  }

  /** Only containers and networks that carry the label are touched: the engine may be foreign. */
  async removeLabelled(label: string): Promise<number> {
    const filters = encodeURIComponent(JSON.stringify({ label: [label] }));
    const containers = await this.#ids(`/containers/json?all=true&filters=${filters}`);
    await Promise.all(
      containers.map((id) => this.#call('DELETE', `/containers/${encodeURIComponent(id)}?force=true`)),
    );
    for (const id of await this.#ids(`/networks?filters=${filters}`)) {
      await this.#call('DELETE', `/networks/${encodeURIComponent(id)}`);
    }
    return containers.length;
  }

  async load(archive: Buffer): Promise<void> {
    const { status, body } = await this.#call('POST', '/images/load?quiet=true', CALL_MS, archive);
    if (status !== 200) throw new Failure(`the engine did not take the sample image: ${body.slice(0, 200)}`);
  }

  async #ids(path: string): Promise<readonly string[]> {
    const { status, body } = await this.#call('GET', path);
    return status === 200 ? recordsIn(JSON.parse(body)).map(({ Id: id }) => String(id)) : [];
  }

  #call(method: string, path: string, timeoutMs = CALL_MS, body?: Buffer): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          socketPath: this.path,
          method,
          path,
          timeout: timeoutMs,
          headers:
            body === undefined ? {} : { 'content-type': 'application/x-tar', 'content-length': body.length },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.once('end', () =>
            resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
          );
          answer.once('error', reject);
        },
      );
      sent.once('timeout', () => sent.destroy(new Error(`the engine gave no answer within ${timeoutMs} ms`)));
      sent.once('error', reject);
      sent.end(body);
    });
  }
}

/** In the agent's order: a socket that was named is the only one. */
export async function findEngine(
  named: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<EngineSocket | undefined> {
  const host = named ?? (environment['DOCKER_HOST'] === '' ? undefined : environment['DOCKER_HOST']);
  const runtime = environment['XDG_RUNTIME_DIR'];
  const paths =
    host === undefined
      ? [
          '/var/run/docker.sock',
          '/run/podman/podman.sock',
          ...(runtime === undefined ? [] : [`${runtime}/podman/podman.sock`]),
        ]
      : [host.replace(/^unix:\/\//, '')];
  for (const path of paths) {
    const socket = new EngineSocket(path);
    if (path.startsWith('/') && (await socket.answers())) return socket;
  }
  return undefined;
}
