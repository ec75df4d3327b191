import type { Readable } from 'node:stream';
import type { CallOptions } from './engine.ts';
import type { EngineConnection } from './engine-connection.ts';
import { EngineNotFoundError } from './errors.ts';
import { fieldsIn, number, text } from './fields.ts';

const ARCHIVE_DEADLINE_MS = 24 * 3_600_000;
/** The highest bit of a mode as Go numbers them. */
const FOLDER_MODE = 2 ** 31;

export async function readArchive(
  connection: EngineConnection,
  id: string,
  path: string,
  options: CallOptions,
): Promise<AsyncIterable<Buffer>> {
  const segments = ['containers', id, 'archive'];
  return await connection.stream({ ...options, method: 'GET', segments, query: { path } });
}

export async function writeArchive(
  connection: EngineConnection,
  id: string,
  folder: string,
  archive: Readable,
  options: CallOptions,
): Promise<void> {
  await connection.call({
    deadlineMs: ARCHIVE_DEADLINE_MS,
    ...options,
    method: 'PUT',
    segments: ['containers', id, 'archive'],
    query: { path: folder, noOverwriteDirNonDir: true },
    headers: { 'Content-Type': 'application/x-tar' },
    body: archive,
  });
}

export async function pathKind(
  connection: EngineConnection,
  id: string,
  path: string,
  options: CallOptions,
): Promise<'folder' | 'other' | undefined> {
  const segments = ['containers', id, 'archive'];
  try {
    const { headers } = await connection.call({
      ...options,
      method: 'HEAD',
      segments,
      query: { path },
    });
    const told = text(headers['x-docker-container-path-stat']) ?? '';
    const mode = number(fieldsIn(Buffer.from(told, 'base64').toString())['mode']) ?? 0;
    return mode >= FOLDER_MODE ? 'folder' : 'other';
  } catch (error) {
    if (error instanceof EngineNotFoundError) return undefined;
    throw error;
  }
}
