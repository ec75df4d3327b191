import { KvCompactedError, KvTooLargeError, KvUnavailableError } from '../kv.ts';
import { CODE, WireError } from './wire.ts';

/** What a failed call means for the adapter. etcd's codes are coarse, so its message texts decide. */
export interface Fault {
  readonly kind:
    | 'unreachable'
    | 'timeout'
    | 'no-leader'
    | 'busy'
    | 'no-space'
    | 'token'
    | 'auth'
    | 'compacted'
    | 'no-lease'
    | 'lease-exists'
    | 'too-large'
    | 'refused';
  /** For an operator. Never holds a credential: etcd's messages do not, and requests are not quoted. */
  readonly message: string;
  /** The request changed nothing and will not. */
  readonly certainlyNotApplied: boolean;
  /** The same request may succeed a moment later, perhaps at another member. */
  readonly passing: boolean;
}

type Verdict = Omit<Fault, 'message'> & { readonly summary: string };

const verdict = (
  kind: Fault['kind'],
  certainlyNotApplied: boolean,
  passing: boolean,
  summary: string,
): Verdict => ({
  kind,
  certainlyNotApplied,
  passing,
  summary,
});

function verdictOf(error: WireError): Verdict {
  const text = error.message;
  const says = (part: string): boolean => text.includes(part);
  if (!error.sent) return verdict('unreachable', true, true, 'etcd cannot be reached');
  // The one that reaches the quota is applied.
  if (says('database space exceeded'))
    return verdict('no-space', false, false, 'etcd has no space left (NOSPACE alarm)');
  // The member checks for a leader before it proposes anything.
  if (says('no leader')) return verdict('no-leader', true, true, 'etcd has no leader');
  if (says('too many requests')) return verdict('busy', true, true, 'etcd is overloaded');
  if (says('invalid auth token') || says('revision of auth store is old')) {
    return verdict('token', true, false, 'etcd no longer accepts the session token');
  }
  if (says('user name is empty')) return verdict('token', true, false, 'etcd asks for credentials');
  if (
    error.code === CODE.permissionDenied ||
    error.code === CODE.unauthenticated ||
    says('permission denied') ||
    says('user name') ||
    says('authentication failed') ||
    says('auth: ')
  ) {
    return verdict('auth', true, false, 'etcd refuses the credentials');
  }
  if (says('has been compacted')) return verdict('compacted', true, false, 'the history has been compacted');
  if (says('lease not found')) return verdict('no-lease', true, false, 'the lease is gone');
  // By its own limit (--max-request-bytes), or before that by the one of the connection.
  if (says('request is too large') || says('larger than max') || says('too many operations'))
    return verdict('too-large', true, false, 'etcd does not take so much in one write');
  if (says('lease already exists')) return verdict('lease-exists', true, false, 'the lease exists already');
  if (error.code === CODE.deadlineExceeded || says('request timed out')) {
    return verdict('timeout', false, true, 'etcd did not answer in time');
  }
  if (error.code === CODE.unavailable)
    return verdict('unreachable', false, true, 'the connection to etcd was lost');
  const certain =
    error.code === CODE.invalidArgument ||
    error.code === CODE.outOfRange ||
    error.code === CODE.notFound ||
    error.code === CODE.failedPrecondition ||
    error.code === CODE.resourceExhausted;
  return verdict('refused', certain, false, 'etcd refused the request');
}

export function faultOf(error: WireError, endpoint: string): Fault {
  const { summary, ...rest } = verdictOf(error);
  return { ...rest, message: `${summary}: ${error.message} (${endpoint})` };
}

/** The error that leaves the adapter. A refusal is a defect of the caller, so it is not an availability error. */
export function errorOf(fault: Fault, cause: WireError): Error {
  switch (fault.kind) {
    case 'compacted':
      return new KvCompactedError(fault.message, { cause });
    case 'too-large':
      return new KvTooLargeError(fault.message, { cause });
    case 'refused':
    case 'no-lease':
    case 'lease-exists':
      return fault.certainlyNotApplied
        ? new Error(fault.message, { cause })
        : new KvUnavailableError(fault.message, false, { cause });
    default:
      return new KvUnavailableError(fault.message, fault.certainlyNotApplied, { cause });
  }
}

/** What an error that left the adapter was caused by. */
export function faultKindOf(error: unknown): Fault['kind'] | undefined {
  return error instanceof Error && error.cause instanceof WireError
    ? faultOf(error.cause, '').kind
    : undefined;
}
