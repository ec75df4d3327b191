import type { FailureLog } from '../../core/model/kept-failure.ts';
import type { Readable } from 'node:stream';
import type { ContainerHealth, ContainerSpec, ContainerState, ContainerSummary } from './container.ts';

/**
 * The container engine as the agent sees it. One adapter, `DockerEngine`, speaks to Docker ≥ 20.10 and to Podman ≥ 4.
 *
 * Failures are thrown, see `errors.ts`. Calls that change a container or a network take its full id, never a name: engines
 * match a name that looks like the beginning of an id with another tenant's container.
 */
export interface Engine {
  ping(options?: CallOptions): Promise<void>;
  info(options?: CallOptions): Promise<EngineInfo>;

  /** Ends when the image is on the node. A failure, also in the middle of the stream, is an `ImagePullError`. */
  pull(image: string, options?: PullOptions): Promise<void>;
  imageExists(image: string, options?: CallOptions): Promise<boolean>;
  inspectImage(image: string, options?: CallOptions): Promise<ImageState>;
  /** Whoever brought them. */
  listImages(options?: CallOptions): Promise<readonly EngineImage[]>;
  /** The name goes, and with its last name the image; one that a container was made from is an `EngineConflictError`. */
  removeImage(image: string, options?: CallOptions): Promise<void>;

  /** Idempotent. A network of that name with other settings or labels is an `EngineConflictError`: it is not ours. */
  ensureNetwork(spec: NetworkSpec, options?: CallOptions): Promise<NetworkState>;
  /** All networks that carry every one of the labels. */
  listNetworks(labels: Labels, options?: CallOptions): Promise<readonly NetworkState[]>;
  removeNetwork(id: string, options?: CallOptions): Promise<void>;
  /** Names of the containers that are attached to it, running or not. */
  networkContainers(
    network: { readonly id: string; readonly name?: string },
    options?: CallOptions,
  ): Promise<readonly string[]>;
  connect(
    networkId: string,
    containerId: string,
    aliases: readonly string[],
    options?: CallOptions,
  ): Promise<void>;
  disconnect(networkId: string, containerId: string, options?: CallOptions): Promise<void>;

  /**
   * Tried with a container that is never started, without an image: why the engine makes none, for a person. Undefined: it makes them, or
   * nothing is known.
   */
  creationProblem(trial: CreationTrial, options?: CallOptions): Promise<string | undefined>;
  /** Returns the id. `EngineConflictError`: the name is taken; inspect it by name and adopt, remove or report. */
  createContainer(spec: ContainerSpec, options?: CallOptions): Promise<string>;
  /** Idempotent, as is `stop`. */
  start(id: string, options?: CallOptions): Promise<void>;
  /** The engine kills what has not ended after `timeoutS`; the deadline is extended by that time. */
  stop(id: string, timeoutS: number, options?: CallOptions): Promise<void>;
  /** As `stop` and `start`, in one call. */
  restart(id: string, timeoutS: number, options?: CallOptions): Promise<void>;
  kill(id: string, signal?: string, options?: CallOptions): Promise<void>;
  /** From now on the engine does not restart it. False: this engine cannot change that of an existing container. */
  neverRestart(id: string, options?: CallOptions): Promise<boolean>;
  /** Anonymous volumes go with the container, named ones stay. */
  remove(id: string, options?: CallOptions & { readonly force?: boolean }): Promise<void>;
  /** By full id or exact name. */
  inspect(idOrName: string, options?: CallOptions): Promise<ContainerState>;
  list(
    filter: { readonly labels?: Labels; readonly all: boolean },
    options?: CallOptions,
  ): Promise<readonly ContainerSummary[]>;
  /** Above its image, outside of volumes and mounts; undefined: the engine does not say. It walks all of it: seconds for many files. */
  writtenBytes(id: string, options?: CallOptions): Promise<number | undefined>;
  /**
   * Podman without systemd never runs checks on its own, so the agent calls this at the check's interval. On Docker it only
   * reads. Undefined: the container has no health check.
   */
  healthcheckNow(id: string, options?: CallOptions): Promise<ContainerHealth | undefined>;

  /** A single attempt: the caller reconnects, with `sinceMs` of the last event it saw, and lists again. */
  events(filter: EventFilter, handlers: EventHandlers): EventSubscription;
  /** Lazy: connects at the first `next()`. What is not read stays in the engine. */
  logs(id: string, options: LogOptions): AsyncIterable<LogLine>;
  /** The end of what a run printed, without the values that its container was given: those do not leave the adapter. */
  lastWords(id: string, options: LastWordsOptions): Promise<FailureLog>;
  /** The last health checks as the engine keeps them, oldest first, without the values that its container was given. */
  healthChecks(
    id: string,
    plain: LastWordsOptions['plain'],
    options?: CallOptions,
  ): Promise<readonly CheckResult[]>;
  /** One sample per second on Docker, one per about five seconds on Podman. */
  stats(id: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<StatsSample>;
  statsOnce(id: string, options?: CallOptions): Promise<StatsSample>;
  /** A path inside, running or not, as a tar archive whose first entry is the path's own name. */
  readArchive(id: string, path: string, options?: CallOptions): Promise<AsyncIterable<Buffer>>;
  /** Unpacked in that folder; ends when all of it is there. */
  writeArchive(id: string, folder: string, archive: Readable, options?: CallOptions): Promise<void>;
  /** Undefined: there is nothing. */
  pathKind(id: string, path: string, options?: CallOptions): Promise<'folder' | 'other' | undefined>;
  exec(id: string, argv: readonly string[], options: ExecOptions): Promise<ExecSession>;
}

export type Labels = Readonly<Record<string, string>>;

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For the whole call; default: 30 s, 10 min for a pull. */
  readonly deadlineMs?: number;
}

export interface CreationTrial {
  /** Of the container of the trial. */
  readonly name: string;
  /** An empty folder, which is made. */
  readonly folder: string;
}

export type EngineKind = 'docker' | 'podman';

export interface EngineInfo {
  readonly kind: EngineKind;
  readonly version: string;
  readonly apiVersion: string;
  /** Versions by component, e.g. `runc`, `crun`, `containerd`, `conmon`, where the engine reports them. */
  readonly components: Readonly<Record<string, string>>;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** `os/architecture[/variant]`, as in image indexes: `linux/amd64`, `linux/arm64`. */
  readonly platform: string;
  readonly rootDir: string;
}

/** Held in memory for the pull and sent in a header of it; the engine does not store it. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
  readonly serverAddress: string;
}

export interface PullOptions extends CallOptions {
  readonly credentials?: RegistryCredentials;
  readonly onProgress?: (progress: PullProgress) => void;
}

export interface PullProgress {
  readonly layer?: string;
  readonly status: string;
  readonly currentBytes?: number;
  readonly totalBytes?: number;
}

export interface ImageState {
  readonly id: string;
  /** The registry's digest of the repository in the reference; absent for images that were never pulled or pushed. */
  readonly digest?: string;
  readonly platform: string;
  /** As the image says it; absent: root. */
  readonly user?: string;
}

export interface EngineImage {
  readonly id: string;
  readonly tags: readonly string[];
  /** `repository@sha256:…` */
  readonly digests: readonly string[];
  /** With layers that it may share with others. */
  readonly bytes: number;
}

export interface NetworkSpec {
  readonly name: string;
  readonly driver: 'bridge';
  /** No route out. */
  readonly internal: boolean;
  readonly labels: Labels;
  /** Absent: the engine chooses. */
  readonly addressing?: NetworkAddressing;
}

export interface NetworkAddressing {
  readonly subnet: string;
  readonly gateway: string;
  readonly mtu: number;
  /** An interface of the machine from which containers are reached by their own addresses. */
  readonly trusted: string;
}

export interface NetworkState {
  readonly id: string;
  readonly name: string;
  readonly driver: string;
  readonly internal: boolean;
  readonly labels: Labels;
  readonly subnet?: string;
}

export type EngineEventKind =
  | 'create'
  | 'start'
  | 'die'
  | 'oom'
  | 'health_status'
  | 'pause'
  | 'unpause'
  | 'restart'
  | 'destroy';

export interface EngineEvent {
  readonly kind: EngineEventKind;
  readonly containerId: string;
  readonly name: string;
  readonly labels: Labels;
  readonly atMs: number;
  readonly exitCode?: number;
  readonly health?: ContainerHealth['status'];
}

export interface EventFilter {
  readonly sinceMs?: number;
  readonly labels?: Labels;
}

export interface EventHandlers {
  onEvent(event: EngineEvent): void;
  /** Once, after which nothing comes; without an error only after `close()`. */
  onEnd(error?: Error): void;
}

export interface EventSubscription {
  /** Resolves when the engine has begun to stream: later events are not missed. Never rejects; a failure goes to `onEnd`. */
  readonly ready: Promise<void>;
  close(): void;
}

export interface LogOptions {
  readonly follow?: boolean;
  /** The last lines of the log; default: all. */
  readonly tail?: number;
  readonly sinceMs?: number;
  /** Environment that is no secret, as it was ordered: every other value of the container's is taken out. Absent: nothing is. */
  readonly plain?: LastWordsOptions['plain'];
  readonly signal?: AbortSignal;
}

export interface LastWordsOptions {
  /** Environment that is no secret, as it was ordered. */
  readonly plain: Readonly<Record<string, string>>;
  /** Of the run that is asked about, on the engine's clock. */
  readonly afterMs?: number;
  readonly untilMs?: number;
  readonly deadlineMs: number;
}

export interface CheckResult {
  /** On the engine's clock. */
  readonly at: string;
  readonly exitCode?: number;
  readonly output: string;
}

export type OutputStream = 'stdout' | 'stderr';

export interface LogLine {
  readonly stream: OutputStream;
  readonly line: string;
  /** True when the line was longer than the bound and goes on in the next one of the same stream. */
  readonly partial: boolean;
  /** RFC 3339 with nanoseconds, of the engine's clock. */
  readonly timestamp?: string;
  /** No line, but a place where some are missing: the engine overwrote them before they were read. */
  readonly gap?: LogGap;
}

/** Between two times of the engine's clock. */
export interface LogGap {
  readonly after: string;
  readonly before: string;
}

/** Counters as the engine has them: a share of a core is the difference of two samples' `cpuNs` over that of `atMs`. */
export interface StatsSample {
  readonly atMs: number;
  readonly cpuNs: number;
  readonly systemCpuNs?: number;
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  /** Of all interfaces since the container started; absent: the engine does not say, e.g. of the host's network. */
  readonly network?: { readonly receivedBytes: number; readonly sentBytes: number };
}

export interface ExecOptions {
  readonly timeoutMs: number;
  /** Written to the command and then closed. Without it the command's input is empty. */
  readonly stdin?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** In a terminal, where all output is `stdout`. */
  readonly tty?: TerminalSize;
  readonly signal?: AbortSignal;
}

export interface OutputChunk {
  readonly stream: OutputStream;
  readonly bytes: Buffer;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ExecSession {
  /** To be read once, to its end; what is not read holds the command back. */
  readonly output: AsyncIterable<OutputChunk>;
  /** After `output` has ended. */
  exitCode(): Promise<number>;
  /** Of a command with a terminal. */
  resize(size: TerminalSize): Promise<void>;
  /** To the command and its group, as a key of a terminal does. Engines have no call for it; false: it has ended, or is not on this machine. */
  kill(signal: NodeJS.Signals): Promise<boolean>;
  /** `output` fails with an `ExecLeftError`, and the command goes on. */
  leave(): void;
}
