import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { usePageTitle } from '../../app/page-title.tsx';
import { apiOf } from '../../lib/api.ts';
import { type SignInProblem, signInProblem } from './sign-in-problem.ts';

function Problem({ problem }: { readonly problem: SignInProblem }) {
  const { title, advice, doc } = problem;
  return (
    <div role="alert" className="flex gap-2 rounded-md border border-bad/35 bg-bad-soft px-3 py-2.5 text-xs">
      <span className="text-bad">
        <Icon name="warning" />
      </span>
      <div>
        <p className="font-medium text-bad">{title}</p>
        <p className="mt-0.5">{advice}</p>
        {doc === undefined ? null : (
          <a
            href={doc.href}
            target="_blank"
            rel="noreferrer"
            className="mt-1 inline-block font-mono text-muted underline"
          >
            {doc.code}
          </a>
        )}
      </div>
    </div>
  );
}

/** The token is sent once and kept nowhere: from then on the browser holds a cookie that scripts cannot read. */
export function SignIn({
  notice,
  onSignedIn,
}: {
  readonly notice: string | undefined;
  readonly onSignedIn: () => void;
}) {
  usePageTitle('Sign in');
  const [token, setToken] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<SignInProblem>();
  const field = useRef<HTMLInputElement>(null);
  // There is one thing to do here.
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await apiOf({ token: token.trim() }).call('POST /api/v1/session');
      setToken('');
      onSignedIn();
    } catch (error) {
      setProblem(signInProblem(error, token.trim()));
      field.current?.select();
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex items-center gap-3">
          <img src="/favicon.svg" alt="" className="size-10" />
          <div>
            <h1 className="text-lg font-semibold tracking-tight">Berth</h1>
            <p className="text-xs text-muted">Container deployment control plane</p>
          </div>
        </div>
        {notice === undefined ? null : (
          <p role="status" className="mb-4 rounded-md border border-warn/30 bg-warn-soft px-3 py-2 text-warn">
            {notice}
          </p>
        )}
        <form
          onSubmit={(event) => void submit(event)}
          className="flex flex-col gap-4 rounded-lg border bg-surface p-5 shadow-card"
        >
          <label className="flex flex-col gap-1.5">
            <span className="font-medium">Access token</span>
            <input
              ref={field}
              type="password"
              name="token"
              autoComplete="current-password"
              required
              value={token}
              onChange={(event) => setToken(event.target.value)}
              placeholder="berth_pat_…"
              className="h-9 rounded-md border border-line-strong bg-canvas px-3 font-mono text-xs placeholder:text-faint"
            />
            <span className="text-xs text-muted">
              The first administrator’s token is in the file <code className="font-mono">admin-token</code> of
              the data folder.
            </span>
          </label>
          {problem === undefined ? null : <Problem problem={problem} />}
          <Button type="submit" tone="primary" busy={isBusy}>
            Sign in
          </Button>
        </form>
        <p className="mt-4 text-center text-xs text-muted">
          <a href="/docs" className="underline hover:text-ink">
            Documentation
          </a>
        </p>
      </div>
    </main>
  );
}
