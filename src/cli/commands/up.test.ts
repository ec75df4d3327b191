import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CommandOutcome, typeCommand } from '../../../test/support/harness/typed-command.ts';
import { prepareWorkspace, workspaceAt, writeState } from '../up/workspace.ts';

let folder: string;
let data: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-up-command-'));
  data = join(folder, 'data');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function up(...words: readonly string[]): Promise<CommandOutcome> {
  return typeCommand(['up', '--data-dir', data, ...words], { HOME: folder });
}

describe('berth up --clean', () => {
  it('removes what an earlier run made', async () => {
    const workspace = workspaceAt(data);
    prepareWorkspace(workspace);
    writeState(workspace, { apiPort: 7600 });
    expect(await up('--clean')).toEqual({ status: 0, out: `removed ${data}\n`, err: '' });
    expect(existsSync(data)).toBe(false);
  });

  it('leaves a folder that no run made', async () => {
    mkdirSync(join(data, 'sub'), { recursive: true });
    const refused = await up('--clean');
    expect(refused).toMatchObject({ status: 2, out: '' });
    expect(refused.err).toContain(`${data} was not made by berth up: it has no up.json`);
    expect(readdirSync(data)).toEqual(['sub']);
  });

  it('leaves a folder that held something else before the first run', async () => {
    mkdirSync(join(data, 'mine'), { recursive: true });
    expect(await up('--engine', join(folder, 'none.sock'))).toMatchObject({ status: 1 });
    expect(await up('--engine', join(folder, 'none.sock'))).toMatchObject({ status: 1 });
    const refused = await up('--clean');
    expect(refused).toMatchObject({ status: 2, out: '' });
    expect(refused.err).toContain(`${data} held other files before berth up used it`);
    expect(existsSync(join(data, 'mine'))).toBe(true);
  });

  it('says when there is nothing', async () => {
    expect(await up('--clean')).toEqual({ status: 0, out: `there is nothing at ${data}\n`, err: '' });
  });
});

describe('berth up', () => {
  it.each([[], ['--clean']])('refuses a file as its folder, %s', async (...words) => {
    writeFileSync(data, 'mine');
    const refused = await up(...words);
    expect(refused).toMatchObject({ status: 2, out: '' });
    expect(refused.err).toContain(`--data-dir ${data} is not a folder`);
  });

  it('refuses a label before anything starts', async () => {
    const refused = await up('--label', 'disk=ssd', '--label', 'x');
    expect(refused).toMatchObject({ status: 2, out: '' });
    expect(refused.err).toContain('--label x: expected key=value, e.g. disk=ssd');
    expect(existsSync(data)).toBe(false);
  });

  it('takes labels away by an empty one alone', async () => {
    const none = ['--engine', join(folder, 'none.sock')];
    expect(await up('--label=', ...none)).toMatchObject({ status: 1 });
    expect(await up('--label=', '--label', 'disk=ssd', ...none)).toMatchObject({ status: 2 });
  });
});
