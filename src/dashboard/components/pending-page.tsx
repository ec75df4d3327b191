import type { ComponentProps } from 'react';
import { ErrorNotice } from './error-notice.tsx';
import { Loading } from './loading.tsx';
import { Page } from './page.tsx';

/** While its record is being read, and when it cannot be. */
export function PendingPage({
  error,
  ...page
}: Pick<ComponentProps<typeof Page>, 'title' | 'back'> & { readonly error: unknown }) {
  return <Page {...page}>{error === null ? <Loading lines={6} /> : <ErrorNotice error={error} />}</Page>;
}
