import { errnoOf, isRecord, messageOf } from '../core/model/values.ts';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from './client.ts';
import { usage } from './failure.ts';
import { inputFile } from './input-text.ts';
import type { PlaceOf } from './set/places.ts';
import { readYaml } from './yaml-documents.ts';

/** One document of a file, before the control plane has checked it. */
export interface Manifest {
  /** `web.yaml`, or `web.yaml#2` for the second document. */
  readonly source: string;
  readonly kind: string;
  readonly name: string;
  readonly body: Json;
  /** Where a field is: `web.yaml:12:5`. */
  readonly placeOf: PlaceOf;
}

const EXTENSIONS = /\.(?:ya?ml|json)$/;

/** A document that names no kind. */
const DEFAULT_KIND = 'Deployment';

interface Source {
  readonly name: string;
  readonly text: string;
}

async function readSources(
  paths: readonly string[],
  readInput: () => Promise<string>,
): Promise<readonly Source[]> {
  const sources: Source[] = [];
  for (const path of paths) {
    if (path === '-') sources.push({ name: 'standard input', text: await readInput() });
    else for (const file of filesAt(path)) sources.push({ name: file, text: inputFile(file, '-f') });
  }
  return sources;
}

/** A folder stands for the manifests in it, by name; hidden files are left out, and folders inside it are not entered. */
function filesAt(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
  } catch (error) {
    throw usage(
      `-f ${path}: ${errnoOf(error) === 'ENOENT' ? 'there is no such file or folder' : messageOf(error)}`,
    );
  }
  const files = readdirSync(path)
    .filter((name) => EXTENSIONS.test(name) && !name.startsWith('.'))
    .sort();
  if (files.length === 0) throw usage(`-f ${path}: the folder holds no .yaml, .yml or .json file`);
  return files.map((name) => join(path, name));
}

/** Every document of every file; nothing is sent before all of them can be read. */
export async function readManifests(
  paths: readonly string[],
  readInput: () => Promise<string>,
  kinds: readonly string[],
): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for (const { name: source, text } of await readSources(paths, readInput)) {
    const documents = await readYaml(text, source);
    for (const [index, { value, placeOf }] of documents.entries()) {
      if (value === null || value === undefined) continue;
      const place = documents.length === 1 ? source : `${source}#${index + 1}`;
      manifests.push({ ...manifestOf(place, value, kinds), placeOf });
    }
  }
  if (manifests.length === 0) throw usage('the files hold no document');
  refuseDuplicates(manifests);
  return manifests;
}

function manifestOf(source: string, value: unknown, kinds: readonly string[]): Omit<Manifest, 'placeOf'> {
  if (!isRecord(value)) {
    throw usage(
      `${source} must describe one record; it holds ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}`,
      ['Several records are separated by a line with ---'],
    );
  }
  const kind = value['kind'] ?? DEFAULT_KIND;
  if (typeof kind !== 'string' || !kinds.includes(kind)) {
    throw usage(
      `${source}: kind ${JSON.stringify(kind)} cannot be applied; this program applies kind ${kinds.join(', ')}`,
      ['Nothing was sent. Leave the document out, or correct its kind.'],
    );
  }
  const { name } = value;
  if (typeof name !== 'string' || name === '') {
    throw usage(`${source}: name is missing`, [
      'A document starts with kind, name and image:',
      '  kind: Deployment',
      '  name: web',
      '  image: registry.example.com/shop/web:1.4.2',
    ]);
  }
  return { source, kind, name, body: value };
}

function refuseDuplicates(manifests: readonly Manifest[]): void {
  const seen = new Map<string, string>();
  for (const { kind, name, source } of manifests) {
    const before = seen.get(`${kind}/${name}`);
    if (before !== undefined) throw usage(`${name} is described twice: in ${before} and in ${source}`);
    seen.set(`${kind}/${name}`, source);
  }
}
