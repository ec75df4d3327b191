const TRIVIAL_WORDS: ReadonlySet<string> = new Set(
  (
    'true false yes no on off null nil none undefined enabled disabled enable disable required optional auto automatic default ' +
    'always never unset empty n/a na tbd todo redacted masked hidden'
  ).split(' '),
);

const NUMBER = /^[+-]?\d{1,40}(?:[.,_]\d{1,40}){0,8}\s?[a-zA-Z%]{0,3}$/;
const COMPOUND_DURATION = /^(?:\d{1,9}(?:ns|us|ms|s|m|h|d|w|y)){1,6}$/;

/** Text that stands for a value to be filled in elsewhere: `${VAR}`, `{{secret.db.password}}`, `<password>`, `****`. */
export function isPlaceholder(text: string): boolean {
  if (text.length > 512) return false;
  if (/^\$\{[^{}]*\}$/.test(text) || /^\$\([^()]*\)$/.test(text) || /^\$[A-Za-z_]\w*$/.test(text))
    return true;
  if (/^\{\{[^{}]*\}\}$/.test(text) || /^\{[A-Za-z_][\w.-]*\}$/.test(text) || /^%[A-Za-z_]\w*%$/.test(text))
    return true;
  if (
    /^<[^<>]*>$/.test(text) ||
    /^\[[A-Za-z _-]*\]$/.test(text) ||
    /^%[sdv]$/.test(text) ||
    /^:[a-z_]+$/.test(text)
  )
    return true;
  if (/^#\{[^{}]*\}#?$/.test(text) || /^@[\w.]+@$/.test(text) || /^__[A-Z_]+__$/.test(text)) return true;
  return /^[*x•.\-_]{3,}$/i.test(text);
}

const REFERENCE_SCHEME =
  /^(?:arn:aws|vault:|op:\/\/|ssm:|secretsmanager:|awssm:|gcpsm:|sm:\/\/|azurekeyvault:|akv:|keyvault:|file:|secretref:|secret:\/\/|ref\+|env:|projects\/[^/]+\/secrets\/|@Microsoft\.KeyVault)/i;
const FILE_PATH = /^(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][a-z0-9._-]+){2,}$/;
const KEY_FILE = /^[A-Za-z0-9._-]{1,128}\.(?:pem|key|crt|cer|der|p12|pfx|jks|json|txt|ya?ml|env)$/;
const STORE_PATH = /^[a-z][a-z0-9_-]*(?:\/[a-z0-9_.-]+)+(?:[#:][A-Za-z_]\w*)?$/;

/** Text that says where a credential is kept. */
export function isReference(text: string): boolean {
  if (text.length > 512) return false;
  return REFERENCE_SCHEME.test(text) || FILE_PATH.test(text);
}

/** Credentials that are meant to be seen: certificates, public and publishable keys. */
export function isPublicMaterial(text: string): boolean {
  return /^\s{0,16}(?:-----BEGIN (?!.{0,40}PRIVATE)[A-Z0-9 ]{1,40}-----|(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\w{1,20}|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) AAAA|age1[a-z0-9]{50}|pk_(?:live|test)_|pk\.eyJ|LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS|LS0tLS1CRUdJTiBQVUJMSUMg)/.test(
    text,
  );
}

/** A value that is no credential whatever the key is called. */
export function isTrivial(text: string): boolean {
  return (
    text === '' ||
    (text.length <= 16 && TRIVIAL_WORDS.has(text.toLowerCase())) ||
    isPlaceholder(text) ||
    isReference(text) ||
    isPublicMaterial(text)
  );
}

/** A number, a size, a duration, a version. */
export function isNumeric(text: string): boolean {
  return text.length <= 200 && (NUMBER.test(text) || COMPOUND_DURATION.test(text));
}

/** A path in a secrets store or the name of a file; a password may look like it, a token or key does not. */
export function isLocation(text: string): boolean {
  return text.length <= 512 && (STORE_PATH.test(text) || KEY_FILE.test(text));
}

export function isUrl(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]{0,30}:\/\//.test(text);
}
