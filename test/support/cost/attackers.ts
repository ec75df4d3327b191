import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Orders, Tally } from './attacker.ts';
import type { CostStage } from './cost-stage.ts';

export interface Attackers {
  stop(): Promise<Tally>;
  kill(): void;
}

export function startAttackers(
  { plane, tokens, nodes }: CostStage,
  seed: number,
  connections: number,
): Attackers {
  const child: ChildProcess = fork(new URL('attacker.ts', import.meta.url), { execArgv: [] });
  const orders: Orders = {
    url: plane.url,
    tokens,
    seed,
    connections,
    nodes: nodes.map(({ node, token, key }) => ({
      node,
      token,
      key: key.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      publicKey: key.publicKey,
    })),
  };
  child.send(orders);
  return {
    stop: async () => {
      if (child.exitCode !== null) throw new Error(`the attackers ended by themselves (${child.exitCode})`);
      const tally = once(child, 'message');
      child.send('stop');
      return ((await tally) as [Tally])[0];
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
