/**
 * An image reference in Docker's grammar, `[host[:port]/]repository[:tag][@digest]`, normalised as the engine
 * normalises it, so that the manifest that is asked for is the one the engine will pull.
 */
export interface ImageReference {
  /** Host with its port if one was written, in lower case; `docker.io` for bare names. */
  readonly registry: string;
  readonly repository: string;
  readonly tag?: string;
  readonly digest?: string;
}

/** Why a text is no pinned reference. */
export type ImageReferenceProblem = 'unparsable' | 'unpinned' | 'latest';

export type ParsedImageReference =
  | { readonly ok: true; readonly reference: ImageReference }
  | { readonly ok: false; readonly problem: ImageReferenceProblem };

export const DOCKER_HUB = 'docker.io';

/** Host 253, port 6, repository 255, tag 129, digest 72 and the slash: nothing longer can be valid. */
const MAX_TEXT = 716;
const MAX_HOST = 253;
const MAX_LABEL = 63;
const MAX_REPOSITORY = 255;

// None of these nests a quantifier over an overlapping class, and each sees a text of bounded length.
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const PATH_COMPONENT = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^sha256:[a-f0-9]{64}$/;
const PORT = /^[1-9][0-9]{0,4}$/;
const IPV6_GROUP = /^[a-f0-9]{1,4}$/;
/** The engine takes a bare 64-digit name for an image id, never for a repository. */
const IMAGE_ID = /^[a-f0-9]{64}$/;

export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** Texts of late: an image is written far more often than it is a new one. */
const MAX_REMEMBERED = 256;
const remembered = new Map<string, ParsedImageReference>();

export function parseImageReference(text: string): ParsedImageReference {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const parsed = parseReference(text);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  if (text.length <= MAX_TEXT) remembered.set(text, parsed);
  return parsed;
}

function parseReference(text: string): ParsedImageReference {
  if (text.length === 0 || text.length > MAX_TEXT) return problem('unparsable');
  const at = text.indexOf('@');
  const named = at === -1 ? text : text.slice(0, at);
  const digest = at === -1 ? undefined : text.slice(at + 1);
  if (digest !== undefined && !isDigest(digest)) return problem('unparsable');

  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const name = colon === -1 ? named : named.slice(0, colon);
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  if (tag !== undefined && !TAG.test(tag)) return problem('unparsable');

  const place = parseName(name);
  if (place === undefined) return problem('unparsable');
  if (tag === 'latest') return problem('latest');
  if (tag === undefined && digest === undefined) return problem('unpinned');
  const reference: ImageReference = {
    ...place,
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
  };
  return { ok: true, reference };
}

/** The same repository by its digest, as it was written otherwise; what names a digest already stays as it is. */
export function pinnedImage(image: string, digest: string | undefined): string {
  if (digest === undefined || image.includes('@')) return image;
  const colon = image.indexOf(':', image.lastIndexOf('/') + 1);
  return `${colon === -1 ? image : image.slice(0, colon)}@${digest}`;
}

/** The full spelling; parsing it gives the same reference again. */
export function imageReferenceText(reference: ImageReference): string {
  const tag = reference.tag === undefined ? '' : `:${reference.tag}`;
  const digest = reference.digest === undefined ? '' : `@${reference.digest}`;
  return `${reference.registry}/${reference.repository}${tag}${digest}`;
}

function problem(what: ImageReferenceProblem): ParsedImageReference {
  return { ok: false, problem: what };
}

function parseName(name: string): Pick<ImageReference, 'registry' | 'repository'> | undefined {
  if (IMAGE_ID.test(name)) return undefined;
  const slash = name.indexOf('/');
  const first = slash === -1 ? '' : name.slice(0, slash);
  const written = isHostLike(first);
  const host = written ? parseHost(first.toLowerCase()) : DOCKER_HUB;
  if (host === undefined) return undefined;
  const registry = host === 'index.docker.io' ? DOCKER_HUB : host;
  const path = written ? name.slice(slash + 1) : name;
  const repository = registry === DOCKER_HUB && !path.includes('/') ? `library/${path}` : path;
  if (repository.length > MAX_REPOSITORY) return undefined;
  return repository.split('/').every((part) => PATH_COMPONENT.test(part))
    ? { registry, repository }
    : undefined;
}

/** The engine's rule: without a dot, a port or the name `localhost`, the first component belongs to the path. */
function isHostLike(component: string): boolean {
  return component.includes('.') || component.includes(':') || component === 'localhost';
}

function parseHost(text: string): string | undefined {
  const bracket = text.startsWith('[') ? text.indexOf(']') : -1;
  const colon = text.indexOf(':', bracket + 1);
  const host = colon === -1 ? text : text.slice(0, colon);
  if (colon !== -1 && !isPort(text.slice(colon + 1))) return undefined;
  const valid = host.startsWith('[') ? host.endsWith(']') && isIpv6(host.slice(1, -1)) : isHostName(host);
  return valid ? text : undefined;
}

function isPort(text: string): boolean {
  return PORT.test(text) && Number(text) <= 65_535;
}

function isHostName(host: string): boolean {
  if (host.length === 0 || host.length > MAX_HOST) return false;
  return host.split('.').every((label) => label.length <= MAX_LABEL && LABEL.test(label));
}

/** Hexadecimal groups only, as in the engine's grammar: no dotted tail and no zone. */
function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  const enough = halves.length === 2 ? groups.length <= 7 : groups.length === 8;
  return enough && groups.every((group) => IPV6_GROUP.test(group));
}
