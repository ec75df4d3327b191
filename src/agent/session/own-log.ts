import type { LogFeed } from '../../core/contract/log-feed.ts';
import type { StreamOperation } from '../../core/protocol/agent-protocol.ts';
import type { Pipe } from './pipe.ts';

type OwnLogOrder = Extract<StreamOperation, { readonly kind: 'agent-log' }>;

/** Longest that a reader may raise the level, whatever the control plane says. */
const LONGEST_MS = 3_600_000;

/** What was kept, then what comes until the time is over or the reader has gone; the level is raised for no longer. */
export async function sendOwnLog(
  feed: LogFeed,
  { follow, level, tail, forMs }: OwnLogOrder,
  pipe: Pipe,
): Promise<void> {
  const reader = follow ? feed.follow(level) : undefined;
  if (follow && reader === undefined) throw new Error('as many follow the log of this agent as may at once');
  const close = (): void => reader?.close();
  const timer = setTimeout(close, Math.min(forMs, LONGEST_MS));
  pipe.signal.addEventListener('abort', close, { once: true });
  try {
    for (const line of feed.tail(tail, level)) await pipe.writeText(`${line}\n`, 'stdout');
    for (let batch = await reader?.take(); batch !== undefined; batch = await reader?.take()) {
      for (const line of batch.lines) await pipe.writeText(`${line}\n`, 'stdout');
      if (batch.dropped === 0) continue;
      await pipe.flush();
      await pipe.write({ value: { dropped: batch.dropped } });
    }
    await pipe.flush();
  } finally {
    clearTimeout(timer);
    close();
  }
}
