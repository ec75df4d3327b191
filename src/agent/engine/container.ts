/** What is asked of an engine for one container. Closed and typed: no field is a map that is passed on. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  /** `uid[:gid]` or names; absent: the user of the image. */
  readonly user?: string;
  readonly readOnlyRoot?: boolean;
  /** Names of capabilities, or `ALL`: none of them is left to the container. */
  readonly dropCapabilities?: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  /** The user's labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Berth's labels: written last, so that no user label can take their place. */
  readonly ownLabels: Readonly<Record<string, string>>;
  /** Absent: the container has a loopback interface only. */
  readonly network?: { readonly name: string; readonly aliases: readonly string[] };
  readonly healthCheck?: HealthCheckSpec;
  readonly restart: RestartPolicy;
  /** In cores; absent: unlimited. */
  readonly cpu?: number;
  readonly memoryBytes?: number;
  readonly pidsLimit?: number;
  /** Relative to other containers, 1 to 10,000; absent: the engine's own. */
  readonly cpuWeight?: number;
  /** Of all its files. */
  readonly logBytes?: number;
  readonly mounts: readonly MountSpec[];
  readonly ports: readonly PortSpec[];
  /** Absent: that of the image. */
  readonly stopSignal?: string;
  readonly stopTimeoutS?: number;
}

export interface HealthCheckSpec {
  /** `['CMD', ...argv]` or `['CMD-SHELL', line]`. */
  readonly test: readonly [form: 'CMD' | 'CMD-SHELL', ...rest: string[]];
  readonly intervalMs?: number;
  readonly timeoutMs?: number;
  readonly retries?: number;
  readonly startPeriodMs?: number;
}

export type RestartPolicy =
  | { readonly name: 'no' }
  | { readonly name: 'unless-stopped' }
  | { readonly name: 'on-failure'; readonly maxRetries: number };

export type MountSpec =
  | { readonly kind: 'bind'; readonly source: string; readonly target: string; readonly readOnly: boolean }
  | { readonly kind: 'volume'; readonly source: string; readonly target: string; readonly readOnly: boolean }
  | { readonly kind: 'tmpfs'; readonly target: string; readonly sizeBytes: number };

export interface PortSpec {
  readonly container: number;
  readonly host: number;
  readonly protocol: 'tcp' | 'udp';
}

export type ContainerStatus =
  | 'created'
  | 'running'
  | 'paused'
  | 'restarting'
  | 'exited'
  | 'dead'
  | 'removing';

/** The text that a health check printed is left in the engine: it may hold anything. */
export interface ContainerHealth {
  readonly status: 'starting' | 'healthy' | 'unhealthy';
  readonly failingStreak: number;
  readonly lastExitCode?: number;
  /** The last check did not return in time and was given up. */
  readonly timedOut?: boolean;
  /** The check itself could not run: its program is missing or not executable in the image. */
  readonly commandNotFound: boolean;
}

/** What an engine reports of a container. The environment is no part of it, by type: values of secrets never leave the engine. */
export interface ContainerState {
  readonly id: string;
  readonly name: string;
  /** The reference that was asked for. */
  readonly image: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly status: ContainerStatus;
  /** Of the last run; absent while there was none or it goes on. */
  readonly exitCode?: number;
  readonly oomKilled: boolean;
  readonly pid?: number;
  readonly health?: ContainerHealth;
  readonly restartCount: number;
  /** As it was made. */
  readonly stopTimeoutS?: number;
  /** The engine itself starts it again. */
  readonly restartsItself: boolean;
  /** Paths of the host that are mounted in it. */
  readonly binds: readonly string[];
  readonly networks: readonly NetworkAttachment[];
  readonly ports: readonly PublishedPort[];
}

export interface NetworkAttachment {
  readonly name: string;
  readonly ip?: string;
  readonly aliases: readonly string[];
}

export interface PublishedPort extends PortSpec {
  readonly hostIp: string;
}

export interface ContainerSummary {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: ContainerStatus;
  readonly createdAt: string;
}
