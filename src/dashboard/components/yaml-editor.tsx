import { useEffect, useMemo, useRef } from 'react';
import { allOf, FieldRejection, type Refused } from './field.tsx';
import { lineOf, type YamlProblem } from '../lib/yaml-text.ts';

const LINE_PX = 20;

/** Text with numbered lines; those that were refused are marked, and what is wrong is said below. */
export function YamlEditor({
  text,
  onChange,
  problem,
  rejection,
}: {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly problem: YamlProblem | undefined;
  readonly rejection: Refused;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLDivElement>(null);
  const count = text.split('\n').length;
  const refused = useMemo(
    () => allOf(rejection).map((one) => ({ one, line: lineOf(text, one.field) })),
    [rejection, text],
  );
  const lines = problem === undefined ? refused.map(({ line }) => line) : [problem.line];
  const [marked] = lines;
  const isRefused = problem !== undefined || refused.length > 0;
  useEffect(() => {
    const element = area.current;
    if (element !== null && marked !== undefined) element.scrollTop = Math.max(0, (marked - 6) * LINE_PX);
  }, [marked]);
  return (
    <div className="flex flex-col gap-2">
      <div
        className={`flex h-[min(60dvh,38rem)] overflow-hidden rounded-lg border bg-surface font-mono text-xs leading-5 shadow-card ${isRefused ? 'border-bad' : ''}`}
      >
        <div
          ref={numbers}
          aria-hidden="true"
          className="w-11 shrink-0 overflow-hidden border-r bg-sunken py-3 text-right text-faint select-none"
        >
          {Array.from({ length: count }, (_, at) => (
            <div key={at} className={`pr-2 ${lines.includes(at + 1) ? 'bg-bad text-surface' : ''}`}>
              {at + 1}
            </div>
          ))}
        </div>
        <textarea
          ref={area}
          aria-label="Description as YAML"
          aria-invalid={isRefused}
          aria-describedby={isRefused ? 'yaml-problem' : undefined}
          value={text}
          spellCheck={false}
          wrap="off"
          onChange={(event) => onChange(event.target.value)}
          onScroll={({ currentTarget }) => {
            if (numbers.current !== null) numbers.current.scrollTop = currentTarget.scrollTop;
          }}
          className="min-w-0 flex-1 resize-none bg-transparent px-3 py-3 outline-none"
        />
      </div>
      <div id="yaml-problem">
        {problem === undefined ? null : (
          <p role="alert" className="text-xs text-bad">
            Line {problem.line}: {problem.message}
          </p>
        )}
        {refused.map(({ one, line }) => (
          <div key={one.field} className="flex gap-3 text-xs">
            <code className="font-mono font-medium text-bad">
              {one.field}
              {line === undefined ? '' : `, line ${line}`}
            </code>
            <FieldRejection rejection={one} />
          </div>
        ))}
      </div>
    </div>
  );
}
