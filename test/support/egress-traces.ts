import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, quietly } from './harness/engine-network.ts';

const TABLE = ['table', 'inet', 'berth-egress'] as const;

/** Process ids and rules mean nothing in other namespaces that share the folder of temporary files. */
function runsFolder(): string {
  const names = ['net', 'pid'].map((kind) => /\d+/.exec(readlinkSync(`/proc/self/ns/${kind}`))?.[0] ?? '0');
  return join(tmpdir(), `berth-test-egress-${names.join('-')}`);
}

/** Runs of the tests that go on. */
const runs = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => isAlive(Number(name.split('-')[0])));

function nft(...words: readonly string[]): void {
  execFileSync('/usr/sbin/nft', words, { stdio: 'ignore' });
}

function isTable(): boolean {
  try {
    nft('list', ...TABLE);
    return true;
  } catch {
    return false;
  }
}

/**
 * Agents leave their table of nftables behind, as they should, also those of the tests in the tests' own network. What was not there before the
 * first run that goes on is taken away by the last one; what was there is an agent's of this machine, and stays.
 */
export function keepEgress(): () => void {
  const folder = runsFolder();
  mkdirSync(folder, { recursive: true });
  if (runs(folder).length === 0 && isTable()) return () => undefined;
  const own = mkdtempSync(join(folder, `${process.pid}-`));
  return () => {
    rmSync(own, { recursive: true, force: true });
    if (runs(folder).length === 0) quietly(() => nft('delete', ...TABLE));
  };
}
