import type { Option } from './command.ts';
import { showPlan } from './deploying.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { textOf } from './fields.ts';
import type { OptionValues } from './option-values.ts';
import { actionLines } from './plan-view.ts';
import type { DeploymentWritten } from './records.ts';
import type { Session } from './session.ts';

export const PLAN_OPTIONS: readonly Option[] = [
  {
    flags: '--dry-run',
    description:
      'Show the plan and the line that carries it out; store nothing. Ends with 5 when something would change.',
  },
  {
    flags: '--plan <id>',
    description:
      'Carry out exactly the plan that --dry-run showed; refused when the same command would do anything else by now.',
  },
];

/** What a change of one deployment asks of the control plane. */
export function planQuery(options: OptionValues): { readonly dryRun?: true; readonly plan?: string } {
  const plan = options.text('plan');
  return { ...(options.flag('dryRun') && { dryRun: true }), ...(plan !== undefined && { plan }) };
}

/** The end of a dry run: nothing to do, or the line that does exactly what was shown. */
function ended(session: Session, { plan }: DeploymentWritten, isChange: boolean, line: string): ExitCode {
  session.terminal.err('dry run: nothing was stored\n');
  if (!isChange) return EXIT.ok;
  session.terminal.err(`${session.next(`${line} --plan ${textOf(plan?.id)}`)}\n`);
  return EXIT.wouldChange;
}

export function showChange(
  session: Session,
  name: string,
  answer: DeploymentWritten,
  line: string,
): ExitCode {
  const removed = answer.removed ?? [];
  const isChange = (answer.plan?.diff ?? []).length > 0 || removed.length > 0;
  showPlan(session, { name, action: isChange ? 'update' : 'unchanged', answer, removed });
  return ended(session, answer, isChange, line);
}

export function showDeletion(
  session: Session,
  name: string,
  answer: DeploymentWritten,
  line: string,
): ExitCode {
  const { terminal } = session;
  const style = terminal.errStyle;
  terminal.err(`${style.bold(`- ${name}`)} ${style.dim('(to delete)')}\n`);
  for (const text of actionLines(answer.plan ?? {}, style)) terminal.err(`${text}\n`);
  return ended(session, answer, true, line);
}
