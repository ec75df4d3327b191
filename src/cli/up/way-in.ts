import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../core/model/values.ts';
import type { Progress } from '../progress.ts';
import { choosePort } from './ports.ts';
import { CADDY, find, install, isRoot, NFT, WG } from './programs.ts';
import { SAMPLE_MARK } from './sample-image.ts';
import { systemOf } from './system.ts';
import { readState, type Workspace, writeState } from './workspace.ts';

/** Browsers look for such names on their own machine. */
export const SAMPLE_HOST = 'hello.localhost';
const HTTP_PORT = 8180;
const HTTPS_PORT = 8543;
const REQUEST_MS = 2_000;
const CHECK_MS = 8_000;
const POLL_MS = 100;

export interface WayInChoice {
  /** The mesh of the agent, as the caller's environment says. */
  readonly mesh: string | undefined;
  /** Nothing is installed on a machine that has an engine already. */
  readonly mayInstall: boolean;
  /** Caddy outlives a run that was killed, and holds its ports. */
  readonly wasKilled: boolean;
}

export interface WayIn {
  readonly http: number;
  readonly https: number;
}

/** Where the ingress of this node listens; undefined: it has none, and a line has said why. Everything else goes on either way. */
export async function chooseWayIn(
  workspace: Workspace,
  { mesh, mayInstall, wasKilled }: WayInChoice,
  progress: Progress,
  signal: AbortSignal,
): Promise<WayIn | undefined> {
  if (mesh === 'off') return undefined;
  const missing = () => [CADDY, WG, NFT].filter((program) => find(program, workspace) === undefined);
  // Its package begins to serve port 80 where services are started on installation.
  const isQuiet = isRoot() && systemOf().hasApt && !existsSync('/run/systemd/system');
  if (missing().length > 0 && mayInstall && isQuiet)
    await install(missing(), signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
    });
  const packages = missing().map((program) => program.package);
  if (packages.length > 0 || !isRoot()) {
    const why = isRoot() ? `not on this machine: ${packages.join(', ')}` : 'it needs root';
    progress.line(`The sample has no host of its own (${why}); everything else works`);
    return undefined;
  }
  const [http, https] = await portsOf(workspace, wasKilled);
  writeState(workspace, { ingressPorts: [http, https] });
  return { http, https };
}

async function portsOf(workspace: Workspace, wasKilled: boolean): Promise<readonly [number, number]> {
  const { ingressPorts } = readState(workspace);
  if (wasKilled && ingressPorts !== undefined) return ingressPorts;
  const [http, https] = ingressPorts ?? [];
  return [await choosePort(http, HTTP_PORT, '0.0.0.0'), await choosePort(https, HTTPS_PORT, '0.0.0.0')];
}

export function wayInUrl({ http }: WayIn): string {
  return `http://${SAMPLE_HOST}:${http}/`;
}

/** Undefined: the sample answers to its host; else what was seen last. */
export async function checkWayIn({ http }: WayIn, signal: AbortSignal): Promise<string | undefined> {
  for (const deadline = Date.now() + CHECK_MS; ; await pause(POLL_MS, undefined, { signal })) {
    const seen = await pageAt(http).catch(messageOf);
    if (seen.includes(SAMPLE_MARK)) return undefined;
    if (Date.now() > deadline) return seen.slice(0, 200);
  }
}

/** By the address: not every resolver knows the name. */
function pageAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, headers: { host: SAMPLE_HOST }, timeout: REQUEST_MS },
      (answer) => {
        let text = `status ${answer.statusCode ?? 0}: `;
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => resolve(text)).on('error', reject);
      },
    );
    asked.on('timeout', () => asked.destroy(new Error('no answer')));
    asked.on('error', reject).end();
  });
}
