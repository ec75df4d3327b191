import { errorCode } from '../log.ts';
import { EngineUnavailableError } from './errors.ts';
import { type Dialect, negotiate } from './dialect.ts';
import { EngineTransport } from './transport.ts';

const PROBE_DEADLINE_MS = 5_000;

export interface EngineSocket extends Dialect {
  readonly socketPath: string;
  readonly source: string;
}

export interface SocketCandidate {
  /** Where the path comes from, for the operator. */
  readonly source: string;
  readonly socketPath: string;
}

export class EngineNotFoundAnywhereError extends EngineUnavailableError {
  readonly tried: readonly string[];
  constructor(tried: readonly string[]) {
    super(`no container engine answers; tried ${tried.join('; ')}`);
    this.tried = tried;
  }
}

/** The sockets to try, in order. One that the operator named is the only one: no other engine is taken in its place. */
export function socketCandidates(
  explicit: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): readonly SocketCandidate[] {
  if (explicit !== undefined) return [{ source: 'configured socket', socketPath: withoutScheme(explicit) }];
  const dockerHost = environment['DOCKER_HOST'];
  if (dockerHost !== undefined && dockerHost !== '') {
    return [{ source: 'DOCKER_HOST', socketPath: withoutScheme(dockerHost) }];
  }
  const runtimeDir = environment['XDG_RUNTIME_DIR'];
  return [
    { source: 'Docker', socketPath: '/var/run/docker.sock' },
    { source: 'Podman', socketPath: '/run/podman/podman.sock' },
    ...(runtimeDir === undefined || runtimeDir === ''
      ? []
      : [{ source: 'Podman of the user', socketPath: `${runtimeDir}/podman/podman.sock` }]),
  ];
}

/** The first socket at which an engine of a known version answers; otherwise an error that says what was tried and why not. */
export async function detectEngine(
  explicit?: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<EngineSocket> {
  const tried: string[] = [];
  for (const { source, socketPath } of socketCandidates(explicit, environment)) {
    try {
      if (!socketPath.startsWith('/')) throw new Error('only unix sockets are supported');
      const dialect = await negotiate(new EngineTransport(socketPath), { deadlineMs: PROBE_DEADLINE_MS });
      return { ...dialect, source, socketPath };
    } catch (error) {
      tried.push(`${source} ${socketPath} (${reason(error)})`);
    }
  }
  throw new EngineNotFoundAnywhereError(tried);
}

function withoutScheme(address: string): string {
  return address.replace(/^unix:\/\//, '');
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such socket',
  EACCES: 'no permission to open it',
  ECONNREFUSED: 'nothing listens there',
};

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = errorCode(error.cause) ?? '';
  return REASONS[code] ?? error.message;
}
