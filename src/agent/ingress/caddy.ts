import { spawn } from 'node:child_process';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fieldsIn, nonEmpty } from '../engine/fields.ts';
import { boundedText } from './bounded-text.ts';
import { findProgram } from '../volumes/program.ts';
import { baseConfig, type CaddyPlace } from './caddy-config.ts';

const { request } = process.getBuiltinModule('node:http');

const START_MS = 10_000;
const LOAD_MS = 30_000;
const MAX_ANSWER = 64 * 1024;
/** It answers strangers: nothing of root's powers is left to it but ports below 1024. */
const POWERS = '-all,+net_bind_service';

/**
 * Caddy beside the agent. It has no parent and outlives the agent as containers do, so that nobody notices an upgrade of the agent; the next
 * agent finds it by its socket. Only root reaches the socket: its folder has mode 0700.
 */
export class Caddy {
  readonly #program: string;
  readonly #folder: string;
  readonly place: CaddyPlace;

  constructor(program: string, folder: string, place: CaddyPlace) {
    this.#program = program;
    this.#folder = folder;
    this.place = place;
  }

  async isUp(): Promise<boolean> {
    return await new Promise((resolve) => {
      const socket = connect(this.place.socket);
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
  }

  /** Without anything to serve. */
  async start(): Promise<void> {
    const { place } = this;
    for (const folder of [this.#folder, place.storage, place.logs])
      await mkdir(folder, { recursive: true, mode: 0o700 });
    await rm(place.socket, { force: true });
    const [config, output] = ['caddy.json', 'start.log'].map((name) => join(this.#folder, name));
    if (config === undefined || output === undefined) return;
    await writeFile(config, JSON.stringify(baseConfig(place)), { mode: 0o600 });
    const setpriv = await findProgram('setpriv');
    const command = [this.#program, 'run', '--config', config];
    const [program = this.#program, ...args] =
      setpriv === undefined
        ? command
        : [setpriv, '--no-new-privs', '--bounding-set', POWERS, '--inh-caps', POWERS, ...command];
    const file = await open(output, 'w', 0o600);
    try {
      const child = spawn(program, args, {
        detached: true,
        stdio: ['ignore', file.fd, file.fd],
        cwd: '/',
        env: { HOME: this.#folder, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      });
      let ended: string | undefined;
      child.once('error', (error) => (ended = error.message));
      child.once('exit', (code, signal) => (ended ??= `ended with ${signal ?? code}`));
      child.unref();
      for (const deadline = performance.now() + START_MS; !(await this.isUp()); await pause(20)) {
        if (ended === undefined && performance.now() < deadline) continue;
        if (ended === undefined) child.kill('SIGKILL');
        const words = (await readFile(output, 'utf8')).trim().split('\n').at(-1) ?? '';
        throw new Error(`Caddy does not start: ${ended ?? 'it does not answer'}: ${words.slice(0, 300)}`);
      }
    } finally {
      await file.close();
    }
  }

  /** Throws with Caddy's own words. What is served already stays then. */
  async load(config: string): Promise<void> {
    await this.#ask('/load', config);
  }

  /** Open connections get a moment to end. */
  async stop(): Promise<void> {
    if (await this.isUp()) await this.#ask('/stop', '');
  }

  #ask(path: string, body: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          socketPath: this.place.socket,
          method: 'POST',
          path,
          headers: { host: 'localhost', 'content-type': 'application/json' },
          timeout: LOAD_MS,
        },
        (response) => {
          boundedText(response, MAX_ANSWER).then((text) => {
            if (response.statusCode === 200) resolve();
            else reject(new Error(nonEmpty(fieldsIn(text)['error']) ?? text));
          }, reject);
        },
      );
      asked.on('timeout', () => asked.destroy(new Error(`Caddy did not answer in ${LOAD_MS} ms`)));
      asked.on('error', reject);
      asked.end(body);
    });
  }
}

/** `2.6.2` of what `caddy version` prints, with or without a `v` and a checksum. */
export function versionIn(output: string): string | undefined {
  return /^v?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})/.exec(output)?.[1];
}
