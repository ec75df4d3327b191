/** The first word that completion scripts give to this program. Nobody types it: it is in no help page. */
export const COMPLETE = '__complete';

/** Said instead of words where the shell knows better: its own completion of files. */
export const FILES_MARK = ':files';
