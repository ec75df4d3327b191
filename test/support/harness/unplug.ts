import { execFileSync } from 'node:child_process';
import type { TestNamespace } from './engine-network.ts';

const RULES = `table inet unplugged {
  chain in { type filter hook prerouting priority -500; iifname { "eth0", "lan0" } drop; }
  chain out { type filter hook postrouting priority 500; oifname { "eth0", "lan0" } drop; }
}`;

/** A machine whose cables are pulled: it hears nobody, nobody hears it. What runs there runs on. */
export function unplug(namespace: TestNamespace): void {
  nft(namespace, ['-f', '-'], RULES);
}

export function plugIn(namespace: TestNamespace): void {
  nft(namespace, ['delete', 'table', 'inet', 'unplugged']);
}

function nft(namespace: TestNamespace, args: readonly string[], input = ''): void {
  const [command, argv] = namespace.command(['/usr/sbin/nft', ...args]);
  execFileSync(command, [...argv], { input, stdio: ['pipe', 'ignore', 'pipe'] });
}
