/** Strokes on a 20 × 20 grid. */
const PATHS = {
  gauge: 'M3.5 14.5a7.5 7.5 0 1 1 13 0M10 12l3-4.5',
  layers: 'm10 3 7 3.5-7 3.5-7-3.5zM3 10l7 3.5 7-3.5M3 13.5 10 17l7-3.5',
  server: 'M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01',
  disk: 'M10 8c3.6 0 6-1 6-2.5S13.6 3 10 3 4 4 4 5.5 6.4 8 10 8zM4 5.5v9C4 16 6.400 17 10 17s6-1 6-2.500v-9M4 10c0 1.500 2.400 2.500 6 2.500s6-1 6-2.500',
  bulb: 'M7.500 14.500h5M8 17h4M6.500 11.500A5 5 0 1 1 13.500 11.500c-.7.700-1 1.300-1 3h-5c0-1.700-.3-2.300-1-3z',
  key: 'M12.500 7.500h.01M8.500 10.200 3.500 15.200V17h2.500v-1.500H8V14h1.500l1-1A4.500 4.500 0 1 0 8.500 10.200z',
  network:
    'M10 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM5 17a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM15 17a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM9 7.800 6.200 12.200M11 7.800l2.800 4.400',
  clock: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4l2.500 2',
  box: 'm10 3 6.500 3.500v7L10 17l-6.500-3.500v-7zM3.500 6.500 10 10l6.500-3.500M10 10v7',
  pulse: 'M2.500 10H6l2-5 3.500 10 2-5h4',
  scroll: 'M5 3h8l3 3v11H5zM8 8h5M8 11h5M8 14h3',
  building: 'M4 17V4h8v13M12 9h4v8M3 17h14M7 7h2M7 10h2M7 13h2',
  user: 'M10 9.500a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16.500c.6-3 3-4.500 6-4.500s5.400 1.500 6 4.500',
  check: 'm4.500 10.500 3.500 3.500 7.500-8',
  close: 'm5 5 10 10M15 5 5 15',
  menu: 'M3.500 6h13M3.500 10h13M3.500 14h13',
  unfold: 'm7 8 3-3 3 3M7 12l3 3 3-3',
  chevron: 'm8 5 5 5-5 5',
  external: 'M11 4h5v5M16 4l-7 7M14 11.500V16H4V6h4.500',
  plus: 'M10 4v12M4 10h12',
  minus: 'M4 10h12',
  search: 'M9 14.500a5.500 5.500 0 1 0 0-11 5.500 5.500 0 0 0 0 11zM13 13l4 4',
  warning: 'M10 3.500 17.500 16.500h-15zM10 8.500v3.500M10 14.300h.01',
  info: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 9.500V13M10 7h.01',
  compass: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM13 7l-1.800 4.200L7 13l1.800-4.200z',
  copy: 'M7 7h9v9H7zM13 7V4H4v9h3',
  refresh: 'M16 10a6 6 0 1 1-1.800-4.300L16 7.500M16 3.500v4h-4',
  undo: 'M7.500 5 4 8.500 7.500 12M4 8.500h8a4 4 0 0 1 0 8H9',
  play: 'm6.500 4.500 9 5.500-9 5.500z',
  pause: 'M7 5v10M13 5v10',
  download: 'M10 3.5v8.5M6.5 8.500 10 12l3.500-3.500M4 16h12',
  trash: 'M4 6h12M8 6V4h4v2M5.500 6l.7 10.500h7.600L14.500 6',
  pencil: 'M4 16l.8-3.500L13 4.300l2.700 2.700-8.200 8.200z',
  terminal: 'M3 4h14v12H3zM6 8l2.5 2L6 12M10.500 12.500H14',
  scale: 'M4 16V9M10 16V4M16 16v-9',
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration: the text beside it, or the label of its button, say what it means. */
export function Icon({
  name,
  className = 'size-4.5',
}: {
  readonly name: IconName;
  readonly className?: string;
}) {
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      className={`shrink-0 ${className}`}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
