import { describe, expect, it } from 'vitest';
import { KvCompactedError, KvTooLargeError, KvUnavailableError } from '../kv.ts';
import { errorOf, faultKindOf, faultOf } from './fault.ts';
import { CODE, WireError } from './wire.ts';

// code, etcd's message, sent → kind, certainly not applied, worth repeating
const CASES: readonly (readonly [number, string, boolean, string, boolean, boolean])[] = [
  [CODE.unavailable, 'connect ECONNREFUSED 127.0.0.1:1', false, 'unreachable', true, true],
  [CODE.unavailable, 'read ECONNRESET', true, 'unreachable', false, true],
  [CODE.unavailable, 'etcdserver: leader changed', true, 'unreachable', false, true],
  [CODE.unavailable, 'etcdserver: no leader', true, 'no-leader', true, true],
  [CODE.unavailable, 'etcdserver: request timed out', true, 'timeout', false, true],
  [CODE.deadlineExceeded, 'no answer within 2000 ms', true, 'timeout', false, true],
  [CODE.deadlineExceeded, 'no answer within 2000 ms', false, 'unreachable', true, true],
  [CODE.resourceExhausted, 'etcdserver: mvcc: database space exceeded', true, 'no-space', false, false],
  [CODE.resourceExhausted, 'etcdserver: too many requests', true, 'busy', true, true],
  [CODE.unauthenticated, 'etcdserver: invalid auth token', true, 'token', true, false],
  [CODE.invalidArgument, 'etcdserver: user name is empty', true, 'token', true, false],
  [CODE.permissionDenied, 'etcdserver: permission denied', true, 'auth', true, false],
  [
    CODE.invalidArgument,
    'etcdserver: authentication failed, invalid user ID or password',
    true,
    'auth',
    true,
    false,
  ],
  [CODE.outOfRange, 'etcdserver: mvcc: required revision has been compacted', true, 'compacted', true, false],
  [CODE.notFound, 'etcdserver: requested lease not found', true, 'no-lease', true, false],
  [CODE.invalidArgument, 'etcdserver: request is too large', true, 'too-large', true, false],
  [CODE.resourceExhausted, 'received message larger than max (9 vs. 1)', true, 'too-large', true, false],
  [CODE.invalidArgument, 'etcdserver: too many operations in txn request', true, 'too-large', true, false],
  [CODE.invalidArgument, 'etcdserver: key is not provided', true, 'refused', true, false],
  [CODE.internal, 'surprise', true, 'refused', false, false],
];

describe('faultOf', () => {
  it.each(CASES)('%i %s (sent: %s) is %s', (code, message, sent, kind, certainlyNotApplied, passing) => {
    const cause = new WireError(code, message, sent);
    const fault = faultOf(cause, 'http://etcd:2379');
    expect(fault).toMatchObject({ kind, certainlyNotApplied, passing });
    expect(fault.message).toContain(message);
    expect(faultKindOf(errorOf(fault, cause))).toBe(kind);
  });

  it('is an availability error, except for what the caller got wrong', () => {
    const thrown = (code: number, message: string): Error => {
      const cause = new WireError(code, message, true);
      return errorOf(faultOf(cause, ''), cause);
    };
    expect(thrown(CODE.unavailable, 'x')).toBeInstanceOf(KvUnavailableError);
    expect(thrown(CODE.internal, 'x')).toMatchObject({
      name: 'KvUnavailableError',
      certainlyNotApplied: false,
    });
    expect(thrown(CODE.outOfRange, 'has been compacted')).toBeInstanceOf(KvCompactedError);
    expect(thrown(CODE.invalidArgument, 'request is too large')).toBeInstanceOf(KvTooLargeError);
    expect(thrown(CODE.invalidArgument, 'key is not provided')).not.toBeInstanceOf(KvUnavailableError);
  });
});
