import type { EngineImage } from '../engine/engine.ts';
import type { PulledImage } from './pulled-images.ts';

/** Why somebody or something wants room. */
export type CleaningCause = 'asked' | 'disk' | 'age';

export interface CleaningView {
  readonly nowMs: number;
  /** `asked`: all that may go. `disk`: as above, the longest unused first, until there is room. `age`: what was unused for long. */
  readonly cause: CleaningCause;
  readonly unusedMs: number;
  /** As the engine lists them, whoever brought them. */
  readonly images: readonly EngineImage[];
  /** Those that this agent pulled, by reference. */
  readonly pulled: ReadonlyMap<string, PulledImage>;
  /** Ids of images that a container was made from, whatever its state and whoever made it. */
  readonly used: ReadonlySet<string>;
  /** References of this node's orders, and of pulls under way. */
  readonly wanted: ReadonlySet<string>;
  /** References that the control plane needs, with why. Undefined: it was not asked yet, or did not answer. */
  readonly needed: ReadonlyMap<string, string> | undefined;
}

export type KeepReason =
  | 'in_use'
  | 'assigned'
  | 'needed'
  | 'not_answered'
  | 'named_otherwise'
  | 'used_lately'
  | 'gone';

/** Of an image that this agent pulled. Those of others are not even judged. */
export type Judgement =
  | {
      readonly verdict: 'remove';
      readonly image: string;
      readonly bytes: number;
      readonly unusedSinceMs: number;
    }
  | {
      readonly verdict: 'keep';
      readonly image: string;
      readonly bytes: number;
      readonly reason: KeepReason;
      readonly message: string;
    };

/**
 * What may go and what stays, with why: removals first, the longest unused before the others. Pure: every safeguard of images is decided
 * here. What runs, is assigned, may be rolled back to or was here before is never removed; when in doubt an image stays.
 */
export function judgeImages(view: CleaningView): readonly Judgement[] {
  const judged = [...view.pulled.values()].map((pulled) => judge(view, pulled));
  return judged.toSorted(
    (a, b) => unusedSince(a) - unusedSince(b) || b.bytes - a.bytes || (a.image < b.image ? -1 : 1),
  );
}

/** What the control plane is asked about: whatever else speaks for an image need not be known to it. */
export function questionable(view: Omit<CleaningView, 'needed'>): readonly string[] {
  return judgeImages({ ...view, needed: new Map() }).flatMap(({ verdict, image }) =>
    verdict === 'remove' ? image : [],
  );
}

/** What is no longer here under the name that it was pulled by: nothing is to be remembered of it. */
export function forgotten(judged: readonly Judgement[]): readonly string[] {
  return judged.flatMap((one) => (one.verdict === 'keep' && one.reason === 'gone' ? one.image : []));
}

/** References by which an image is used now. */
export function inUse(view: Pick<CleaningView, 'pulled' | 'used' | 'wanted'>): readonly string[] {
  return [...view.pulled.values()].flatMap(({ reference, id }) =>
    view.used.has(id) || view.wanted.has(reference) ? reference : [],
  );
}

function judge(view: CleaningView, { reference, id, usedMs }: PulledImage): Judgement {
  const image = view.images.find((one) => one.id === id);
  const keep = (reason: KeepReason, message: string): Judgement => ({
    verdict: 'keep',
    image: reference,
    bytes: image?.bytes ?? 0,
    reason,
    message,
  });
  const spelled = familiarReference(reference);
  if (image === undefined || !namesOf(image).includes(spelled))
    return keep('gone', 'the engine does not have it under this name any more');
  if (view.used.has(id)) return keep('in_use', 'a container of this machine was made from it');
  if (view.wanted.has(reference)) return keep('assigned', 'an instance of this node runs it or is about to');
  const other = foreignName(view, image);
  if (other !== undefined) return keep('named_otherwise', `somebody else named it ${other} on this machine`);
  if (view.cause === 'age' && view.nowMs - usedMs < view.unusedMs)
    return keep('used_lately', 'it was not unused for long enough');
  if (view.needed === undefined)
    return keep('not_answered', 'the control plane did not say whether it is needed');
  const why = view.needed.get(reference);
  if (why !== undefined) return keep('needed', why);
  return { verdict: 'remove', image: reference, bytes: image.bytes, unusedSinceMs: usedMs };
}

/** A name of the image that this agent did not give it by a pull. Digests come with any pull of their repository. */
function foreignName(view: CleaningView, image: EngineImage): string | undefined {
  const own = [...view.pulled.values()].filter(({ id }) => id === image.id).map(({ reference }) => reference);
  const tags = new Set(own.map(familiarReference));
  const repositories = new Set(own.map((reference) => repositoryOf(familiarReference(reference))));
  return namesOf(image).find((name) =>
    name.includes('@') ? !repositories.has(repositoryOf(name)) : !tags.has(name),
  );
}

function namesOf({ tags, digests }: EngineImage): readonly string[] {
  return [...tags, ...digests].map(familiarReference);
}

/** As engines list it: Docker leaves out what is the default, and a tag beside a digest is nobody's. */
export function familiarReference(reference: string): string {
  const [name = '', digest] = reference.split('@');
  const short = name.replace(/^docker\.io\//, '').replace(/^library\//, '');
  return digest === undefined ? short : `${repositoryOf(short)}@${digest}`;
}

function repositoryOf(name: string): string {
  const bare = name.split('@')[0] ?? '';
  const colon = bare.indexOf(':', bare.lastIndexOf('/') + 1);
  return colon === -1 ? bare : bare.slice(0, colon);
}

function unusedSince(one: Judgement): number {
  return one.verdict === 'remove' ? one.unusedSinceMs : Infinity;
}
