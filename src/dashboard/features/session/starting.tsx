import { Button } from '../../components/button.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';

export function Starting() {
  return (
    <main className="grid min-h-dvh place-items-center" aria-busy="true">
      <img src="/favicon.svg" alt="Berth" className="size-12 animate-pulse" />
    </main>
  );
}

export function Unreachable({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  return (
    <main className="mx-auto grid min-h-dvh max-w-lg content-center gap-4 px-4">
      <h1 className="text-lg font-semibold">The control plane cannot be reached</h1>
      <ErrorNotice error={error} />
      <Button icon="refresh" onClick={onRetry}>
        Try again
      </Button>
    </main>
  );
}
