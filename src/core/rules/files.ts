import { decodedBase64, MAX_FILES, MAX_FILES_BYTES, MAX_FILES_JSON_BYTES } from '../model/config-file.ts';
import { jsonLength, utf8Length } from '../model/text-bytes.ts';
import { isRecord } from '../model/values.ts';
import { received, redacted } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { type CredentialFinding, detectCredential, detectInText } from './credentials/detect.ts';
import { inClear } from './environment.ts';
import type { DeploymentInput } from './rule.ts';
import { isKernelPath, isMountPath, MOUNT_PATH_FORM } from './volumes.ts';

type FileDraft = NonNullable<DeploymentInput['draft']['files']>[number];

function malformed(index: number, field: string, value: unknown, expected: string, why: string): Rejection {
  const isContent = field === 'content' || field === 'base64';
  return reject('file_invalid', {
    field: field === '' ? `files[${index}]` : `files[${index}].${field}`,
    received: isContent ? redacted(value) : received(value),
    expected,
    why,
  });
}

/** Written by engine and agent for every container. */
const TAKEN: ReadonlySet<string> = new Set(['/etc/resolv.conf', '/etc/hosts', '/etc/hostname']);

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

function pathRule(
  index: number,
  path: string | undefined,
  { draft }: DeploymentInput,
): Rejection | undefined {
  const refuse = (expected: string, why: string) => malformed(index, 'path', path, expected, why);
  if (path === undefined || !isMountPath(path))
    return refuse(MOUNT_PATH_FORM, 'A file has an absolute, plain path.');
  if (isKernelPath(path) || isWithin(path, '/dev') || TAKEN.has(path))
    return refuse(
      'a path outside /proc, /sys and /dev that is not /etc/resolv.conf, /etc/hosts or /etc/hostname',
      'The kernel, the engine or the agent has its own files there.',
    );
  const mounts = (draft.volumes ?? []).flatMap((mount) =>
    isRecord(mount) && typeof mount['mountPath'] === 'string' ? mount['mountPath'] : [],
  );
  const mount = mounts.find((one) => one === path || isWithin(path, one) || isWithin(one, path));
  if (mount !== undefined)
    return refuse('a path outside every volume', `The volume mounted at ${mount} has that path.`);
  const others = (draft.files ?? []).slice(0, index).flatMap((file) => file.path ?? []);
  const other = others.find((one) => one === path || isWithin(path, one) || isWithin(one, path));
  return other === undefined
    ? undefined
    : refuse('each path once, none inside another', `${other} is a file of this workload already.`);
}

const MODE = /^0?[0-7]{3}$/;

function shapeRule(index: number, file: FileDraft, input: DeploymentInput): Rejection | undefined {
  const path = pathRule(index, file.path, input);
  if (path) return path;
  const { content, base64, mode } = file;
  if ((content === undefined) === (base64 === undefined))
    return malformed(
      index,
      '',
      undefined,
      'content (text) or base64 (bytes), one of them',
      content === undefined ? 'The file has no content.' : 'The file has two contents.',
    );
  if (base64 !== undefined && decodedBase64(base64) === undefined)
    return malformed(
      index,
      'base64',
      base64,
      'base64 with its padding, without line breaks',
      'It cannot be decoded.',
    );
  if (mode !== undefined && !MODE.test(mode))
    return malformed(
      index,
      'mode',
      mode,
      'three octal digits in quotation marks such as "0444" or "0555"',
      'The mode says who may read and run the file; nobody writes it.',
    );
  return undefined;
}

const LINE = /^[\s"'-]*([A-Za-z_][\w.-]{0,127})["']?\s{0,8}[:=]\s{0,8}["']?([^"'\s]{4,512})["']?[,;]?\s*$/;

/** As a whole, and line by line: `password: …` tells by the name of its key alone. */
function findingIn(path: string, text: string): CredentialFinding | undefined {
  const found = detectInText(path, text);
  if (found) return found;
  for (const line of text.split('\n')) {
    const [, key = '', value = ''] = (line.length <= 1024 && LINE.exec(line)) || [];
    const named = key === '' ? undefined : detectCredential(key, value);
    if (named) return named;
  }
  return undefined;
}

function textOf({ content, base64 }: FileDraft): string {
  return content ?? decodedBase64(base64 ?? '') ?? '';
}

function bytesOf(file: FileDraft): number {
  return file.content === undefined ? textOf(file).length : utf8Length(file.content);
}

function sizeRule(files: readonly FileDraft[]): Rejection | undefined {
  const bytes = files.reduce((sum, file) => sum + bytesOf(file), 0);
  const json = jsonLength(files);
  const tooLarge = (what: string, limit: string) =>
    reject('field_too_large', {
      field: 'files',
      received: `(${what})`,
      expected: `at most ${limit}`,
      why: `The files are ${what} together and may be ${limit}: larger ones belong in the image or in a volume.`,
    });
  if (files.length > MAX_FILES) return tooLarge(`${files.length} files`, `${MAX_FILES} files`);
  if (bytes > MAX_FILES_BYTES) return tooLarge(`${bytes} bytes`, `${MAX_FILES_BYTES} bytes`);
  return json > MAX_FILES_JSON_BYTES
    ? tooLarge(`${json} bytes as JSON`, `${MAX_FILES_JSON_BYTES} bytes as JSON`)
    : undefined;
}

/** Before anything reads them one by one. */
export function filesRule(input: DeploymentInput): Rejection | undefined {
  const files = input.draft.files ?? [];
  const size = files.length === 0 ? undefined : sizeRule(files);
  if (size) return size;
  for (const [index, file] of files.entries()) {
    const rejection = shapeRule(index, file, input);
    if (rejection) return rejection;
    const finding = findingIn(file.path ?? '', textOf(file));
    if (!finding) continue;
    const field = `files[${index}].${file.content === undefined ? 'base64' : 'content'}`;
    return inClear(field, 'APP_PASSWORD', textOf(file), finding, input);
  }
  return undefined;
}
