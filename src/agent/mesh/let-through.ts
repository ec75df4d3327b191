import { run } from '../volumes/program.ts';

const ours = (...args: readonly string[]): Promise<boolean> =>
  run('iptables', ['-w', '5', ...args]).then(
    () => true,
    () => false,
  );

/** Docker leaves a chain to others, and asks it first. Without Docker there is only the one that a firewall may have closed. */
async function chain(): Promise<string> {
  return (await ours('-n', '-L', 'DOCKER-USER')) ? 'DOCKER-USER' : 'FORWARD';
}

/**
 * Docker and firewalls drop what they have not let through themselves; rules of another table cannot take that back. Each is what packets
 * have to fit.
 */
export async function letThrough(...matches: readonly (readonly string[])[]): Promise<void> {
  const name = await chain();
  for (const match of matches) {
    const rule = [name, ...match, '-j', 'ACCEPT'];
    if (!(await ours('-C', ...rule))) await ours('-I', ...rule);
  }
}

export async function letThroughNoMore(...matches: readonly (readonly string[])[]): Promise<void> {
  const name = await chain();
  for (const match of matches) await ours('-D', name, ...match, '-j', 'ACCEPT');
}
