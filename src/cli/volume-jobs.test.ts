import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { backupJob, drillJob, restoreJob } from './volume-jobs.ts';

const REPOSITORY = {
  repo: 'rest:http://backups/',
  image: 'tools/restic:0.14',
  secrets: [{ name: 'RESTIC', path: 'resources/restic' }],
};
const BACKUP = {
  ...REPOSITORY,
  name: 'b',
  volume: 'pg-data',
  schedule: '0 2 * * *',
  keep: { daily: 1, weekly: 2, monthly: 3 },
};

const folder = mkdtempSync(join(tmpdir(), 'berth-volume-jobs-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The command of a job with a restic that says what it is given and has a file of `backup`; `fails` are words at which it fails. */
function said(job: Readonly<Record<string, unknown>>, fails = 'nothing'): readonly string[] {
  const log = join(folder, 'log');
  writeFileSync(log, '');
  const restic = `#!/bin/sh\necho "$@" >> ${log}\nmkdir -p ${folder}/volume/backup\n: > ${folder}/volume/backup/dump\ncase "$*" in *${fails}*) exit 1;; esac\n`;
  writeFileSync(join(folder, 'restic'), restic, { mode: 0o755 });
  // Where a container has the volume and what is restored, the test has folders of its own.
  const argv = (job['command'] as readonly string[]).map((word) =>
    word.replaceAll(
      /(?<![\w/])\/(?:volume|restored)(?=$|[\s/"$)])/g,
      (path) => `${folder}${path === '/restored' ? '' : path}`,
    ),
  );
  const [program = '', ...args] = argv;
  execFileSync(program, args, { env: { PATH: `${folder}:/usr/bin:/bin` }, stdio: 'pipe' });
  return execFileSync('cat', [log], { encoding: 'utf8' }).trimEnd().split('\n');
}

describe('a job of a volume', () => {
  it('saves it for reading, where it is, and forgets what is old', () => {
    const job = backupJob({ ...BACKUP, path: 'backup', before: { deployment: 'pg', command: ['dump'] } });
    expect(job).toMatchObject({
      volumes: [{ volume: 'pg-data', mountPath: '/volume', readOnly: true }],
      secrets: [{ name: 'RESTIC', vault_path: 'resources/restic', anchor: 'external' }],
      environment: { RESTIC_REPOSITORY: 'rest:http://backups/' },
      before: { deployment: 'pg', command: ['dump'] },
    });
    expect(job).not.toHaveProperty('nodeId');
    expect(said(job)).toEqual([
      'cat config',
      'unlock',
      `backup --host pg-data --tag berth ${folder}/volume/backup`,
      'forget --host pg-data --tag berth --keep-daily 1 --keep-weekly 2 --keep-monthly 3 --prune',
    ]);
  });

  it('makes the repository when there is none, and fails with the backup', () => {
    expect(said(backupJob(BACKUP), 'cat')[1]).toBe('init');
    expect(() => said(backupJob(BACKUP), 'backup')).toThrow();
  });

  it('restores into a volume without files only, and renames', () => {
    const terms = { ...REPOSITORY, name: 'r', volume: 'v2', from: 'pg-data', snapshot: 'latest' };
    rmSync(join(folder, 'volume'), { recursive: true, force: true });
    mkdirSync(join(folder, 'volume/lost+found'), { recursive: true });
    expect(said(restoreJob({ ...terms, path: 'backup', as: 'pg' }))).toEqual([
      `restore latest --host pg-data --tag berth --include ${folder}/volume/backup --target /`,
    ]);
    expect(execFileSync('ls', [join(folder, 'volume')], { encoding: 'utf8' })).toBe('lost+found\npg\n');
    expect(() => said(restoreJob(terms))).toThrow('the volume is not empty');
  });

  it('fails when the snapshot has nothing of what was asked for, and leaves the volume as it was', () => {
    const terms = { ...REPOSITORY, name: 'r', volume: 'v2', from: 'pg-data', snapshot: 'latest' };
    rmSync(join(folder, 'volume'), { recursive: true, force: true });
    mkdirSync(join(folder, 'volume'));
    expect(() => said(restoreJob({ ...terms, path: 'backups/pg', as: 'pg' }))).toThrow(
      `the snapshot has nothing under ${folder}/volume/backups/pg\n`,
    );
    expect(readdirSync(join(folder, 'volume'))).toEqual(['backup']);
    const drill = { ...REPOSITORY, name: 'd', from: 'pg-data', schedule: '0 5 * * 0', check: ['true'] };
    expect(() => said(drillJob({ ...drill, path: 'backups' }))).toThrow(
      `the snapshot has nothing under ${folder}/volume/backups\n`,
    );
  });

  it('drills: the check decides', () => {
    const terms = { ...REPOSITORY, name: 'd', from: 'pg-data', schedule: '0 5 * * 0' };
    const drill = (check: readonly string[]) => {
      mkdirSync(join(folder, folder, 'volume'), { recursive: true });
      writeFileSync(join(folder, folder, 'volume/dump'), '');
      return said(drillJob({ ...terms, check }));
    };
    expect(drillJob({ ...terms, check: ['true'] })).not.toHaveProperty('volumes');
    expect(drill(['test', '-d', '.'])).toEqual([
      `restore latest --host pg-data --tag berth --include ${folder}/volume --target ${folder}`,
    ]);
    expect(() => drill(['false'])).toThrow();
  });
});
