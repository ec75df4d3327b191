import { describe, expect, it } from 'vitest';
import { sshFailure } from './ssh-failure.ts';

describe('what ssh says', () => {
  it.each([
    ['ssh: Could not resolve hostname nowhere: Name or service not known', 'its name has no address'],
    ['ssh: connect to host 10.0.0.1 port 22: Connection refused', 'nothing listens on the port of SSH there'],
    ['ssh: connect to host 10.0.0.1 port 22: Connection timed out', 'it does not answer'],
    ['ssh: connect to host 10.0.0.1 port 22: No route to host', 'no way leads to it'],
    ['root@h: Permission denied (publickey).', 'it lets nobody in with these keys or this password'],
    [
      'No ED25519 host key is known for h and you have requested strict checking.\nHost key verification failed.',
      'its host key is not known here',
    ],
    [
      '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n…\nHost key verification failed.',
      'it shows another host key than the one that ssh remembers',
    ],
    ['command-line: line 0: Bad configuration option: nonsense', 'ssh does not know the option'],
  ])('%s', (said, why) => {
    const failure = sshFailure('root@h', said);
    expect(failure.message).toBe(`root@h cannot be reached over SSH: ${why}`);
    expect(failure.advice[0]).toBe(`ssh said: ${said.split('\n').at(-1) ?? ''}`);
    expect(failure.advice.length).toBeGreaterThan(1);
  });

  it('is shown as it is when it is not known', () => {
    const { message, advice } = sshFailure('root@h', 'kex_exchange_identification: read: reset\n');
    expect(message).toBe('root@h cannot be reached over SSH');
    expect(advice).toEqual([
      'ssh said: kex_exchange_identification: read: reset',
      'Does this work? ssh root@h true',
    ]);
  });
});
