import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fields, texts } from '../engine/fields.ts';
import { writeWhole } from '../whole-file.ts';
import { certificateFacts } from './certificates.ts';
import type { MaterialQuestions } from './ingress-material.ts';
import type { Pem } from './route.ts';

/** By path below the folder. */
type Files = Readonly<Record<string, string>>;

const ACCOUNT = 'account';
const PART = /^[A-Za-z0-9_.@+-]{1,253}$/;
const ENDING = /\.(?:key|crt|json)$/;

/** Of accounts and certificates; tokens of challenges, locks and the like are of no use elsewhere. */
function isKept(path: string): boolean {
  const parts = path.split('/');
  if (!parts.every((part) => PART.test(part) && part !== '.' && part !== '..') || !ENDING.test(path))
    return false;
  const [top, , users] = parts;
  return top === 'acme'
    ? users === 'users' && parts.length === 5
    : top === 'certificates' && parts.length === 4;
}

/** As Caddy names folders. */
function folderName(host: string): string {
  return host.toLowerCase().replace('*', 'wildcard_');
}

/** What belongs to one authority: another directory begins with nothing. */
export function directoryId(directory: string): string {
  return createHash('sha256').update(directory).digest('hex').slice(0, 16);
}

/**
 * Files that Caddy keeps about certificates of one authority, shared by way of the control plane: whoever issues next goes on with the same
 * account and certificates. All files of a certificate are one value, so that nobody sees a key beside another certificate.
 */
export class CertificateFiles {
  readonly #root: string;
  readonly #prefix: string;
  readonly #questions: MaterialQuestions;
  /** As the control plane has them. */
  readonly #known = new Map<string, string>();

  constructor(root: string, directory: string, questions: MaterialQuestions) {
    this.#root = root;
    this.#prefix = `acme/${directoryId(directory)}`;
    this.#questions = questions;
  }

  /** Brings both sides to the newer of the two. */
  async exchange(hosts: readonly string[]): Promise<void> {
    for (const name of [ACCOUNT, ...hosts]) {
      const local = await this.#local(name);
      if (!this.#known.has(name)) {
        const { value } = await this.#questions.get(this.#key(name));
        const stored = filesIn(value);
        this.#known.set(name, textOf(stored));
        if (isNewer(stored, local)) {
          await this.#write(stored);
          continue;
        }
      }
      const text = textOf(local);
      if (Object.keys(local).length === 0 || text === this.#known.get(name)) continue;
      await this.#questions.put(this.#key(name), text);
      this.#known.set(name, text);
    }
  }

  /** What another node has issued. */
  async issued(host: string): Promise<Pem | undefined> {
    const files = filesIn((await this.#questions.get(this.#key(host))).value);
    // Kept here too: this node may be the next to issue.
    await this.#write(files);
    return pemIn(files);
  }

  /** As Caddy keeps it on this node. */
  async pem(host: string): Promise<Pem | undefined> {
    return pemIn(await this.#local(host));
  }

  /** Here and for all nodes: whoever issues next begins with a key of its own. */
  async forget(host: string): Promise<void> {
    await this.#questions.put(this.#key(host), textOf({}));
    this.#known.set(host, textOf({}));
    for (const path of Object.keys(await this.#local(host)))
      await rm(join(this.#root, path), { force: true });
  }

  #key(name: string): string {
    return `${this.#prefix}/${name === ACCOUNT ? name : `certificates/${folderName(name)}`}`;
  }

  async #local(name: string): Promise<Files> {
    const top = name === ACCOUNT ? 'acme' : 'certificates';
    const found = await readdir(join(this.#root, top), { recursive: true }).catch(() => []);
    const paths = found
      .map((path) => `${top}/${path}`)
      .filter((path) => isKept(path) && (name === ACCOUNT || path.split('/')[2] === folderName(name)))
      .toSorted();
    const contents = await Promise.all(
      paths.map(async (path) => {
        const content = await readFile(join(this.#root, path), 'utf8').catch(() => undefined);
        return content === undefined ? [] : [[path, content] as const];
      }),
    );
    return Object.fromEntries(contents.flat());
  }

  async #write(files: Files): Promise<void> {
    for (const [path, content] of Object.entries(files)) {
      const target = join(this.#root, path);
      if ((await readFile(target, 'utf8').catch(() => undefined)) === content) continue;
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await writeWhole(target, content);
    }
  }
}

function textOf(files: Files): string {
  return JSON.stringify(files);
}

function filesIn(text: string | undefined): Files {
  if (text === undefined) return {};
  const all = Object.entries(texts(fields(JSON.parse(text))));
  return Object.fromEntries(all.filter(([path]) => isKept(path)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function pemIn(files: Files): Pem | undefined {
  const [certificate, key] = ['.crt', '.key'].map(
    (ending) => Object.entries(files).find(([path]) => path.endsWith(ending))?.[1],
  );
  return certificate === undefined || key === undefined ? undefined : { certificate, key };
}

/** An account is as good as another: the one that is shared wins. */
function isNewer(stored: Files, local: Files): boolean {
  if (Object.keys(stored).length === 0) return false;
  const [theirs, ours] = [stored, local].map((files) => certificateFacts(pemIn(files)?.certificate ?? ''));
  return theirs === undefined || ours === undefined || theirs.notAfter > ours.notAfter;
}
