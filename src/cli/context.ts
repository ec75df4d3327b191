import { isRecord, messageOf, parsedRecord } from '../core/model/values.ts';
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { nearest } from '../core/schema/nearest.ts';
import { withoutTrailing } from '../core/model/text-end.ts';
import { makeFolder } from '../shared/folders.ts';
import { Failure, usage } from './failure.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** One remembered control plane. */
export interface Context {
  readonly server: string;
  readonly token: string;
  readonly tenant?: string;
  /** PEM file of the authority that signed the server's certificate, when the system does not know it. */
  readonly caFile?: string;
}

export interface ContextFile {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

/** What a command talks to. */
export interface Target {
  readonly server: string;
  readonly token: string | undefined;
  readonly tenant: string | undefined;
  readonly caFile: string | undefined;
  /** Where it came from, for messages. */
  readonly source: string;
}

export const CONTEXT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export function contextPath(environment: Environment): string {
  const xdg = environment['XDG_CONFIG_HOME'];
  const base = xdg === undefined || xdg === '' ? join(environment['HOME'] ?? homedir(), '.config') : xdg;
  return join(base, 'berth', 'config.json');
}

export function readContexts(environment: Environment): ContextFile {
  const path = contextPath(environment);
  if (!existsSync(path)) return { contexts: {} };
  // The file holds tokens: one that others can read has to be taken as leaked, and must not pass in silence.
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new Failure(`${path} can be read by other users of this machine`, {
      advice: [
        `chmod 600 ${path}`,
        'If others use this machine, revoke the tokens in it: berth token revoke ID',
      ],
    });
  }
  try {
    const { current, contexts } = parsedRecord(readFileSync(path, 'utf8'));
    return {
      ...(typeof current === 'string' ? { current } : {}),
      contexts: isRecord(contexts) ? contextsIn(contexts) : {},
    };
  } catch (error) {
    throw new Failure(`${path} is not valid JSON: ${messageOf(error)}`, {
      advice: ['Repair it, or remove it and log in again.'],
      cause: error,
    });
  }
}

/** Members that another version wrote stay beside those that are known. */
function isContext(value: unknown): value is Context {
  if (!isRecord(value)) return false;
  const { server, token, tenant = '', caFile = '' } = value;
  return [server, token, tenant, caFile].every((member) => typeof member === 'string');
}

function contextsIn(given: Readonly<Record<string, unknown>>): ContextFile['contexts'] {
  const entries = Object.entries(given).map(([name, context]): [string, Context] => {
    if (!isContext(context)) throw new TypeError(`context ${name} is not one`);
    return [name, context];
  });
  return Object.fromEntries(entries);
}

export function writeContexts(environment: Environment, file: ContextFile): string {
  const path = contextPath(environment);
  makeFolder(dirname(path), 'XDG_CONFIG_HOME');
  const draft = `${path}.${process.pid}`;
  try {
    // Renamed into place: a crash leaves the old file whole.
    writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    renameSync(draft, path);
  } catch (error) {
    // It holds tokens.
    rmSync(draft, { force: true });
    throw new Failure(`${path} cannot be written: ${messageOf(error)}`, {
      advice: ['Correct that, or choose another place (XDG_CONFIG_HOME).'],
      cause: error,
    });
  }
  return path;
}

export function withContext(
  file: ContextFile,
  name: string,
  context: Context,
  makeCurrent: boolean,
): ContextFile {
  const current = makeCurrent ? name : file.current;
  return { ...(current === undefined ? {} : { current }), contexts: { ...file.contexts, [name]: context } };
}

export function withoutContext(file: ContextFile, name: string): ContextFile {
  const contexts = Object.fromEntries(Object.entries(file.contexts).filter(([key]) => key !== name));
  return {
    ...(file.current === undefined || file.current === name ? {} : { current: file.current }),
    contexts,
  };
}

export function unknownContext(file: ContextFile, name: string): Failure {
  const names = Object.keys(file.contexts);
  const near = nearest(name, names);
  return usage(
    `there is no context ${name}${near === undefined ? '' : `; did you mean ${near}?`}`,
    names.length === 0 ? ['berth login --server URL'] : [`known: ${names.join(', ')}`],
  );
}

export function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw usage(`${text} is not the address of a control plane; expected such as https://berth.example.com`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usage('the address of a control plane has no user, query or fragment');
  }
  return `${url.origin}${withoutTrailing(url.pathname, '/')}`;
}

/** What a header can carry; Node takes anything else for a failure of the network. */
const SENDABLE = /^[!-~\u00A1-\u00FF]*$/;

/** A file that it was read from often has a line end after it. */
export function tokenIn(text: string, source: string): string {
  const token = text.trim();
  if (!SENDABLE.test(token))
    throw usage(`${source} must be one word without control characters`, ['Was the right file read?']);
  return token;
}

/** Flags before variables before the context; a variable for one part leaves the other parts of the context. */
export function resolveTarget(
  flags: { readonly context?: string | undefined; readonly tenant?: string | undefined },
  environment: Environment,
): Target {
  const variable = (name: string): string | undefined => {
    const value = environment[name];
    return value === undefined || value === '' ? undefined : value;
  };
  const server = flags.context === undefined ? variable('BERTH_CLI_SERVER') : undefined;
  const given = flags.context === undefined ? variable('BERTH_CLI_TOKEN')?.trim() : undefined;
  const token =
    given === undefined || given === '' ? undefined : tokenIn(given, 'the token in BERTH_CLI_TOKEN');
  const tenant = flags.tenant ?? variable('BERTH_CLI_TENANT');
  if (server !== undefined) {
    return { server: serverUrl(server), token, tenant, caFile: undefined, source: 'BERTH_CLI_SERVER' };
  }
  const file = readContexts(environment);
  const name = flags.context ?? file.current;
  const context = name === undefined ? undefined : file.contexts[name];
  if (name !== undefined && context === undefined) throw unknownContext(file, name);
  if (context === undefined) {
    throw usage('no control plane is known yet', [
      'berth up --quickstart          starts one on this machine',
      'berth login --server URL       remembers one that runs elsewhere',
      'BERTH_CLI_SERVER and BERTH_CLI_TOKEN do the same for scripts',
    ]);
  }
  return {
    server: serverUrl(context.server),
    token: token ?? tokenIn(context.token, `the token of context ${name ?? ''}`),
    tenant: tenant ?? context.tenant,
    caFile: context.caFile,
    source: `context ${name ?? ''}`,
  };
}
