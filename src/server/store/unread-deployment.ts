import type { DeploymentRecord } from '../../core/model/deployment.ts';
import { UnreadRecord } from './unread-record.ts';

/** All members of a record with `newest` from the hash of its spec on; `restart`, `orders` and what else is rare is not among them. */
const LAST_MEMBERS =
  /\},"specHash":"([0-9a-f]{64})"(?:,"imageDigest":"[^"\\]*")?(?:,"seenImages":\[[^[\]]*\])?,"version":\d+,"createdAt":"[^"\\]*","updatedAt":"[^"\\]*","newest":\{"change":"[^"\\]*","at":"[^"\\]*","by":"[^"\\]*"\}\}$/y;
const BEFORE_HASH = '},"specHash":"';
const FIRST_MEMBER = /^\{"v":\d+,"id":"([^"\\]*)",/;
/** More than that member takes. */
const FIRST_BYTES = 80;
/** Every reference to a credential has it, of variables and of certificates. */
const REFERENCE = '"vault_path":';

/** A deployment that stands for its snapshot and its newest version, and names no credential: all that has to be known of it at a start. */
export class UnreadDeployment extends UnreadRecord<DeploymentRecord> {
  readonly specHash: string;

  constructor(specHash: string, ...args: ConstructorParameters<typeof UnreadRecord>) {
    super(...args);
    this.specHash = specHash;
  }

  /** Undefined: that takes reading it. */
  get typedId(): string | undefined {
    return FIRST_MEMBER.exec(this.beginning(FIRST_BYTES) ?? '')?.[1];
  }
}

/**
 * The hash of the spec of such a record by its text; undefined: it has to be read. What is compared reaches to the end of the text, with as many brackets opened as
 * closed but one: so these are members of the record itself. A quote within a text is escaped, so that no text is taken for a member.
 */
export function hashInText(text: string): string | undefined {
  LAST_MEMBERS.lastIndex = text.lastIndexOf(BEFORE_HASH);
  if (LAST_MEMBERS.lastIndex < 0 || text.includes(REFERENCE)) return undefined;
  return LAST_MEMBERS.exec(text)?.[1];
}
