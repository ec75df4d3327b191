import type {
  ContainerHealth,
  ContainerState,
  ContainerStatus,
  ContainerSummary,
  NetworkAttachment,
  PublishedPort,
} from './container.ts';
import { EngineError } from './errors.ts';
import { optional } from '../../core/model/values.ts';
import { type Fields, fields, list, nonEmpty, number, text, texts } from './fields.ts';

/** From `GET /containers/{id}/json`. Only what the type names is taken over: environment and check output stay behind. */
export function containerState(body: unknown): ContainerState {
  const top = fields(body);
  const config = fields(top['Config']);
  const state = fields(top['State']);
  const network = fields(top['NetworkSettings']);
  const startedAt = moment(state['StartedAt']);
  const pid = number(state['Pid']);
  const isReset = startedAt !== undefined && pid === 0 && containerStatus(state['Status']) === 'created';
  const status = isReset ? 'exited' : containerStatus(state['Status']);
  const ended = status === 'exited' || status === 'dead' || status === 'restarting' || status === 'removing';
  return {
    id: required(top, 'Id'),
    name: containerName(top['Name']),
    image: text(config['Image']) ?? '',
    imageId: imageId(text(top['Image']) ?? ''),
    labels: texts(config['Labels']),
    createdAt: text(top['Created']) ?? '',
    ...optional('startedAt', startedAt),
    ...optional('finishedAt', moment(state['FinishedAt'])),
    status,
    ...optional('exitCode', ended ? exitCodeOf(state, isReset) : undefined),
    oomKilled: state['OOMKilled'] === true,
    ...optional('pid', pid === 0 ? undefined : pid),
    ...optional('health', containerHealth(state['Health'] ?? state['Healthcheck'])),
    restartCount: number(top['RestartCount']) ?? 0,
    ...optional('stopTimeoutS', number(config['StopTimeout'])),
    restartsItself: restartsItself(fields(fields(top['HostConfig'])['RestartPolicy'])['Name']),
    binds: list(top['Mounts'])
      .map(fields)
      .filter((mount) => mount['Type'] === 'bind')
      .flatMap((mount) => nonEmpty(mount['Source']) ?? []),
    networks: Object.entries(fields(network['Networks'])).map(([name, value]) =>
      attachment(name, fields(value)),
    ),
    ports: publishedPorts(network['Ports']),
  };
}

const LOST_CODE = 255;

/**
 * After a restart of the machine Podman calls what ran before created, as if it never had, and its code is that of an earlier run or 0.
 * Docker says exited, with this code.
 */
function exitCodeOf(state: Fields, isReset: boolean): number | undefined {
  const [started, finished] = [state['StartedAt'], state['FinishedAt']].map((at) =>
    Date.parse(text(at) ?? ''),
  );
  const isKnown = !isReset || (finished ?? NaN) >= (started ?? NaN);
  return isKnown ? number(state['ExitCode']) : LOST_CODE;
}

/** From an entry of `GET /containers/json`. */
export function containerSummary(body: unknown): ContainerSummary {
  const top = fields(body);
  const createdS = number(top['Created']);
  return {
    id: required(top, 'Id'),
    name: containerName(list(top['Names'])[0]),
    image: text(top['Image']) ?? '',
    imageId: imageId(text(top['ImageID']) ?? ''),
    labels: texts(top['Labels']),
    status: containerStatus(top['State']),
    createdAt: createdS === undefined ? '' : new Date(createdS * 1000).toISOString(),
  };
}

/** Undefined: no check is declared (`none` in Docker, an empty status in Podman). */
export function containerHealth(value: unknown): ContainerHealth | undefined {
  const health = fields(value);
  const status = health['Status'];
  if (status !== 'starting' && status !== 'healthy' && status !== 'unhealthy') return undefined;
  const last = fields(list(health['Log']).at(-1));
  const lastExitCode = number(last['ExitCode']);
  return {
    status,
    failingStreak: number(health['FailingStreak']) ?? 0,
    ...optional('lastExitCode', lastExitCode),
    ...(CHECK_TIMED_OUT.test(text(last['Output']) ?? '') && (lastExitCode ?? 0) < 0
      ? { timedOut: true }
      : {}),
    commandNotFound: checkNotRunnable(lastExitCode, last['Output']),
  };
}

/** Docker's own message, with the exit code -1, which no command has. */
const CHECK_TIMED_OUT = /^Health check exceeded timeout/;
const SHELL_NOT_FOUND = /^(?:\S*\/)?\w*sh: (?:(?:line )?\d+: )?\S+: (?:command )?not found\s*$/i;
const RUNTIME_NOT_FOUND = /executable file not found|no such file or directory|permission denied/i;

/**
 * A shell says 126 or 127. Where there is no shell, Docker's own exec fails: it reports -1 and the runtime's message. Podman
 * turns every failure into 1 and keeps the shell's message only, so that it never shows a missing program without a shell.
 */
function checkNotRunnable(exitCode: number | undefined, output: unknown): boolean {
  const outputText = text(output) ?? '';
  if (exitCode === 126 || exitCode === 127) return true;
  return exitCode === -1
    ? RUNTIME_NOT_FOUND.test(outputText)
    : exitCode === 1 && SHELL_NOT_FOUND.test(outputText);
}

const STATUSES: ReadonlyMap<unknown, ContainerStatus> = new Map([
  ['created', 'created'],
  ['configured', 'created'],
  ['initialized', 'created'],
  ['running', 'running'],
  ['paused', 'paused'],
  ['restarting', 'restarting'],
  ['stopping', 'running'],
  ['stopped', 'exited'],
  ['exited', 'exited'],
  ['dead', 'dead'],
  ['removing', 'removing'],
]);

/** Docker's messages and Podman's. */
export function containerStatus(value: unknown): ContainerStatus {
  const status = STATUSES.get(value);
  if (status === undefined) throw new EngineError(`unknown container status ${JSON.stringify(value)}`, 0);
  return status;
}

/** Engines write an empty text or `no` where there is no policy. */
function restartsItself(policy: unknown): boolean {
  return policy === 'always' || policy === 'unless-stopped' || policy === 'on-failure';
}

function containerName(value: unknown): string {
  return (text(value) ?? '').replace(/^\//, '');
}

/** Podman leaves the algorithm out. */
function imageId(id: string): string {
  return /^[0-9a-f]{64}$/.test(id) ? `sha256:${id}` : id;
}

function moment(value: unknown): string | undefined {
  const at = nonEmpty(value);
  return at === undefined || at.startsWith('0001-') ? undefined : at;
}

function attachment(name: string, network: Fields): NetworkAttachment {
  return {
    name,
    ...optional('ip', nonEmpty(network['IPAddress'])),
    aliases: list(network['Aliases']).filter((alias) => typeof alias === 'string'),
  };
}

/** `{"80/tcp": [{HostIp, HostPort}]}`; null where a port is exposed but not published. */
function publishedPorts(value: unknown): readonly PublishedPort[] {
  return Object.entries(fields(value)).flatMap(([key, bindings]) => {
    const [container, protocol] = key.split('/');
    if (protocol !== 'tcp' && protocol !== 'udp') return [];
    return list(bindings).map((binding) => ({
      container: Number(container),
      host: Number(fields(binding)['HostPort']),
      protocol,
      hostIp: text(fields(binding)['HostIp']) ?? '',
    }));
  });
}

function required(top: Fields, key: string): string {
  const value = nonEmpty(top[key]);
  if (value === undefined) throw new EngineError(`the engine's answer has no ${key}`, 0);
  return value;
}
