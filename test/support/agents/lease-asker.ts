import { workerData } from 'node:worker_threads';
import { LeaseLink } from '../../../src/agent/volumes/lease-link.ts';
import type { LeaseRepeat } from '../../../src/core/protocol/agent-protocol.ts';

/** An agent's link in a thread of its own, so that it goes on while the test holds the control plane's loop. */
const { repeat, everyMs, shared } = workerData as {
  readonly repeat: LeaseRepeat;
  readonly everyMs: number;
  /** How many leases came, and when the last one did, in nanoseconds. */
  readonly shared: SharedArrayBuffer;
};
const words = new BigInt64Array(shared);
new LeaseLink({
  host: '127.0.0.1',
  repeat,
  everyMs,
  onLease: () => {
    Atomics.add(words, 0, 1n);
    Atomics.store(words, 1, process.hrtime.bigint());
  },
});
// The link keeps no process alive.
setInterval(() => undefined, 60_000);
