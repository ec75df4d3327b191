import { describe, expect, it } from 'vitest';
import { toldCommand } from './told-command.ts';

describe('a command as it is written down', () => {
  it.each([
    [['ls', '-l', '/data'], 'ls -l /data'],
    [['sh', '-c', 'env | sort'], 'sh -c "env | sort"'],
    [['psql', '-U', 'postgres'], 'psql -U postgres'],
    [['sh', '-c', 'PGPASSWORD=s3cr3t-Value9 psql'], 'sh -c (redacted)'],
    [['mysql', '--password=s3cr3t-Value9'], 'mysql (redacted)'],
    [['tool', '--password', 's3cr3t-Value9', 'x'], 'tool --password (redacted) x'],
    [['curl', 'http://user:s3cr3t-Value9@db/'], 'curl (redacted)'],
  ])('%j', (command, told) => {
    expect(toldCommand(command)).toBe(told);
  });

  it('is cut', () => {
    expect(toldCommand(['echo', 'x'.repeat(5000)]).length).toBeLessThan(1100);
  });
});
