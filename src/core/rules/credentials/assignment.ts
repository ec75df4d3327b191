import { examined, type CredentialFinding, type EnvironmentPair } from './finding.ts';
import { keyMeaning, keyWords } from './key-words.ts';
import { looksLikeKeyMaterial } from './randomness.ts';
import { isNumeric, isLocation, isTrivial, isUrl } from './triviality.ts';

export const EMBEDDED: CredentialFinding = {
  rule: 'embedded_assignment',
  why: 'The value assigns a password, key or token inside its text, as connection strings, options and JSON do.',
};

// The work is bounded by the number of assignments looked at, so a text made of empty ones costs no more.
const MAX_LOOKS = 1_000;
const MAX_NAME = 64;
const MAX_ASSIGNED = 256;

const NAME_END = /[A-Za-z0-9_.-]{1,68}$/;
const LIKELY =
  '(?:pass|pwd|passwd|password|passwort|passphrase|passcode|secret|token|key|credential|cred|sig|signature|mnemonic)s?\\d{0,4}';
const LIKELY_NAME = new RegExp(`${LIKELY}$`, 'i');
const LIKELY_ASSIGNMENT = new RegExp(`${LIKELY}\\\\?["']?\\s{0,2}[=:>]`, 'gi');
const SIGNATURE = /^(?:sig|x-amz-signature|x-goog-signature|sharedaccesssignature)$/i;

const SEPARATORS = ['=', ':', '>', ' '] as const;
type Separator = (typeof SEPARATORS)[number];

/** The text assigned at the start of `rest`, without its quotes; nothing when prose follows. */
function assignedText(rest: string, separator: Separator): string | undefined {
  if (separator === '>') return /^([^<\s]{1,256})<\//.exec(rest)?.[1];
  const quoted = /^\s{0,8}\\?(["'])((?:(?!\\?\1)[^\n]){0,256})/.exec(rest);
  if (quoted !== null) return quoted[2];
  if (separator === ':') return /^[ \t]{1,8}([^\s"'{[|>&]\S{0,255})[ \t]{0,8}(?:\r?\n|$)/.exec(rest)?.[1];
  return /^[^\s"';&,)}\]]{0,256}/.exec(rest)?.[0];
}

function isCredential(name: string, text: string): boolean {
  if (SIGNATURE.test(name)) return /^[A-Za-z0-9%+/=_-]{40}/.test(text);
  if (isTrivial(text) || isUrl(text) || /^[$<{%]/.test(text)) return false;
  const meaning = keyMeaning(keyWords(name));
  if (meaning === 'password') return true;
  if (meaning === 'credential') return text.length >= 6 && !isNumeric(text) && !isLocation(text);
  return meaning === 'key' && looksLikeKeyMaterial(text);
}

/** The name before a separator. Before `>` it is the name of an XML element; after a colon only a quoted (JSON) or line-leading (YAML) name is one; the rest is prose. */
function nameBefore(text: string, at: number, separator: Separator): string | undefined {
  const head = text.slice(Math.max(0, at - MAX_NAME - 4), at);
  const bare = head.replace(/\\?["']?\s{0,2}$/, '');
  const name = NAME_END.exec(bare)?.[0];
  if (name === undefined) return undefined;
  const before = bare.slice(0, bare.length - name.length);
  if (separator === '>' && !before.endsWith('<')) return undefined;
  if (separator === ':') {
    const isQuoted = /["']\s{0,2}$/.test(head);
    if (!isQuoted && !/(?:^|\n)[ \t-]{0,64}$/.test(before)) return undefined;
    // `PASSWORD :'name'` is a variable of psql, whose value comes from elsewhere.
    if (!isQuoted && /\s$/.test(head) && /^["']/.test(text.slice(at + 1))) return undefined;
  }
  return name.replace(/^[-.]+/, '');
}

function holdsAssignment(text: string): boolean {
  let looks = 0;
  for (const likely of text.matchAll(LIKELY_ASSIGNMENT)) {
    const at = likely.index + likely[0].length - 1;
    const separator = SEPARATORS.find((one) => one === text[at]);
    if (separator === undefined) continue;
    const name = nameBefore(text, at, separator);
    const assigned = name && assignedText(text.slice(at + 1, at + 1 + MAX_ASSIGNED), separator);
    if (name && assigned && isCredential(name, assigned)) return true;
    looks += 1;
    if (looks === MAX_LOOKS) return false;
  }
  return false;
}

/** `--password hunter2`, `-u user:password` */
function holdsOption(text: string): boolean {
  const options = /(?:^|\s)--?([A-Za-z][\w.-]{0,63})[ \t]{1,4}(?!-)/g;
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const name = options.exec(text)?.[1];
    if (name === undefined) return false;
    const assigned = assignedText(text.slice(options.lastIndex, options.lastIndex + MAX_ASSIGNED), ' ') ?? '';
    if (name === 'u' || name === 'user') {
      const password = /^[^\s:/]{1,64}:(\S{1,128})$/.exec(assigned)?.[1];
      if (password !== undefined && !isTrivial(password) && !/^\d{1,6}$/.test(password)) return true;
    } else if (LIKELY_NAME.test(name) && isCredential(name, assigned)) return true;
  }
  return false;
}

export function findEmbeddedAssignment({ value }: EnvironmentPair): CredentialFinding | undefined {
  const text = examined(value);
  return holdsAssignment(text) || holdsOption(text) ? EMBEDDED : undefined;
}
