import { entries } from './entry.ts';

/** Secret material: values, generate blocks, composed templates and rotation phases. */
export const secretMaterialCodes = entries({
  secret_write_empty: {
    status: 422,
    field: 'values',
    title: 'The secret write carries neither values nor a generate block.',
    cause:
      'A write replaces the whole document. An empty one would erase every key of a credential that running workloads need, which is never what a forgotten field meant.',
    accepted: 'a body with values, with generate, or with both',
    failing: 'PUT /api/v1/secrets/resources/db\n\n{}',
    corrected: 'PUT /api/v1/secrets/resources/db\n\n{ "generate": { "keys": ["password"] } }',
    origin: '7.3',
  },
  secret_in_use: {
    status: 409,
    field: 'name',
    title: 'Something refers to the secret document.',
    cause:
      'A deployment, a canary, a job, a certificate of the ingress, a webhook that signs with it or a rotation that is under way needs it: without the document no container of theirs could be created again, and no event be sent. What an instance still runs, and what a rollout may return to by itself, counts too; an earlier revision that somebody may roll back to does not.',
    accepted:
      'a document that nothing refers to (GET /api/v1/secrets?unreferenced=true); the rejection names who does',
    failing: 'DELETE /api/v1/secrets/resources/db   while a deployment refers to it',
    corrected: 'DELETE /api/v1/secrets/resources/database',
    origin: 'extension',
  },
  secret_values_in_document: {
    status: 422,
    field: 'values',
    title: 'A document of kind Secret carries values.',
    cause:
      'Documents are files: they are copied, committed and mailed, and a value in one of them is known to everybody who ever had it. A document says which keys the control plane is to make, which nobody sees. Values that come from elsewhere are written by themselves, from a prompt, a file of their own or a pipe.',
    accepted:
      'generate with the keys to make; values by PUT /api/v1/secrets/{namespace}/{name} (berth secret write NAMESPACE/NAME --key KEY)',
    failing:
      'POST /api/v1/secrets\n\n{ "kind": "Secret", "namespace": "resources", "name": "mail", "values": { "password": "example-not-a-real-password" } }',
    corrected:
      'POST /api/v1/secrets\n\n{ "kind": "Secret", "namespace": "resources", "name": "mail", "generate": { "keys": ["password"] } }',
    origin: 'extension',
  },
  secret_key_invalid: {
    status: 422,
    field: 'computed',
    title: 'A key of the secret cannot be part of a variable name.',
    cause:
      'Each key is delivered as the variable `NAME_key`, and placeholders name it, so it must have the shape of an environment variable. Hyphens, dots and a leading digit are refused. Keys are checked in `values` and in `generate.keys`.',
    accepted:
      'a letter or underscore, then letters, digits and underscores: [A-Za-z_][A-Za-z0-9_]*, at most 256 of them',
    failing: '{ "generate": { "keys": ["db-password"] } }',
    corrected: '{ "generate": { "keys": ["db_password"] } }',
    origin: '7.3',
  },
  secret_key_provided_and_generated: {
    status: 422,
    field: 'computed',
    title: 'A key is given in values and also ordered in generate.keys.',
    cause:
      'One key has one value. Whichever of the two the server chose, the other party would hold material that does not work, and a given value would be overwritten without a trace.',
    accepted: 'each key either in values or in generate.keys',
    failing:
      '{ "values": { "user": "app", "password": "example-not-a-real-password" }, "generate": { "keys": ["password"] } }',
    corrected: '{ "values": { "user": "app" }, "generate": { "keys": ["password"] } }',
    origin: '7.3',
  },
  secret_value_empty: {
    status: 422,
    field: 'computed',
    title: 'A secret value is the empty string.',
    cause:
      'An empty credential is almost always an unset variable in the script that made the request, and many programs read an empty password as no password. Leave out a key that has no value.',
    accepted: 'a non-empty string of at most 65,536 bytes',
    failing: '{ "values": { "password": "" } }',
    corrected: '{ "values": { "password": "example-not-a-real-password" } }',
    origin: '7.3',
  },
  secret_value_too_long: {
    status: 422,
    field: 'computed',
    title: 'A secret value is larger than the limit.',
    cause:
      'Values travel as environment variables, which the kernel bounds, and the document must fit the cap of the secrets store. The size is counted in bytes of UTF-8, not in characters. Key stores and certificate bundles that exceed it belong on a volume, encrypted with a key that is a secret.',
    accepted: 'at most 65,536 bytes of UTF-8 per value',
    failing: '{ "values": { "bundle": "<100,000 bytes of text>" } }',
    corrected: '{ "values": { "bundle_key": "example-not-a-real-key" } }',
    origin: '7.3',
  },
  secret_generate_keys_required: {
    status: 422,
    field: 'generate.keys',
    title: 'The generate block names no key.',
    cause:
      'The block says how to mint, `keys` says what. With an absent or empty list nothing would be minted, and a workload would wait for a variable that never comes.',
    accepted: 'an array of at least one key, each listed once',
    failing: '{ "generate": { "keys": [], "bytes": 32 } }',
    corrected: '{ "generate": { "keys": ["password"], "bytes": 32 } }',
    origin: '7.3',
  },
  secret_generate_key_duplicate: {
    status: 422,
    field: 'computed',
    title: 'A key is listed twice in generate.keys.',
    cause:
      'The second listing would mint over the first. The list was probably merged or copied, and one of the two was meant to be another key.',
    accepted: 'each key listed once',
    failing: '{ "generate": { "keys": ["password", "password"] } }',
    corrected: '{ "generate": { "keys": ["password", "replication_password"] } }',
    origin: '7.3',
  },
  secret_generate_axis_conflict: {
    status: 422,
    field: 'generate',
    title: 'bytes/encoding and length/charset are combined in one block.',
    cause:
      'There are two ways to describe generated text: random bytes in an encoding, or characters drawn from an alphabet. Together they would ask for two different lengths. Two keys that need different forms are minted by two writes.',
    accepted: 'either bytes and encoding, or length and charset',
    failing: '{ "generate": { "keys": ["password"], "bytes": 32, "charset": "alphanumeric" } }',
    corrected: '{ "generate": { "keys": ["password"], "length": 32, "charset": "alphanumeric" } }',
    origin: '7.3',
  },
  rotation_hook_failed: {
    status: 409,
    field: 'phase',
    title: 'The hook that the phase waits for has not succeeded.',
    cause:
      'A credential with hooks goes on only when what it stands for was changed outside: `apply` has to succeed before `promote`, `revoke` before `retire`, and `apply` with the values swapped before `abort`. The run of the job failed or was cancelled, or the job is gone. Nothing was moved: every container still holds values that are valid. The end of its output is in `why`, without the values; the whole is in the logs of the job.',
    accepted: 'the phase again with retryHook: true once the cause is mended, other hooks, or abort',
    failing:
      'POST /api/v1/secrets/resources/db/rotate      while the job of the hook apply fails\n\n{ "phase": "promote" }',
    corrected: 'POST /api/v1/secrets/resources/db/rotate\n\n{ "phase": "promote", "retryHook": true }',
    origin: 'extension',
  },
  rotation_hook_invalid: {
    status: 422,
    field: 'computed',
    title: 'The job does not read the credential that it is to be a hook of.',
    cause:
      'A hook receives the old and the new values under the name of its own `secrets` entry: `NAME_key` and `NAME_key_PREVIOUS`. A job without an entry for the path would run without them.',
    accepted: 'a job of the tenant with a secrets entry for the path of the credential',
    failing: 'PUT /api/v1/secrets/resources/database/hooks\n\n{ "apply": "nightly-report" }',
    corrected:
      'PUT /api/v1/secrets/resources/database/hooks\n\n{ "apply": "db-apply", "revoke": "db-revoke" }',
    origin: 'extension',
  },
  rotation_whole_credential: {
    status: 409,
    field: 'secret',
    title: 'A credential with hooks is rotated by one deployment alone.',
    cause:
      'A hook changes what is valid for everybody who reads the credential, so it runs when all of them are ready, and all of them go through each phase together.',
    accepted: 'the rotation of the whole credential',
    failing:
      'POST /api/v1/deployments/shop/secrets/rotate      of a credential with hooks\n\n{ "phase": "stage" }',
    corrected: 'POST /api/v1/secrets/resources/db/rotate\n\n{ "phase": "stage" }',
    origin: 'extension',
  },
  secret_generate_alternate_invalid: {
    status: 422,
    field: 'computed',
    title: 'The values to be taken in turn are not at least two different ones.',
    cause:
      'A key with `alternate` takes the next value of the list each time it is made: the two roles of a database whose password is rotated, for instance. With one value, an empty one or one that is listed twice, a rotation would put the same or nothing into service.',
    accepted: 'a list of at least two different, non-empty values',
    failing: '{ "generate": { "user": { "alternate": ["shop_a"] }, "password": { "bytes": 32 } } }',
    corrected:
      '{ "generate": { "user": { "alternate": ["shop_a", "shop_b"] }, "password": { "bytes": 32 } } }',
    origin: 'extension',
  },
  secret_generate_below_entropy_floor: {
    status: 422,
    field: 'generate.length',
    title: 'The generated text would hold less than 128 bits of entropy.',
    cause:
      'A credential that the platform mints must not be guessable, whatever the program behind it accepts. Each character gives log2 of the size of its alphabet in bits: `alphanumeric` (62 characters) 5.95, `lowercase` (36) 5.17, `symbols` (75) 6.23.',
    accepted: 'length of at least 22 for alphanumeric, 25 for lowercase, 21 for symbols (128 bits)',
    failing: '{ "generate": { "keys": ["password"], "length": 12, "charset": "alphanumeric" } }',
    corrected: '{ "generate": { "keys": ["password"], "length": 22, "charset": "alphanumeric" } }',
    origin: '7.3',
  },
  secret_generate_bytes_out_of_range: {
    status: 422,
    field: 'generate.bytes',
    title: 'The number of random bytes is out of range.',
    cause:
      'Fewer than 16 bytes are below the entropy floor of 128 bits. The encoded text may be at most 1,024 characters, so the ceiling depends on the encoding: 768 bytes in `base64url` and `base64`, 512 in `hex`. The default is 32 bytes. Fractions and numbers written as strings are refused too.',
    accepted:
      'an integer from 16 to 1,024 whose encoded text has at most 1,024 characters (768 bytes in base64url and base64, 512 in hex)',
    failing: '{ "generate": { "keys": ["token"], "bytes": 8 } }',
    corrected: '{ "generate": { "keys": ["token"], "bytes": 32 } }',
    origin: '7.3',
  },
  secret_generate_length_out_of_range: {
    status: 422,
    field: 'generate.length',
    title: 'The number of characters is out of range.',
    cause:
      '`length` counts the characters drawn from the charset. The range is checked first; a length within it must then meet the entropy floor of 128 bits. Fractions and numbers written as strings are refused too.',
    accepted: 'an integer from 1 to 1,024 that also meets the entropy floor',
    failing: '{ "generate": { "keys": ["password"], "length": 4096 } }',
    corrected: '{ "generate": { "keys": ["password"], "length": 64 } }',
    origin: '7.3',
  },
  secret_generate_charset_unknown: {
    status: 422,
    field: 'generate.charset',
    title: 'The charset is not one of the three alphabets.',
    cause:
      'The entropy of a generated text is computed from its alphabet, so only alphabets whose size is known are accepted; a literal list of characters is not. `symbols` are the letters, the digits and `!#%*+-.:=?@_~`; some of these have a meaning in URLs, so a value that goes into a connection string is better `alphanumeric`.',
    accepted: '"alphanumeric" (default), "lowercase" (a-z0-9) or "symbols"',
    failing: '{ "generate": { "keys": ["password"], "length": 32, "charset": "ascii" } }',
    corrected: '{ "generate": { "keys": ["password"], "length": 32, "charset": "symbols" } }',
    origin: '7.3',
  },
  secret_generate_encoding_unknown: {
    status: 422,
    field: 'generate.encoding',
    title: 'The encoding is not one of the three supported ones.',
    cause:
      'Random bytes are rendered as text because an environment variable cannot hold a zero byte. The spelling is exact: "base64-url" and "HEX" are unknown.',
    accepted: '"base64url" (default), "base64" or "hex"',
    failing: '{ "generate": { "keys": ["token"], "bytes": 32, "encoding": "base32" } }',
    corrected: '{ "generate": { "keys": ["token"], "bytes": 32, "encoding": "hex" } }',
    origin: '7.3',
  },
  secret_compose_template_empty: {
    status: 422,
    field: 'computed',
    title: 'A composed variable has an empty template.',
    cause:
      '`composedEnvironment` builds a variable from secrets. An empty template builds nothing; it is usually an unset variable in the tool that rendered the manifest. A variable that must be empty is a constant and belongs in `environment`.',
    accepted: 'a non-empty template with at least one {{secret.<resource>.<key>}}',
    failing:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ], "composedEnvironment": { "DATABASE_URL": "" } }',
    corrected:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ], "composedEnvironment": { "DATABASE_URL": "postgres://app:{{secret.db.password}}@db:5432/app" } }',
    origin: '7.3',
  },
  secret_compose_no_reference: {
    status: 422,
    field: 'computed',
    title: 'A composed template contains no placeholder.',
    cause:
      'A template without a placeholder is a constant and belongs in `environment`, where it can be read and compared. If it holds a credential written out, it must become a placeholder. The template is not repeated in the rejection for that reason.',
    accepted: 'at least one {{secret.<resource>.<key>}}; a constant belongs in environment',
    failing: '{ "composedEnvironment": { "DATABASE_HOST": "db:5432" } }',
    corrected: '{ "environment": { "DATABASE_HOST": "db:5432" } }',
    origin: '7.3',
  },
  secret_compose_resource_undeclared: {
    status: 422,
    field: 'computed',
    title: 'A placeholder names a resource that this deployment does not declare.',
    cause:
      '`<resource>` is the label of a `vault_path` in the `secrets` list of the same deployment (the part after the namespace), not the name of the entry. Only declared references are resolved, so that the list of consumers stays complete.',
    accepted: 'a resource that is the label of a vault_path listed in secrets',
    failing:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/main-db", "anchor": "external" } ], "composedEnvironment": { "DATABASE_URL": "postgres://app:{{secret.db.password}}@db/app" } }',
    corrected:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/main-db", "anchor": "external" } ], "composedEnvironment": { "DATABASE_URL": "postgres://app:{{secret.main-db.password}}@db/app" } }',
    origin: '7.3',
  },
  secret_compose_template_malformed: {
    status: 422,
    field: 'computed',
    title: 'A placeholder in a composed template is malformed.',
    cause:
      'Anything between `{{` and `}}` must be a complete placeholder: the word `secret`, a lowercase DNS-style resource, an environment-variable-shaped key, joined by dots, without spaces. A placeholder that was ignored would reach the workload as literal text.',
    accepted:
      '{{secret.<resource>.<key>}} with a lowercase DNS-style resource and a key matching [A-Za-z_][A-Za-z0-9_]*',
    failing:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ], "composedEnvironment": { "DATABASE_URL": "postgres://app:{{ db.password }}@db:5432/app" } }',
    corrected:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ], "composedEnvironment": { "DATABASE_URL": "postgres://app:{{secret.db.password}}@db:5432/app" } }',
    origin: '7.3',
  },
  rotation_transition_invalid: {
    status: 409,
    field: 'phase',
    title: 'The phase is not the next one of the rotation.',
    cause:
      'Phases advance in order, `stage`, `promote`, `retire`, and then `stage` again, so that at no time zero credentials are valid: `stage` delivers the new material beside the old, `promote` swaps them, `retire` removes the old. A skipped or repeated phase would break that promise. `abort` goes back to the old version from `stage` or `promote`, until a consumer has retired it. A phase may be repeated only where its rollout failed. The `expected` field of the rejection names the next phase; so does `status.rotation.next` of the deployment.',
    accepted: 'the next phase in the order stage, promote, retire, stage …; or abort after stage or promote',
    failing: 'POST /api/v1/deployments/web/secrets/rotate      after stage\n\n{ "phase": "retire" }',
    corrected: 'POST /api/v1/deployments/web/secrets/rotate      after stage\n\n{ "phase": "promote" }',
    origin: '7.3',
  },
});
