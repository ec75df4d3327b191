import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  holdingsOf,
  isAlive,
  workspaceAt,
  prepareWorkspace,
  readState,
  writeState,
  startTimeOf,
} from './workspace.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-workspace-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the data folder', () => {
  it('is its owner’s only and remembers across runs', () => {
    const workspace = workspaceAt(join(folder, 'data'));
    prepareWorkspace(workspace);
    expect(statSync(workspace.folder).mode & 0o777).toBe(0o700);
    writeState(workspace, { apiPort: 7600 });
    writeState(workspace, { samplePort: 8080 });
    expect(readState(workspace)).toEqual({ apiPort: 7600, samplePort: 8080 });
  });

  it('stays its own when a start ends early', () => {
    const workspace = workspaceAt(join(folder, 'early'));
    const blocked = { ...workspace, logs: join(folder, 'file', 'logs') };
    writeFileSync(join(folder, 'file'), '');
    expect(() => prepareWorkspace(blocked)).toThrow('cannot be made');
    expect(holdingsOf(workspace)).toBe('own');
    prepareWorkspace(workspace);
    expect(readState(workspace)).toEqual({});
  });

  it('is empty with what a start left that wrote no state, and another’s with files in it', () => {
    const workspace = workspaceAt(join(folder, 'left'));
    for (const name of ['logs', 'run']) mkdirSync(join(workspace.folder, name), { recursive: true });
    writeFileSync(join(workspace.folder, 'up.json.new'), '');
    expect(holdingsOf(workspace)).toBe('empty');
    writeFileSync(join(workspace.logs, 'mine.log'), '');
    expect(holdingsOf(workspace)).toBe('foreign');
    prepareWorkspace(workspace);
    expect(readState(workspace)).toEqual({ isShared: true });
  });

  it('keeps sockets where their path is short enough', () => {
    expect(workspaceAt('/srv/berth').runFolder).toBe('/srv/berth/run');
    const deep = workspaceAt(`/${'very-long-folder-name/'.repeat(5)}data`);
    expect(deep.runFolder).toMatch(/^\/run\/berth-[0-9a-f]{10}$/);
    expect(join(deep.runFolder, 'docker/containerd/containerd-debug.sock').length).toBeLessThan(107);
  });

  it('tells a process from a later one of the same number', () => {
    const startTime = startTimeOf(process.pid) ?? '';
    expect(isAlive({ pid: process.pid, startTime, name: '' })).toBe(true);
    expect(isAlive({ pid: process.pid, startTime: '1', name: '' })).toBe(false);
    expect(startTimeOf(2 ** 22 + 1)).toBeUndefined();
  });
});
