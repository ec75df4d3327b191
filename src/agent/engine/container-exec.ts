import { setTimeout as pause } from 'node:timers/promises';
import { optional } from '../../core/model/values.ts';
import { fullId } from './asked.ts';
import type { CallOptions, ExecOptions, ExecSession, TerminalSize } from './engine.ts';
import type { EngineConnection } from './engine-connection.ts';
import { EngineUnavailableError } from './errors.ts';
import { execSession } from './exec-session.ts';
import { fields, number, text } from './fields.ts';
import { DEFAULT_DEADLINE_MS } from './transport.ts';

const UNUSED_KEYS = 'ctrl-@,ctrl-^,ctrl-@,ctrl-_';
const RESIZE_ATTEMPTS = 5;

export async function startExec(
  connection: EngineConnection,
  id: string,
  argv: readonly string[],
  options: ExecOptions,
): Promise<ExecSession> {
  const signal = optional('signal', options.signal);
  const made = await connection.call({
    ...signal,
    method: 'POST',
    segments: ['containers', id, 'exec'],
    json: {
      AttachStdin: options.stdin !== undefined,
      AttachStdout: true,
      AttachStderr: true,
      Tty: options.tty !== undefined,
      Cmd: argv,
      // Keys by which the engine itself would leave: its own are in daily use in shells.
      ...(options.tty && { DetachKeys: UNUSED_KEYS }),
    },
  });
  const execId = fullId(text(fields(made.body)['Id']) ?? '');
  const socket = await connection.hijack({
    ...signal,
    method: 'POST',
    segments: ['exec', execId, 'start'],
    json: { Detach: false, Tty: options.tty !== undefined },
  });
  const session = execSession(socket, options, {
    exitCode: () => exitCode(connection, execId, signal),
    resize: (size) => resize(connection, execId, size),
    processId: () => processId(connection, execId),
    containerId: id,
  });
  if (options.tty) await session.resize(options.tty);
  return session;
}

/** The engine answers a moment after the start that there is nothing to resize yet. */
async function resize(
  connection: EngineConnection,
  execId: string,
  { columns, rows }: TerminalSize,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const query = { h: rows, w: columns };
      await connection.call({ method: 'POST', segments: ['exec', execId, 'resize'], query });
      return;
    } catch (error) {
      if (attempt === RESIZE_ATTEMPTS) return;
      if (error instanceof EngineUnavailableError) throw error;
      await pause(attempt * 20);
    }
  }
}

async function processId(connection: EngineConnection, execId: string): Promise<number | undefined> {
  const { body } = await connection.call({ method: 'GET', segments: ['exec', execId, 'json'] });
  const state = fields(body);
  return state['Running'] === true ? (number(state['Pid']) ?? 0) : undefined;
}

/** Output can end a moment before the engine has taken note of the exit. */
async function exitCode(
  connection: EngineConnection,
  execId: string,
  signal: Pick<CallOptions, 'signal'>,
): Promise<number> {
  for (const deadline = Date.now() + DEFAULT_DEADLINE_MS; Date.now() < deadline; await pause(20)) {
    const state = fields(
      (await connection.call({ ...signal, method: 'GET', segments: ['exec', execId, 'json'] })).body,
    );
    const code = number(state['ExitCode']);
    if (state['Running'] === false && code !== undefined) return code;
  }
  throw new EngineUnavailableError('the engine reports no exit code of a command whose output has ended');
}
