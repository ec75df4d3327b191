/** `why` is for the tenant: it holds no credential, and no address that the tenant did not write. */
export type ImageOutcome =
  | { readonly kind: 'found'; readonly digest: string; readonly platforms?: readonly string[] }
  | { readonly kind: 'missing'; readonly why: string }
  | { readonly kind: 'unreachable'; readonly why: string }
  | {
      readonly kind: 'credential_store_unavailable';
      readonly why: string;
      /** It answers and refuses: asking again does not help. */
      readonly denied?: true;
    };
