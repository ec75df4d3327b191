import { type Commit, type CommitResult, type Kv, KvTooLargeError, KvUnavailableError } from './kv.ts';

type CommitEnd = 'ok' | 'conflict' | 'unavailable' | 'too_large' | 'fault';

function endOf(error: unknown): CommitEnd {
  if (error instanceof KvTooLargeError) return 'too_large';
  return error instanceof KvUnavailableError ? 'unavailable' : 'fault';
}

/** Tells how every commit ended, and how long it took. */
export function timedKv(kv: Kv, ended: (how: CommitEnd, seconds: number) => void): Kv {
  return {
    ...kv,
    async commit(commit: Commit): Promise<CommitResult> {
      const start = performance.now();
      const tell = (how: CommitEnd): void => ended(how, (performance.now() - start) / 1000);
      try {
        const result = await kv.commit(commit);
        tell(result.ok ? 'ok' : 'conflict');
        return result;
      } catch (error) {
        tell(endOf(error));
        throw error;
      }
    },
  };
}
