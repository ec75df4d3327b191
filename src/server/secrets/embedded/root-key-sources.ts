// The one program that the server runs: the operator's own, named in its settings.
// oxlint-disable-next-line no-restricted-imports
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { RootKeySource } from '../../config-checks.ts';
import { KEY_BYTES } from './envelope.ts';
import { readRootKeys, type RootKey, rootKeyFrom, type RootKeys } from './root-keys.ts';

const COMMAND_MS = 10_000;
const MAX_PRINTED_BYTES = 4096;
/** A program that failed is asked again after this; one that printed the key not before the next start. */
const ASK_AGAIN_MS = 30_000;
const MAX_OUTPUT = 200;

/** Reads the key from where it comes from, as often as asked; never throws for what an operator can put right. */
export function rootKeyReader(source: RootKeySource, commandMs = COMMAND_MS): () => Promise<RootKeys> {
  switch (source.kind) {
    case 'file':
      return () => readRootKeys({ file: source.file, retiredFile: `${source.file}.retired` });
    case 'credential':
      return () => readCredential(source.file);
    case 'command':
      return commandReader(source.command, commandMs);
  }
}

/** Who may read it is what systemd gave: an access list, which looks like a group in its mode. */
async function readCredential(file: string): Promise<RootKeys> {
  const active = await readFile(file).then(
    (bytes) => keyIn(bytes, 'the systemd credential root.key'),
    (error: NodeJS.ErrnoException) => `the systemd credential root.key cannot be read (${error.code})`,
  );
  if (typeof active === 'string') return { sealed: true, problem: active };
  const retired = await readFile(`${file}.retired`).then(
    (bytes) => keyIn(bytes, 'the systemd credential root.key.retired'),
    () => 'there is none',
  );
  return { sealed: false, active, retired: typeof retired === 'string' ? [] : [retired] };
}

function commandReader(command: readonly string[], limitMs: number): () => Promise<RootKeys> {
  let last: RootKeys | undefined;
  let askedMs = 0;
  return async () => {
    const now = performance.now();
    if (last !== undefined && (!last.sealed || now - askedMs < ASK_AGAIN_MS)) return last;
    const key = await printed(command, limitMs);
    askedMs = performance.now();
    last =
      typeof key === 'string' ? { sealed: true, problem: key } : { sealed: false, active: key, retired: [] };
    return last;
  };
}

async function printed(command: readonly string[], limitMs: number): Promise<RootKey | string> {
  const [program = '', ...args] = command;
  return await new Promise((resolve) => {
    const options = {
      timeout: limitMs,
      env: environment(),
      killSignal: 'SIGKILL',
      maxBuffer: MAX_PRINTED_BYTES,
      encoding: 'buffer',
    } as const;
    execFile(program, args, options, (error, stdout, stderr) => {
      const problem = error === null ? undefined : whyNot(error, stderr, limitMs);
      resolve(
        problem === undefined
          ? keyIn(stdout, `what ${program} printed`)
          : `the root key command ${program} ${problem}`,
      );
      stdout.fill(0);
    });
  });
}

/** Without the credentials of this process. */
function environment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ['PATH', 'HOME', 'LANG', 'CREDENTIALS_DIRECTORY'].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function whyNot(
  error: Error & { code?: unknown; killed?: boolean },
  stderr: Buffer,
  limitMs: number,
): string {
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return `printed more than ${MAX_PRINTED_BYTES} bytes`;
  if (error.killed === true) return `printed nothing within ${limitMs} ms`;
  if (typeof error.code === 'string') return `cannot be started (${error.code})`;
  const output = stderr.toString('utf8').trim().slice(0, MAX_OUTPUT);
  return `failed (exit code ${String(error.code)})${output === '' ? '' : `: ${output}`}`;
}

/** 32 bytes, or text that says them in base64 or hex. */
function keyIn(bytes: Buffer, what: string): RootKey | string {
  const text = bytes.length === KEY_BYTES ? '' : bytes.toString('latin1').trim();
  const decoded = /^[0-9a-fA-F]{64}$/.test(text)
    ? Buffer.from(text, 'hex')
    : /^[A-Za-z0-9+/]{43}=$/.test(text)
      ? Buffer.from(text, 'base64')
      : bytes;
  try {
    return decoded.length === KEY_BYTES
      ? rootKeyFrom(decoded)
      : `${what} has ${bytes.length} bytes instead of ${KEY_BYTES}, or ${KEY_BYTES} in base64 or hex`;
  } finally {
    decoded.fill(0);
    bytes.fill(0);
  }
}
