import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface Child {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a script that prints its port as its first line. */
export async function startChild(script: URL, args: readonly string[]): Promise<Child> {
  const child: ChildProcess = fork(script, args, { silent: true });
  child.stderr?.pipe(process.stderr);
  const [first] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  return {
    port: Number.parseInt(first.toString(), 10),
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
