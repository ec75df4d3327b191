import { describe, expect, it } from 'vitest';
import { deliveredValues } from './last-words.ts';
import { redact } from './redact.ts';

const inspected = (...env: readonly string[]) => ({ Config: { Env: env } });

describe('values that a container was given', () => {
  const values = deliveredValues(
    inspected(
      'PATH=/usr/bin',
      'LANG=C.UTF-8',
      'MODE=production',
      'DB_URL=postgres://app:p%40ss-word-1@db/app',
      'KEY=-----BEGIN KEY-----\nMIIBVQIBADAN\n-----END KEY-----',
    ),
    inspected('LANG=C.UTF-8'),
    { MODE: 'production' },
  );

  it.each([
    ['connects to postgres://app:p%40ss-word-1@db/app', 'connects to [redacted]'],
    ['password p@ss-word-1 is wrong', 'password [redacted] is wrong'],
    ['second line of the key: MIIBVQIBADAN', 'second line of the key: [redacted]'],
    ['production in /usr/bin with C.UTF-8', 'production in /usr/bin with C.UTF-8'],
  ])('are taken out: %s', (line, kept) => expect(redact(line, values)).toBe(kept));

  it('are all that is in the environment, when its image is gone', () => {
    expect(deliveredValues(inspected('LANG=C.UTF-8'), undefined, {})).toContain('C.UTF-8');
  });
});
