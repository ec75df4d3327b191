/** The engine answered, and refused or failed. `status` is 0 when the failure came inside a stream that began with 200. */
export class EngineError extends Error {
  readonly status: number;
  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.status = status;
  }
}

export class EngineNotFoundError extends EngineError {}

/** 409: a name that is taken, a container in a state that forbids the call, a removal that is already under way. */
export class EngineConflictError extends EngineError {}

/** No answer: no socket, refused, cut in the middle, or silent until the deadline. Whether the call took effect is unknown. */
export class EngineUnavailableError extends Error {
  override readonly name = 'EngineUnavailableError';
}

/** The command inside the container outlived its time and was killed, unless its process is not on this machine: engines offer no way. */
export class ExecTimeoutError extends Error {
  override readonly name = 'ExecTimeoutError';
}

/** Its reader left on purpose. */
export class ExecLeftError extends Error {
  override readonly name = 'ExecLeftError';
}

/** A specification that must never reach the engine: a fault of the caller, not of the engine. */
export class UnsafeSpecError extends Error {
  override readonly name = 'UnsafeSpecError';
}

/** Podman takes its init process from a package of its own, and says so in prose only. */
const NO_INIT = /container-init binary not found|lookup init binary|could not find "?catatonit/i;

/** Why no container can be made at all, and what to do; undefined: it is a matter of this one. */
export function creationProblem(error: unknown): string | undefined {
  if (!(error instanceof EngineError) || !NO_INIT.test(error.message)) return undefined;
  return `the engine cannot create containers, because the package catatonit is missing: install it there, with apt-get, dnf or what the machine has (${error.message.slice(0, 200)})`;
}

export type PullFailure = 'not-found' | 'unauthorized' | 'unreachable' | 'no-space' | 'other';

export class ImagePullError extends EngineError {
  readonly reason: PullFailure;
  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, status, options);
    this.reason = pullFailure(message);
  }
}

const NO_SPACE = /no space left on device|disk quota exceeded/i;

/** The engine's own disk is full, whatever it was about to do there. */
export function isNoSpace(error: unknown): boolean {
  return error instanceof EngineError && NO_SPACE.test(error.message);
}

const PULL_FAILURES: readonly (readonly [PullFailure, RegExp])[] = [
  ['no-space', NO_SPACE],
  [
    'unauthorized',
    /unauthorized|authentication required|access (to the resource is )?denied|forbidden|no basic auth/i,
  ],
  ['not-found', /not found|manifest unknown|name unknown|does not exist|no matching manifest/i],
  [
    'unreachable',
    /no such host|connection refused|connection reset|timeout|timed out|unreachable|deadline exceeded|EOF/i,
  ],
];

/** Engines give pull failures as prose only. It is read here and nowhere else. */
export function pullFailure(message: string): PullFailure {
  return PULL_FAILURES.find(([, pattern]) => pattern.test(message))?.[0] ?? 'other';
}

/** Podman answers 500 where Docker says 409, Docker 403 for a network in use: the message decides. */
const CONFLICT =
  /container state improper|has active endpoints|network (?:is being used|already exists)|already in use/i;

/** A name in use is a conflict, an address or port in use is not. */
function isConflict(message: string): boolean {
  const found = CONFLICT.exec(message);
  if (found === null || found[0].toLowerCase() !== 'already in use') return found !== null;
  return /name /i.test(message.slice(0, found.index));
}

export function errorForStatus(status: number, message: string): EngineError {
  if (status === 404) return new EngineNotFoundError(message, status);
  if (status === 409 || ((status === 500 || status === 403) && isConflict(message))) {
    return new EngineConflictError(message, 409);
  }
  return new EngineError(message, status);
}
