import type { EngineImage, ImageState } from './engine.ts';
import { UnsafeSpecError } from './errors.ts';
import { optional } from '../../core/model/values.ts';
import { type Fields, fields, list, nonEmpty, number, text } from './fields.ts';

const REFERENCE =
  /^(?<repository>[a-zA-Z0-9][a-zA-Z0-9._-]*(?::\d{1,5}(?=\/))?(?:\/[a-zA-Z0-9][a-zA-Z0-9._-]*)*)(?<tag>:[\w][\w.-]{0,127})?(?<digest>@sha256:[0-9a-f]{64})?$/;
const IMAGE_ID = /^sha256:[0-9a-f]{64}$/;

/**
 * A reference that names one image. Without tag or digest an engine pulls every tag of the repository; a path that is no
 * reference could reach another route of the engine.
 */
export function exactReference(image: string): string {
  const groups = REFERENCE.exec(image)?.groups;
  if (groups === undefined || (groups['tag'] === undefined && groups['digest'] === undefined)) {
    throw new UnsafeSpecError(`not an exact image reference: ${image}`);
  }
  return image;
}

export function imageName(image: string): string {
  return IMAGE_ID.test(image) ? image : exactReference(image);
}

/** From `GET /images/{name}/json`. */
export function imageState(image: string, body: unknown): ImageState {
  const top = fields(body);
  const id = text(top['Id']) ?? '';
  return {
    id: id.startsWith('sha256:') ? id : `sha256:${id}`,
    ...optional('digest', repositoryDigest(image, list(top['RepoDigests']))),
    platform: platform(top),
    ...optional('user', text(fields(top['Config'])['User']) || undefined),
  };
}

/** From `GET /images/json`. What has no name is written as `<none>`. */
export function listedImage(body: unknown): EngineImage {
  const top = fields(body);
  const id = text(top['Id']) ?? '';
  const names = (key: string): readonly string[] =>
    list(top[key]).flatMap((name) => {
      const found = nonEmpty(name);
      return found === undefined || found.includes('<none>') ? [] : found;
    });
  return {
    id: id.startsWith('sha256:') ? id : `sha256:${id}`,
    tags: names('RepoTags'),
    digests: names('RepoDigests'),
    bytes: Math.max(0, number(top['Size']) ?? 0),
  };
}

/** Podman lists several digests of one repository after a pull by tag: the one asked for wins, else the first. */
function repositoryDigest(image: string, digests: readonly unknown[]): string | undefined {
  const asked = image.split('@')[1];
  const repository = REFERENCE.exec(image)?.groups?.['repository'];
  const found = digests.flatMap((entry) => {
    const [name, digest] = (text(entry) ?? '').split('@');
    return digest !== undefined && familiar(name) === familiar(repository) ? [digest] : [];
  });
  return found.find((digest) => digest === asked) ?? found[0];
}

/** Docker leaves `docker.io/library/` out, Podman writes it. */
function familiar(repository: string | undefined): string | undefined {
  return repository?.replace(/^docker\.io\//, '').replace(/^library\//, '');
}

export function platform(top: Fields): string {
  const parts = [text(top['Os']), text(top['Architecture']) ?? text(top['Arch']), nonEmpty(top['Variant'])];
  return parts.filter((part) => part !== undefined).join('/');
}
