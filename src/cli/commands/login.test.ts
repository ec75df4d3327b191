import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { typeCommand } from '../../../test/support/harness/typed-command.ts';

describe('berth login', () => {
  it.each(['one\u0007token\n', 'two tokens\n'])('refuses %j before it is sent', async (input) => {
    const home = { HOME: join(tmpdir(), 'berth-nobody') };
    const refused = await typeCommand(['login', '--server', 'http://127.0.0.1:1'], home, input);
    expect(refused).toMatchObject({ status: 2, out: '' });
    expect(refused.err).toContain('the token must be one word without control characters');
  });
});
