import { spawnSync } from 'node:child_process';

export interface ShellLine {
  readonly status: number | null;
  readonly err: string;
}

/** Lines of a shell in which a word stands for a program of the sources. No terminal is there, in a run of CI neither. */
export function shellFor(word: string, main: string, cwd: string): (line: string) => ShellLine {
  return (line) => {
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', line.replace(word, `"${process.execPath}" "${main}"`)],
      {
        cwd,
        encoding: 'utf8',
        env: { ...process.env, CI: 'true' },
      },
    );
    return { status, err: stderr };
  };
}
