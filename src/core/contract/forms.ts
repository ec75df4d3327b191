/**
 * What texts, numbers, lists and maps of bodies look like, as JSON Schema: for those who generate requests from the OpenAPI document.
 * The decoder checks types alone and the rules decide, in their order and with their codes; forms.test.ts holds the two together.
 * A form refuses nothing that the rules take; ranges of durations and amounts, and what one field says of another, are for the rules alone.
 */

/** Of deployments, jobs, networks, volumes. */
export const NAME = { pattern: '^[a-z]([a-z0-9-]*[a-z0-9])?$', maxLength: 63 } as const;

/** `1h`, `1m30s`, `500ms`. */
export const DURATION = {
  pattern: '^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,9}([.][0-9]{1,3})?s)?([0-9]{1,9}ms)?$',
  minLength: 2,
} as const;

/** `256Mi`, `1Gi`, `500M`, `1048576`. */
export const MEMORY = { pattern: '^[0-9]{1,16}([.][0-9]{1,6})?(Ki|Mi|Gi|Ti|k|M|G|T)?$' } as const;

export const PORT = { minimum: 1, maximum: 65_535 } as const;

export const HOST_NAME = {
  pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?([.][a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$',
  maxLength: 253,
} as const;

/** A prefix of paths: segments of unreserved characters other than `.` and `..`, without a slash at its end. */
export const INGRESS_PATH = {
  pattern: '^(/|(/([.]?[A-Za-z0-9_~-][A-Za-z0-9._~-]*|[.][.][A-Za-z0-9._~-]+))+)$',
  maxLength: 255,
} as const;

/** In either case: it is folded. */
export const COUNTRY = { pattern: '^[A-Za-z]{2}$' } as const;

/** Of a key of a secret document, and of a variable that is composed. */
export const SECRET_KEY = { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' } as const;

export const SECRET_ENTRY_NAME = { pattern: '^[A-Za-z0-9_]+$' } as const;

/** Both segments are DNS labels; which namespaces are granted is a setting. */
export const SECRET_PATH = {
  pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
} as const;

export const INGRESS_TLS = {
  anyOf: [
    { type: 'string', enum: ['auto', 'off'] },
    {
      type: 'object',
      properties: {
        vault_path: {
          type: 'string',
          ...SECRET_PATH,
          description: 'A document with the keys certificate and key, both PEM.',
        },
      },
      required: ['vault_path'],
      additionalProperties: false,
    },
  ],
} as const;

export const ANCHOR = {
  pattern: '^(process|external|volume[(][A-Za-z0-9][A-Za-z0-9_-]{0,127}[)])$',
} as const;

export const VARIABLES = {
  propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_.-]*$', maxLength: 256 },
  maxProperties: 1024,
} as const;

export const LABELS = {
  propertyNames: { pattern: '^[A-Za-z0-9]([A-Za-z0-9_./-]{0,251}[A-Za-z0-9])?$' },
  maxProperties: 1024,
} as const;

export const LABEL_VALUE = { pattern: '^[^\\u0000-\\u001f]*$', maxLength: 4096 } as const;

export const NODE_NAME = { pattern: '^[a-z0-9][a-z0-9.-]{0,62}$' } as const;

export const VOLUME_ID = { pattern: '^vol_[a-z0-9]{1,64}$' } as const;

/** Absolute, without empty, `.` and `..` elements. */
export const PLAIN_PATH = { pattern: '^/[^\\u0000-\\u001f:]*$', minLength: 2, maxLength: 4096 } as const;

/** Its group may follow. */
export const CONTAINER_USER = {
  pattern: '^([0-9]{1,10}|[A-Za-z_][A-Za-z0-9_.-]{0,31})(:([0-9]{1,10}|[A-Za-z_][A-Za-z0-9_.-]{0,31}))?$',
} as const;

/** With a tag or a digest. */
export const PINNED_IMAGE = {
  pattern:
    '^[A-Za-z0-9[][A-Za-z0-9._:/[\\]-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(@sha256:[a-f0-9]{64})?|@sha256:[a-f0-9]{64})$',
} as const;

export const UUID = { pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' } as const;

/** The ETag of a read, several of them, or `*`. */
export const IF_MATCH = {
  pattern: '^([*]|(W/)?"?[0-9]{1,15}"?([ ]*,[ ]*(W/)?"?[0-9]{1,15}"?)*)$',
} as const;
