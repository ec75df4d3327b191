import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import {
  checkOrder,
  commandLine,
  enrolOrder,
  LOOK,
  serviceOrder,
  switchOrder,
  unpackOrder,
  WHO,
  wordsOrder,
} from './orders.ts';

const HOSTILE = `a'b"c$(echo no)\`id\`;\n*`;
const JOINING = {
  server: 'https://10.0.0.1:7600',
  caDigest: 'sha256:00',
  name: 'berlin',
  labels: ['disk=ssd', `odd=${HOSTILE}`],
  engine: undefined,
};

describe('what a machine is told to do', () => {
  it.each(['sh', 'bash'])('arrives in %s as it was meant', (shell) => {
    const line = commandLine({ script: `printf '<%s>' "$@"`, args: [HOSTILE, '-x', ''] });
    expect(execFileSync(shell, ['-c', line], { encoding: 'utf8' })).toBe(`<${HOSTILE}><-x><>`);
  });

  it('is understood by sh', () => {
    const orders = [WHO, LOOK, unpackOrder('1'), switchOrder('1'), checkOrder(JOINING), enrolOrder(JOINING)];
    for (const { script } of [
      ...orders,
      ...[true, false].flatMap((one) => [serviceOrder(one), wordsOrder(one)]),
    ])
      execFileSync('sh', ['-n', '-c', script]);
  });

  it('carries labels and the pin, and no token', () => {
    expect(enrolOrder(JOINING).args).toEqual([
      '--data-dir',
      '/var/lib/berth-agent',
      '--server',
      'https://10.0.0.1:7600',
      '--ca-digest',
      'sha256:00',
      '--name',
      'berlin',
      '--label',
      'disk=ssd',
      '--label',
      `odd=${HOSTILE}`,
    ]);
    expect(enrolOrder(JOINING).script).toContain('--join-file -');
  });
});
