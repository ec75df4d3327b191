import { mkdirSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, messageOf } from '../core/model/values.ts';

/** For who chose the place; no defect of the program. */
export class FolderError extends Error {
  override readonly name = 'FolderError';
}

function found(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Undefined: it is there now. */
function problemOf(path: string, mode: number): unknown {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (found(path)?.isDirectory() !== true) return error;
  }
  return undefined;
}

/** Each folder is tried at most twice: with `recursive`, Node tries for ever where a file system answers ENOENT in a folder that is there (/proc, autofs). */
function make(path: string, mode: number): unknown {
  const problem = problemOf(path, mode);
  const above = dirname(path);
  if (errnoOf(problem) !== 'ENOENT' || above === path) return problem;
  return make(above, mode) ?? problemOf(path, mode);
}

/** The nearest thing around it that is there. */
function around(path: string): string {
  const above = dirname(path);
  return above === path || found(above) !== undefined ? above : around(above);
}

function why(path: string, problem: unknown): string {
  const place = around(path);
  switch (errnoOf(problem)) {
    case 'EEXIST':
      return `${path} is there and is no folder`;
    case 'ENOTDIR':
      return `${place} is no folder`;
    case 'ENOENT':
      return `the file system of ${place} takes no new folder`;
    case 'EACCES':
    case 'EPERM':
      return `permission denied in ${place}`;
    case 'EROFS':
      return `the file system of ${place} is read-only`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `no room is left in ${place}`;
    default:
      return messageOf(problem);
  }
}

/** With those above it. `setting` is where a person chose the place. */
export function makeFolder(path: string, setting: string, mode = 0o700): void {
  const problem = make(path, mode);
  if (problem === undefined) return;
  throw new FolderError(
    `the folder ${path} cannot be made: ${why(path, problem)}. Correct that, or choose another place (${setting}).`,
    { cause: problem },
  );
}
