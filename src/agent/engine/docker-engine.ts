import { mkdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { FailureLog } from '../../core/model/kept-failure.ts';
import type { ContainerHealth, ContainerSpec, ContainerState, ContainerSummary } from './container.ts';
import { fullId, labelConditions, labelFilter, plainName } from './asked.ts';
import { pathKind, readArchive, writeArchive } from './container-archive.ts';
import { containerBody } from './container-body.ts';
import { startExec } from './container-exec.ts';
import { containerLogs } from './container-logs.ts';
import { containerState, containerSummary } from './container-state.ts';
import type * as port from './engine.ts';
import { EngineConnection } from './engine-connection.ts';
import { EngineNetworks } from './engine-networks.ts';
import { engineEvent } from './engine-event.ts';
import {
  creationProblem,
  EngineConflictError,
  EngineError,
  EngineNotFoundError,
  EngineUnavailableError,
  errorForStatus,
  ImagePullError,
} from './errors.ts';
import { engineInfo } from './engine-info.ts';
import { optional } from '../../core/model/values.ts';
import { fields, list, number, text } from './fields.ts';
import { pullProgress, registryAuth } from './image-pull.ts';
import { exactReference, imageName, imageState, listedImage } from './image-reference.ts';
import { jsonValues } from './json-stream.ts';
import { checkResults, deliveredValues, lastWords, LINES_READ, redactedLines } from './last-words.ts';
import { redact } from './redact.ts';
import { statsSample } from './stats-sample.ts';
import { DEFAULT_DEADLINE_MS, enginePath, type Query, seconds } from './transport.ts';

const PULL_DEADLINE_MS = 600_000;

/** Docker Engine and Podman over a unix socket. */
export class DockerEngine implements port.Engine {
  readonly #connection: EngineConnection;
  readonly #networks: EngineNetworks;

  constructor(socketPath: string) {
    this.#connection = new EngineConnection(socketPath);
    this.#networks = new EngineNetworks(this.#connection);
  }

  async ping(options: port.CallOptions = {}): Promise<void> {
    await this.#connection.raw({ ...options, method: 'GET', path: '/_ping' });
  }

  async info(options: port.CallOptions = {}): Promise<port.EngineInfo> {
    const dialect = await this.#connection.speak(options);
    const [info, version] = await Promise.all([
      this.#connection.call({ ...options, method: 'GET', segments: ['info'] }),
      this.#connection.call({ ...options, method: 'GET', segments: ['version'] }),
    ]);
    return engineInfo(dialect, info.body, version.body);
  }

  async pull(image: string, options: port.PullOptions = {}): Promise<void> {
    const { credentials, onProgress, ...call } = options;
    const secrets = credentials === undefined ? [] : [credentials.password];
    try {
      const stream = await this.#connection.stream({
        deadlineMs: PULL_DEADLINE_MS,
        ...call,
        method: 'POST',
        segments: ['images', 'create'],
        query: { fromImage: exactReference(image) },
        ...(credentials === undefined ? {} : { headers: { 'X-Registry-Auth': registryAuth(credentials) } }),
        wholeDeadline: true,
      });
      for await (const value of jsonValues(stream)) {
        const progress = pullProgress(value);
        onProgress?.(progress);
      }
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw new ImagePullError(redact(error.message, secrets), error.status);
    }
    // The end of the stream proves nothing; the image does.
    if (!(await this.imageExists(image, optional('signal', options.signal)))) {
      throw new ImagePullError(`the engine ended the pull of ${image} without the image`, 0);
    }
  }

  async imageExists(image: string, options: port.CallOptions = {}): Promise<boolean> {
    try {
      await this.inspectImage(image, options);
      return true;
    } catch (error) {
      if (error instanceof EngineNotFoundError) return false;
      throw error;
    }
  }

  async inspectImage(image: string, options: port.CallOptions = {}): Promise<port.ImageState> {
    const segments = ['images', imageName(image), 'json'];
    return imageState(image, (await this.#connection.call({ ...options, method: 'GET', segments })).body);
  }

  async listImages(options: port.CallOptions = {}): Promise<readonly port.EngineImage[]> {
    const answer = await this.#connection.call({ ...options, method: 'GET', segments: ['images', 'json'] });
    return list(answer.body).map(listedImage);
  }

  async removeImage(image: string, options: port.CallOptions = {}): Promise<void> {
    await this.#connection.call({ ...options, method: 'DELETE', segments: ['images', imageName(image)] });
  }

  async ensureNetwork(spec: port.NetworkSpec, options: port.CallOptions = {}): Promise<port.NetworkState> {
    return await this.#networks.ensure(spec, options);
  }

  async listNetworks(
    labels: port.Labels,
    options: port.CallOptions = {},
  ): Promise<readonly port.NetworkState[]> {
    return await this.#networks.list(labels, options);
  }

  async removeNetwork(id: string, options: port.CallOptions = {}): Promise<void> {
    await this.#networks.remove(fullId(id), options);
  }

  async networkContainers(
    network: { readonly id: string; readonly name?: string },
    options: port.CallOptions = {},
  ): Promise<readonly string[]> {
    return await this.#networks.containers({ ...network, id: fullId(network.id) }, options);
  }

  async connect(
    networkId: string,
    containerId: string,
    aliases: readonly string[],
    options: port.CallOptions = {},
  ): Promise<void> {
    const json = { Container: fullId(containerId), EndpointConfig: { Aliases: aliases } };
    await this.#networks.order(fullId(networkId), 'connect', json, options);
  }

  async disconnect(networkId: string, containerId: string, options: port.CallOptions = {}): Promise<void> {
    const json = { Container: fullId(containerId), Force: false };
    await this.#networks.order(fullId(networkId), 'disconnect', json, options);
  }

  async creationProblem(
    { name, folder }: port.CreationTrial,
    options: port.CallOptions = {},
  ): Promise<string | undefined> {
    // Docker brings its init process along.
    if ((await this.#connection.speak(options)).kind === 'docker') return undefined;
    const path = (...segments: readonly string[]): string =>
      enginePath(['v4.0.0', 'libpod', 'containers', ...segments]);
    const json = { name, rootfs: folder, init: true, command: ['true'], netns: { nsmode: 'none' } };
    await mkdir(folder, { recursive: true });
    try {
      await this.#connection.raw({ ...options, method: 'POST', path: path('create'), json });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      const problem = creationProblem(error);
      if (problem !== undefined) return problem;
    }
    // Also one that an agent left behind which was killed in between.
    await this.#connection
      .raw({ ...options, method: 'DELETE', path: `${path(plainName(name, 'a container name'))}?force=true` })
      .catch(() => undefined);
    return undefined;
  }

  async createContainer(spec: ContainerSpec, options: port.CallOptions = {}): Promise<string> {
    const { kind } = await this.#connection.speak(options);
    // Podman hands what is added also to the user of the image: only that user's name says whether anything may be.
    const imageUser =
      kind === 'podman' && spec.user === undefined
        ? (await this.inspectImage(spec.image, options)).user
        : undefined;
    try {
      const answer = await this.#connection.call({
        ...options,
        method: 'POST',
        segments: ['containers', 'create'],
        query: { name: spec.name },
        json: containerBody(spec, kind, imageUser),
      });
      return fullId(text(fields(answer.body)['Id']) ?? '');
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      // A new error: the first one's stack repeats its message.
      const values = spec.env.map(([, value]) => value);
      throw errorForStatus(error.status, redact(error.message, values));
    }
  }

  async start(id: string, options: port.CallOptions = {}): Promise<void> {
    await this.#container(id, 'start', options);
  }

  async stop(id: string, timeoutS: number, options: port.CallOptions = {}): Promise<void> {
    const deadlineMs = (options.deadlineMs ?? DEFAULT_DEADLINE_MS) + timeoutS * 1000;
    await this.#container(id, 'stop', { ...options, deadlineMs }, { t: timeoutS });
  }

  async restart(id: string, timeoutS: number, options: port.CallOptions = {}): Promise<void> {
    const deadlineMs = (options.deadlineMs ?? DEFAULT_DEADLINE_MS) + timeoutS * 1000;
    await this.#container(id, 'restart', { ...options, deadlineMs }, { t: timeoutS });
  }

  async neverRestart(id: string, options: port.CallOptions = {}): Promise<boolean> {
    // Podman 4.3 has no such call, and its own takes limits only and ignores the rest silently.
    if ((await this.#connection.speak(options)).kind === 'podman') return false;
    await this.#connection.call({
      ...options,
      method: 'POST',
      segments: ['containers', fullId(id), 'update'],
      json: { RestartPolicy: { Name: 'no', MaximumRetryCount: 0 } },
    });
    return true;
  }

  async kill(id: string, signal = 'SIGKILL', options: port.CallOptions = {}): Promise<void> {
    await this.#container(id, 'kill', options, { signal });
  }

  async remove(id: string, options: port.CallOptions & { readonly force?: boolean } = {}): Promise<void> {
    const { force = false, ...call } = options;
    await this.#connection.call({
      ...call,
      method: 'DELETE',
      segments: ['containers', fullId(id)],
      query: { v: true, force },
    });
  }

  async inspect(idOrName: string, options: port.CallOptions = {}): Promise<ContainerState> {
    return containerState(await this.#inspectBody(idOrName, options));
  }

  async list(
    filter: { readonly labels?: port.Labels; readonly all: boolean },
    options: port.CallOptions = {},
  ): Promise<readonly ContainerSummary[]> {
    const query = { all: filter.all, filters: labelFilter(filter.labels ?? {}) };
    const answer = await this.#connection.call({
      ...options,
      method: 'GET',
      segments: ['containers', 'json'],
      query,
    });
    return list(answer.body).map(containerSummary);
  }

  async writtenBytes(id: string, options: port.CallOptions = {}): Promise<number | undefined> {
    const bytes = number((await this.#inspectBody(fullId(id), options, { size: true }))['SizeRw']);
    // Docker answers -1 where it could not look.
    return bytes === undefined || bytes < 0 ? undefined : bytes;
  }

  async healthcheckNow(id: string, options: port.CallOptions = {}): Promise<ContainerHealth | undefined> {
    const { kind } = await this.#connection.speak(options);
    if (kind === 'podman') {
      // It answers with this one run; the status that counts, with retries and start period, is in the container's state.
      const path = enginePath(['v4.0.0', 'libpod', 'containers', fullId(id), 'healthcheck']);
      try {
        await this.#connection.raw({ ...options, method: 'GET', path });
      } catch (error) {
        // 409: there is no check, or the container does not run.
        if (!(error instanceof EngineConflictError)) throw error;
      }
    }
    return (await this.inspect(id, options)).health;
  }

  events(filter: port.EventFilter, handlers: port.EventHandlers): port.EventSubscription {
    const stop = new AbortController();
    const started = Promise.withResolvers<void>();
    const follow = async (): Promise<void> => {
      const stream = await this.#connection.stream({
        signal: stop.signal,
        method: 'GET',
        segments: ['events'],
        query: {
          ...optional('since', filter.sinceMs === undefined ? undefined : seconds(filter.sinceMs)),
          filters: JSON.stringify({ type: ['container'], ...labelConditions(filter.labels ?? {}) }),
        },
      });
      started.resolve();
      for await (const value of jsonValues(stream)) {
        const event = engineEvent(value);
        if (event !== undefined && !stop.signal.aborted) handlers.onEvent(event);
      }
      throw new EngineUnavailableError('the engine ended its stream of events');
    };
    void follow()
      .catch((error: Error) => {
        handlers.onEnd(...(stop.signal.aborted ? [] : [error]));
      })
      .finally(started.resolve);
    return { ready: started.promise, close: () => stop.abort() };
  }

  async *logs(id: string, options: port.LogOptions): AsyncGenerator<port.LogLine> {
    const inspected = await this.#inspectBody(fullId(id), optional('signal', options.signal));
    // Only output of containers without a terminal is framed; the answer itself does not say so before API 1.42.
    const tty = fields(inspected['Config'])['Tty'] === true;
    const lines = containerLogs(this.#connection, fullId(id), options, tty);
    if (options.plain === undefined) yield* lines;
    else yield* redactedLines(lines, await this.#valuesOf(inspected, options.plain, options.signal));
  }

  /** What must not leave the adapter. */
  async #valuesOf(
    inspected: ReturnType<typeof fields>,
    plain: port.LastWordsOptions['plain'],
    signal = AbortSignal.timeout(DEFAULT_DEADLINE_MS),
  ): Promise<readonly string[]> {
    return deliveredValues(inspected, await this.#imageOf(inspected, signal), plain);
  }

  async lastWords(id: string, options: port.LastWordsOptions): Promise<FailureLog> {
    const signal = AbortSignal.timeout(options.deadlineMs);
    const inspected = await this.#inspectBody(fullId(id), { signal });
    const values = await this.#valuesOf(inspected, options.plain, signal);
    const tty = fields(inspected['Config'])['Tty'] === true;
    const lines = containerLogs(this.#connection, id, { tail: LINES_READ, signal }, tty);
    return await lastWords(lines, inspected, values, options);
  }

  async healthChecks(
    id: string,
    plain: port.LastWordsOptions['plain'],
    options: port.CallOptions = {},
  ): Promise<readonly port.CheckResult[]> {
    const inspected = await this.#inspectBody(fullId(id), options);
    return checkResults(inspected, await this.#valuesOf(inspected, plain, options.signal));
  }

  /** Undefined: it was removed meanwhile; then everything in the environment counts as secret. */
  async #imageOf(
    inspected: ReturnType<typeof fields>,
    signal: AbortSignal,
  ): Promise<ReturnType<typeof fields> | undefined> {
    const segments = ['images', text(inspected['Image']) ?? '', 'json'];
    try {
      return fields((await this.#connection.call({ signal, method: 'GET', segments })).body);
    } catch (error) {
      if (error instanceof EngineNotFoundError) return undefined;
      throw error;
    }
  }

  async *stats(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<port.StatsSample> {
    const segments = ['containers', fullId(id), 'stats'];
    const stream = await this.#connection.stream({
      ...options,
      method: 'GET',
      segments,
      query: { stream: true },
    });
    for await (const value of jsonValues(stream)) {
      const sample = statsSample(value);
      if (sample === undefined) return;
      yield sample;
    }
  }

  async statsOnce(id: string, options: port.CallOptions = {}): Promise<port.StatsSample> {
    const query = { stream: false, 'one-shot': true };
    const answer = await this.#connection.call({
      ...options,
      method: 'GET',
      segments: ['containers', fullId(id), 'stats'],
      query,
    });
    const sample = statsSample(answer.body);
    if (sample === undefined) throw new EngineConflictError('the container does not run', 409);
    return sample;
  }

  async readArchive(
    id: string,
    path: string,
    options: port.CallOptions = {},
  ): Promise<AsyncIterable<Buffer>> {
    return await readArchive(this.#connection, fullId(id), path, options);
  }

  async writeArchive(
    id: string,
    folder: string,
    archive: Readable,
    options: port.CallOptions = {},
  ): Promise<void> {
    await writeArchive(this.#connection, fullId(id), folder, archive, options);
  }

  async pathKind(
    id: string,
    path: string,
    options: port.CallOptions = {},
  ): Promise<'folder' | 'other' | undefined> {
    return await pathKind(this.#connection, fullId(id), path, options);
  }

  async exec(id: string, argv: readonly string[], options: port.ExecOptions): Promise<port.ExecSession> {
    return await startExec(this.#connection, fullId(id), argv, options);
  }

  async #container(id: string, action: string, options: port.CallOptions, query: Query = {}): Promise<void> {
    await this.#connection.call({
      ...options,
      method: 'POST',
      segments: ['containers', fullId(id), action],
      query,
    });
  }

  /** An engine takes the beginning of an id for a name that it does not know: what came back must be what was asked for. */
  async #inspectBody(
    idOrName: string,
    options: port.CallOptions,
    query: { readonly size?: boolean } = {},
  ): Promise<ReturnType<typeof fields>> {
    const answer = await this.#connection.call({
      ...options,
      method: 'GET',
      segments: ['containers', plainName(idOrName, 'a container id or name'), 'json'],
      query,
    });
    const body = fields(answer.body);
    if (body['Id'] !== idOrName && (text(body['Name']) ?? '').replace(/^\//, '') !== idOrName) {
      throw new EngineNotFoundError(`no such container: ${idOrName}`, 404);
    }
    return body;
  }
}
