/** Lines where content will be. Nothing moves for those who asked for stillness. */
export function Loading({ lines = 3 }: { readonly lines?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-3 p-6">
      {Array.from({ length: lines }, (_, at) => (
        <div key={at} className="h-4 animate-pulse rounded bg-sunken" style={{ width: `${90 - at * 17}%` }} />
      ))}
    </div>
  );
}
