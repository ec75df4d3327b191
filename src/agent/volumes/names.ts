/** Of the engines for replicated volumes, best first. */
export const VOLUME_ENGINES: readonly string[] = ['btrfs', 'rsync'];
