import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';
import { startEngine, type TestEngine } from '../harness/engine.ts';
import { buildTestImage, pushFromEngine, testImage } from '../harness/image.ts';
import { PLAIN_PATH } from '../harness/installation.ts';
import { removeWithMounts } from '../harness/mounts.ts';
import { ensurePackages } from '../harness/packages.ts';
import { nginxImage } from '../harness/nginx-image.ts';
import { postgresImage } from '../harness/postgres-image.ts';
import type { ImageContent } from '../harness/registry.ts';
import { Neighbours } from './neighbours.ts';
import { PageShell } from './shell.ts';

const ROOT = join(import.meta.dirname, '../../..');
const UP_MS = 90_000;
/** The pages name the machine so. */
const HOST = 'vm';
/** Images that pages may ask for with `guide:image`; the registry of the quickstart gets them. */
const IMAGES: Readonly<Record<string, () => ImageContent>> = {
  '127.0.0.1:5000/shop/postgres:15': postgresImage,
  '127.0.0.1:5000/shop/nginx:1.22': nginxImage,
};

/** Of the control plane, without the program: a page's commands are what is tried, and this comes after every page. */
const ASKING = `
ask() { curl -s "http://127.0.0.1:7600/api/v1/$@" -H "Authorization: Bearer $(cat .berth/admin-token)"; }
others() { ask deployments | jq -r '.[].name' | grep -vx hello; }
secrets() { ask secrets | jq -r '.[] | select(.exists) | .path'; }
volumes() { ask dvm/volumes | jq -r '.[].id'; }
`;

/**
 * A machine for the guide: an engine in a network namespace where every port of the pages is free, the host name of the
 * pages, a home and an empty /srv of its own, and `berth up --quickstart` running in it.
 */
export class GuideHouse {
  readonly home = mkdtempSync(join(tmpdir(), 'berth-guide-'));
  readonly #engines: TestEngine[] = [];
  readonly #images = new Set<string>();
  #neighbours: Neighbours | undefined;
  #up: ChildProcess | undefined;
  #said = '';
  /** Of the sample: its tag is a digest, and so another one with another busybox. */
  sampleImage = '';

  get #folder(): string {
    return join(this.home, 'berth');
  }

  environment(): Record<string, string> {
    const sockets = this.#engines.slice(1).map(({ socketPath }, index) => [`ENGINE${index + 2}`, socketPath]);
    return {
      PATH: `${join(this.home, 'path')}:${PLAIN_PATH}`,
      HOME: this.home,
      DOCKER_HOST: `unix://${this.socketPath}`,
      LANG: 'C.UTF-8',
      ...(Object.fromEntries(sockets) as Record<string, string>),
    };
  }

  /** Runs what follows in the namespace and under the host name of the house, with an empty /srv. */
  entry(): readonly string[] {
    return this.#inside(['--uts', '--mount'], `hostname ${HOST}; mount -t tmpfs tmpfs /srv`);
  }

  #inside(namespaces: readonly string[], first: string): readonly string[] {
    const line = ['/usr/bin/unshare', ...namespaces, '/bin/sh', '-c', `${first}; exec "$@"`, 'sh'];
    const [command, args] = this.#engines[0]?.namespace?.command(line) ?? ['false', []];
    return [command, ...args];
  }

  /** All but `berth up`. */
  async prepare(): Promise<void> {
    ensurePackages(['docker.io', 'docker-registry', 'busybox-static', 'curl', 'etcd-server', 'jq']);
    mkdirSync(join(this.home, 'path'));
    symlinkSync(join(ROOT, 'bin/berth'), join(this.home, 'path/berth'));
    await this.needEngines(1);
    mkdirSync(this.#folder);
  }

  async start(): Promise<void> {
    await this.prepare();
    // What its agent mounts, the engine has to see: volumes.
    const inside = this.#inside(['--uts'], `hostname ${HOST}`);
    const [command, ...args] = [...inside, 'berth', 'up', '--quickstart'];
    const child = spawn(command, args, { cwd: this.#folder, env: this.environment() });
    this.#up = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        this.#said += chunk.toString();
      });
    await eventually(
      'berth up is ready',
      () => this.#said,
      (said) => said.includes('Ctrl-C stops everything') || child.exitCode !== null,
      UP_MS,
    );
    if (child.exitCode !== null) throw new Error(`berth up ended:\n${this.#said}`);
    this.hear(this.#said);
  }

  /** What `berth up` says of its sample, here or in a page. */
  hear(said: string): void {
    this.sampleImage = /Sample image: (\S+),/.exec(said)?.[1] ?? this.sampleImage;
  }

  get socketPath(): string {
    return this.#engines[0]?.socketPath ?? '';
  }

  async needEngines(count: number): Promise<void> {
    while (this.#engines.length < count) this.#engines.push(await startEngine());
  }

  /** Further machines beside this one, which is 172.30.0.1 then. */
  async needMachines(names: readonly string[]): Promise<void> {
    const [first] = this.#engines;
    if (first === undefined || names.length === 0) return;
    this.#neighbours = new Neighbours(this.home, first);
    await this.needEngines(names.length + 1);
    for (const [at, name] of names.entries()) {
      const engine = this.#engines[at + 1];
      if (engine !== undefined)
        await this.#neighbours.add({ name, engine }, this.environment()['PATH'] ?? '');
    }
  }

  async needImages(references: readonly string[]): Promise<void> {
    for (const reference of references) {
      const image = IMAGES[reference];
      if (image === undefined) throw new Error(`the house cannot make the image ${reference}`);
      if (this.#images.has(reference)) continue;
      await buildTestImage(this, reference, testImage(image()));
      await pushFromEngine(this, reference);
      this.#images.add(reference);
    }
  }

  get token(): string {
    return readFileSync(join(this.#folder, '.berth/admin-token'), 'utf8').trim();
  }

  /** A folder and a shell for a page. */
  shell(): PageShell {
    const folder = join(this.home, 'work');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    // Its port is taken by the agent of `berth up`: further agents of a page share its network namespace.
    return new PageShell(this.entry(), folder, { ...this.environment(), BERTH_AGENT_MESH: 'off' });
  }

  /** For a page that starts everything itself. */
  bareShell(): PageShell {
    return new PageShell(this.#inside(['--uts'], `hostname ${HOST}`), this.#folder, this.environment());
  }

  /** What a page made is gone before the next begins, which may list what there is; the sample is there again. */
  async tidy(): Promise<void> {
    const shell = new PageShell(this.entry(), this.#folder, this.environment());
    await shell.run(ASKING);
    await shell.run('berth context use local');
    await shell.run('for one in $(others); do ask deployments/$one -X DELETE; done');
    await shell.run('for one in $(ask jobs | jq -r ".[].name"); do ask jobs/$one -X DELETE; done');
    const { output } = await shell.run('berth scale hello 1; until [ -z "$(others)" ]; do sleep 0.2; done');
    if (!output.includes('healthy')) throw new Error(`the sample is not there again:\n${output}`);
    // In use until the last container has ended.
    for (const [list, at] of [
      ['secrets', 'secrets'],
      ['volumes', 'dvm/volumes'],
    ])
      await shell.run(
        `until [ -z "$(${list})" ]; do for one in $(${list}); do ask ${at}/$one -X DELETE; done; sleep 0.2; done`,
      );
    await shell.end();
  }

  async stop(): Promise<void> {
    if (this.#up !== undefined && this.#up.exitCode === null) {
      const ended = once(this.#up, 'exit');
      // The program itself: nsenter and the shell before it became it.
      this.#up.kill('SIGINT');
      await ended;
    }
    await this.#neighbours?.stop();
    for (const engine of this.#engines) await engine.stop();
    removeWithMounts(this.home);
  }
}
