/** A small file that the container finds at a path: as text, or the bytes in base64. Never a secret. */
export interface ConfigFile {
  readonly path: string;
  readonly content?: string;
  readonly base64?: string;
  /** Octal; absent: 0444. */
  readonly mode?: string;
}

/** Of all files of a workload, decoded. */
export const MAX_FILES_BYTES = 256 * 1024;
/** As JSON: base64 takes a third more, and a text that is all escapes must not take six times as much. */
export const MAX_FILES_JSON_BYTES = 384 * 1024;
export const MAX_FILES = 64;

/** Feature of an agent that writes them: with an older one the container would start without its configuration. */
export const FILES_FEATURE = 'files';

/** Undefined: no base64. */
export function decodedBase64(text: string): string | undefined {
  // The built-in decoder forgives spaces and a missing end; what is stored is what others can read too.
  if (text.length % 4 !== 0 || /\s/.test(text)) return undefined;
  try {
    return atob(text);
  } catch {
    return undefined;
  }
}
