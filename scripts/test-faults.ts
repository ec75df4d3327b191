import { runTool } from './run.ts';

/** What takes faults by number or by seed. One file at a time: kills are to meet a machine that does nothing else. */
const FILES = [
  'test/faults',
  'test/system/agent-faults.test.ts',
  'test/system/agent-crash-points.test.ts',
  'test/system/volumes-failover.test.ts',
  'test/system/several-planes.test.ts',
  'test/system/several-etcd.test.ts',
  'test/system/several-compaction.test.ts',
  'test/system/clock-jumps.test.ts',
  'test/system/cluster-faults.test.ts',
  'test/system/reconnect-storm.test.ts',
  'test/system/disk-full.test.ts',
  'test/system/engine-disk-full.test.ts',
  'test/system/several-volumes.test.ts',
  'test/system/packaging.test.ts',
  'test/system/older-store.test.ts',
];

const asked = process.argv.slice(2);
const args = [
  'run',
  '--project',
  'flow',
  '--project',
  'system',
  '--no-file-parallelism',
  '--reporter=verbose',
];
process.exit(runTool('vitest', [...args, ...(asked.length > 0 ? asked : FILES)], { FAULT_TIER: 'long' }));
