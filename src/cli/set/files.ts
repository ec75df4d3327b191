import type { Option } from '../command.ts';
import { usage } from '../failure.ts';
import type { OptionValues } from '../option-values.ts';

export const FILENAME_OPTION: Option = {
  flags: '-f, --filename <path>',
  description:
    'File with one or more YAML or JSON documents, folder of such files (not those in folders inside it, nor hidden ones), or - for standard input. May be repeated.',
  repeatable: true,
};

export function pathsOf(options: OptionValues, example: string): readonly string[] {
  const paths = options.list('filename');
  if (paths.length === 0) throw usage('-f is needed: which files?', [example]);
  return paths;
}
